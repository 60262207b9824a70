"""kind: python at work: a call in, one Output out. The code itself runs in a warm child (python_child.py).

The worker's side gathers what the child needs (the code of a script file, the secrets under `auth`) and puts the
child's answer, its death or its lateness into words. It never runs or compiles the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.engine.output import Output, failure
from noetl.tools.beside import find_file, read_text
from noetl.tools.children import AnswerTooLarge, ChildDied, Children
from noetl.tools.contract import Call, Hands
from noetl.tools.isolation import require_process_level
from noetl.tools.refused import Refused

CHILD_MODULE = "noetl.tools.python_child"
CODE_BYTES_MAX = 1024 * 1024
ANSWER_EXTRA_BYTES_MAX = 256 * 1024  # beside the data: what was printed, twice, escaped, and the error
MEBIBYTE = 1024 * 1024


class ChildError(msgspec.Struct, frozen=True):
    kind: str
    message: str
    exception_type: str | None = None
    line: int | None = None


class Answer(msgspec.Struct, frozen=True):
    data: Any
    error: ChildError | None
    stdout: str
    logs: tuple[str, ...]


class PythonTool:
    """Runs the code of python tasks, as many at once as there are slots."""

    times_itself = True

    def __init__(self, hands: Hands) -> None:
        self.hands = hands
        self.children = Children(CHILD_MODULE, slots=hands.settings.process_slots)

    async def run(self, call: Call) -> Output:
        try:
            require_process_level(call.spec)
            question = await self._question(call)
        except Refused as refused:
            return refused.output
        return await self._answer(call, question)

    async def close(self) -> None:
        await self.children.close()

    async def _question(self, call: Call) -> bytes:
        code, name = self._code_of(call)
        values = call.values
        if auth := call.input.get("auth"):
            values["auth"] = await self._secrets(auth)
        question = {
            "code": code,
            "name": name,
            "input": values,
            "libs": libs_of(call.input.get("libs")),
            "execution_id": str(call.execution_id),
            "memory_bytes": self._memory_mb(call) * MEBIBYTE,
            "answer_bytes_max": self.hands.settings.result_bytes_max,
        }
        try:
            return msgspec.json.encode(question)
        except (TypeError, ValueError, OverflowError) as error:
            raise Refused("type", f"the input of the code cannot be written as JSON: {error}") from error

    async def _answer(self, call: Call, question: bytes) -> Output:
        bytes_max = self.hands.settings.result_bytes_max
        try:
            answer = await self.children.ask(
                question, answer_bytes_max=bytes_max + ANSWER_EXTRA_BYTES_MAX, seconds=call.total_seconds
            )
            return output_of(msgspec.json.decode(answer, type=Answer), self._memory_mb(call))
        except TimeoutError:
            message = f"the code was stopped: it ran longer than {call.total_seconds:g} s (spec.timeout)"
            return failure("timeout", message, retryable=True, is_definite=False, helpers=helpers())
        except ChildDied as death:
            message = f"the process of the code {death} before there was a result"
            return failure("exception", message, is_definite=False, helpers=helpers())
        except AnswerTooLarge:
            return failure("limit", f"the result may have {bytes_max} bytes, but has more", helpers=helpers())
        except msgspec.MsgspecError as error:
            return failure("exception", f"the process of the code gave no proper answer: {error}", helpers=helpers())

    def _memory_mb(self, call: Call) -> int:
        return int(call.spec.get("memory_mb") or self.hands.settings.python_memory_mb)

    def _code_of(self, call: Call) -> tuple[str, str]:
        """The code, and what its lines are lines of."""
        code = call.input.get("code")
        if code is not None:
            if not isinstance(code, str):
                raise Refused("type", f"code must be text, but is {type(code).__name__}")
            return code, "the code"
        path = script_path(call.input.get("script"))
        if not path.endswith(".py"):
            raise Refused("type", f'script must be a .py file, but is "{path}"')
        file = find_file(path, call.folder, self.hands.settings.script_roots)
        return read_text(file, CODE_BYTES_MAX), file.name

    async def _secrets(self, auth: object) -> Any:
        """One name gives its fields; several give a mapping of them."""
        if isinstance(auth, str):
            return await self._secret(auth)
        names = {str(name): name for name in auth} if isinstance(auth, list | tuple) else auth
        if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names.values()):
            raise Refused("type", "auth must be the name of a credential, a list of names, or a mapping to names")
        return {alias: await self._secret(name) for alias, name in names.items()}

    async def _secret(self, name: str) -> Mapping[str, Any]:
        try:
            return await self.hands.credentials.resolve(name)
        except LookupError as error:
            raise Refused("auth", str(error.args[0] if error.args else error)) from error


def helpers(answer: Answer | None = None) -> dict[str, Any]:
    """output.py, the same fields whatever happened."""
    exception_type = answer.error.exception_type if answer and answer.error else None
    return {"py": {"exception_type": exception_type, "stdout": answer.stdout if answer else ""}}


def output_of(answer: Answer, memory_mb: int) -> Output:
    error = answer.error
    if error is None:
        return Output(data=answer.data, helpers=helpers(answer), logs=answer.logs)
    message = error.message
    if error.exception_type == "MemoryError":
        message = f"the code may use {memory_mb} MiB and asked for more: {message}. Raise spec.memory_mb"
    details = {"line": error.line} if error.line else {}
    return failure(error.kind, message, details=details, helpers=helpers(answer), logs=answer.logs)


def script_path(script: object) -> str:
    """The path, written as text or as {uri, source: {type: file}}."""
    if isinstance(script, Mapping):
        source = script.get("source") or {}
        kind = source.get("type", "file") if isinstance(source, Mapping) else source
        if kind != "file":
            raise Refused("type", f'script.source.type must be "file", but is "{kind}"')
        script = script.get("uri")
    if not isinstance(script, str) or not script:
        raise Refused("type", "script must be the path of a file, or {uri, source: {type: file}}")
    return script.removeprefix("file://")


def libs_of(libs: object) -> dict[str, str]:
    """Variable to module."""
    if not libs:
        return {}
    named = {name: name for name in libs} if isinstance(libs, list | tuple) else libs
    if not isinstance(named, Mapping) or not all(isinstance(word, str) for pair in named.items() for word in pair):
        raise Refused("type", "libs must be a list of module names, or a mapping of variable to module name")
    return dict(named)
