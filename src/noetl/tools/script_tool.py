"""kind: script at work: a file and its arguments in, a program out, which programs.py runs."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from noetl.engine.output import Output
from noetl.tools.beside import find_file
from noetl.tools.contract import Call, Hands
from noetl.tools.program_streams import Program
from noetl.tools.programs import Programs, as_stdin, environment_of, words_of
from noetl.tools.refused import Refused

INTERPRETER_CHARACTERS_MAX = 1_000
FIRST_LINE_BYTES_MAX = 256  # as much of a #! line as Linux reads


class ScriptTool:
    """Runs the programs of script tasks."""

    times_itself = True

    def __init__(self, hands: Hands) -> None:
        self.roots = hands.settings.script_roots
        self.programs = Programs(hands)

    async def run(self, call: Call) -> Output:
        try:
            program = self._program_of(call)
        except Refused as refused:
            return refused.output
        return await self.programs.run(call, [program])

    async def close(self) -> None:
        await self.programs.close()

    def _program_of(self, call: Call) -> Program:
        path = call.input.get("path")
        if not isinstance(path, str):
            raise Refused("type", f"path must be text, but is {type(path).__name__}")
        file = find_file(path, call.folder, self.roots)
        arguments = words_of(call.input.get("arguments") or [], "arguments")
        return Program(
            label=file.name,
            words=(*interpreter_of(call.input.get("interpreter"), file), str(file), *arguments),
            env=environment_of(call.input.get("env")),
            cwd=call.folder or file.parent,
            stdin=as_stdin(call.input.get("stdin")),
        )


def interpreter_of(given: object, file: Path) -> list[str]:
    """The words before the file's own; none for a file that runs by itself."""
    if given:
        return split(given)
    if os.access(file, os.X_OK):
        return []
    try:
        with file.open("rb") as opened:
            first_line = opened.readline(FIRST_LINE_BYTES_MAX)
    except OSError as error:
        raise Refused("exception", f"{file.name} cannot be read: {error.strerror}") from error
    if not first_line.startswith(b"#!"):
        raise Refused(
            "type", f"nothing says what runs {file.name}: give an interpreter, begin it with #!, or make it executable"
        )
    return first_line[2:].decode("utf-8", "replace").strip().split(maxsplit=1)  # one option at most, as the kernel does


def split(interpreter: object) -> list[str]:
    is_usable = isinstance(interpreter, str) and len(interpreter) <= INTERPRETER_CHARACTERS_MAX
    try:
        words = shlex.split(str(interpreter)) if is_usable else []
    except ValueError as error:
        raise Refused("type", f"interpreter has quotes that do not close: {error}") from error
    if not words:
        raise Refused(
            "type", f"interpreter must be a program and its options, {INTERPRETER_CHARACTERS_MAX} characters at most"
        )
    return words
