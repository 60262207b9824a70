"""Programs of the system at work: what kinds shell and script share.

In: programs to run one after the other. Out: one Output: what they wrote as data, the exit code as error. Each runs in
a process group of its own that is killed when it ends, takes too long, writes too much or is cancelled, so that nothing
which it left in the background goes on. Which programs to run is decided in the kinds' own files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from noetl.engine.output import Output, failure
from noetl.tools.contract import Call, Hands
from noetl.tools.guard import Guard, how_it_ended
from noetl.tools.isolation import require_process_level, scrubbed_environment
from noetl.tools.json_data import Unfit, is_suspect, refuse
from noetl.tools.program_streams import Ending, Program, run_program
from noetl.tools.refused import Refused

HELPER_BYTES_MAX = 64 * 1024
LOG_LINES_MAX = 200
STDERR_LINE_CHARS_MAX = 500
CUT = "… (cut)"


class Programs:
    """Runs the programs of calls, as many calls at once as there are slots."""

    def __init__(self, hands: Hands) -> None:
        self.settings = hands.settings
        self.slots = asyncio.Semaphore(hands.settings.process_slots)
        self.guard = Guard()

    async def run(self, call: Call, programs: Sequence[Program]) -> Output:
        """Run them in order until one fails. The time counts from when a slot is free."""
        async with self.slots:
            try:
                require_process_level(call.spec)
                async with asyncio.timeout(call.total_seconds):
                    return await self._run_all(programs)
            except TimeoutError:
                message = f"stopped: it ran longer than {call.total_seconds:g} s (spec.timeout)"
                return failure("timeout", message, retryable=True, is_definite=False, helpers=helpers(None, b"", b""))
            except Refused as refused:
                return refused.output

    async def close(self) -> None:
        await self.guard.close()

    async def _run_all(self, programs: Sequence[Program]) -> Output:
        stdout, stderr = b"", b""
        ending, label = Ending(exit_code=0), ""
        for program in programs:
            label = program.label
            ending = await self._run_one(program, self.settings.result_bytes_max - len(stdout))
            stdout += ending.stdout
            stderr = (stderr + ending.stderr)[-HELPER_BYTES_MAX:]
            if ending.exit_code or ending.is_stdout_over:
                break
        whole = msgspec.structs.replace(ending, stdout=stdout, stderr=stderr)
        return output_of(label, whole, self.settings.result_bytes_max)

    async def _run_one(self, program: Program, stdout_bytes_max: int) -> Ending:
        if program.cwd is not None and not os.path.isdir(program.cwd):  # noqa: PTH112 - is_dir raises for a long name
            raise Refused("not_found", f"the directory to run in, {str(program.cwd)[:1_000]}, is not there")
        try:
            return await run_program(
                program, self.guard, stdout_bytes_max=stdout_bytes_max, stderr_bytes_max=HELPER_BYTES_MAX
            )
        except FileNotFoundError as error:
            raise Refused("not_found", f'there is no program "{program.words[0]}" on PATH') from error
        except PermissionError as error:
            raise Refused("exception", f'"{program.words[0]}" may not be executed') from error
        except (OSError, ValueError) as error:  # arguments too long, not a program, a zero byte in a word
            why = getattr(error, "strerror", None) or error
            raise Refused("exception", f'"{program.words[0]}" cannot be started: {why}') from error


def output_of(label: str, ending: Ending, bytes_max: int) -> Output:
    """The ending of the last program that ran, with what all of them wrote."""
    facts = helpers(ending.exit_code, ending.stdout, ending.stderr)
    lines = text_of(ending.stderr).splitlines()
    logs = tuple(lines[-LOG_LINES_MAX:])
    if ending.is_stdout_over:
        message = f"{label} may write {bytes_max} bytes to standard output, but wrote more, and was stopped"
        return failure("limit", message, helpers=facts, logs=logs)
    data = data_of(ending.stdout)
    if ending.exit_code == 0:
        return Output(data=data, helpers=facts, logs=logs)
    last_line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    said = f": {last_line[:STDERR_LINE_CHARS_MAX]}" if last_line else ""
    message = f"{label} {how_it_ended(ending.exit_code)}{said}"
    return failure("exit_code", message, details={"exit_code": ending.exit_code}, data=data, helpers=facts, logs=logs)


def helpers(exit_code: int | None, stdout: bytes, stderr: bytes) -> dict[str, Any]:
    """output.shell: the first part of standard output, the last part of standard error."""
    head = text_of(stdout[:HELPER_BYTES_MAX]) + (CUT if len(stdout) > HELPER_BYTES_MAX else "")
    tail = (CUT if len(stderr) >= HELPER_BYTES_MAX else "") + text_of(stderr)
    return {"shell": {"exit_code": exit_code, "stdout": head, "stderr": tail}}


def data_of(stdout: bytes) -> Any:
    """JSON as data; anything else, and JSON beyond the bounds of data, as text without its last line break."""
    try:
        value = msgspec.json.decode(stdout)
        if is_suspect(value, stdout):
            refuse(value)
    except (msgspec.MsgspecError, RecursionError, Unfit):
        return text_of(stdout).removesuffix("\n").removesuffix("\r")
    return value


def text_of(written: bytes) -> str:
    return written.decode("utf-8", "replace")


def as_text(value: object) -> str:
    """A value as a word or a variable: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def as_stdin(value: object) -> bytes | None:
    return None if value is None else as_text(value).encode("utf-8", "replace")


def environment_of(env: object) -> dict[str, str]:
    """The scrubbed environment with a task's own variables over it; null takes one away."""
    if env is None:
        return scrubbed_environment()
    if not isinstance(env, Mapping):
        raise Refused("type", f"env must be a mapping of names to values, but is {type(env).__name__}")
    whole = {**scrubbed_environment(), **env}
    return {str(name): as_text(value) for name, value in whole.items() if value is not None}


def words_of(words: object, field: str) -> tuple[str, ...]:
    if not isinstance(words, list | tuple) or not all(isinstance(word, str | int | float) for word in words):
        raise Refused("type", f"{field} must be a list of words")
    return tuple(map(as_text, words))


def working_directory(cwd: object, folder: Path | None) -> Path | None:
    """Where programs run: `cwd` counted from the playbook's folder, or that folder."""
    if not cwd:
        return folder
    if not isinstance(cwd, str):
        raise Refused("type", f"cwd must be text, but is {type(cwd).__name__}")
    return (folder or Path()) / cwd
