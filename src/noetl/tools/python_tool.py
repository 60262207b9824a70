"""kind: python at work: a call in, one Output out. The code itself runs elsewhere (python_runners.py).

Here is gathered what it needs (the code of a script, the secrets under `auth`), and its answer, the death of its
process or its lateness is put into words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any

import msgspec

from noetl.engine.output import Output, failure
from noetl.secret import CredentialUnavailable, revealed
from noetl.tools.children import AnswerTooLarge, ChildDied
from noetl.tools.contract import Call, Hands
from noetl.tools.isolation import INLINE, SANDBOX, level_of
from noetl.tools.python_runners import Runner, Runners
from noetl.tools.python_source import CODE_NAME, Code, Sources
from noetl.tools.refused import Refused

ANSWER_EXTRA_BYTES_MAX = 256 * 1024  # beside the data: what was printed, twice, escaped, and the error
MEBIBYTE = 1024 * 1024
NO_ANSWER = (TimeoutError, ChildDied, AnswerTooLarge)


class ChildError(msgspec.Struct, frozen=True):
    kind: str
    message: str
    exception_type: str | None = None
    line: int | None = None
    traceback: tuple[str, ...] = ()


class Answer(msgspec.Struct, frozen=True):
    data: Any
    error: ChildError | None
    stdout: str
    logs: tuple[str, ...]


encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(Answer).decode


class PythonTool:
    """Runs the code of python tasks, as many at once as there are slots."""

    times_itself = True

    def __init__(self, hands: Hands) -> None:
        self.settings = hands.settings
        self.runners = Runners(hands.settings)
        self.sources = Sources(hands.settings)

    def run(self, call: Call) -> Output | Awaitable[Output]:
        """Inline code that is all there is asked for at once: its answer is promised, and no coroutine waits for it."""
        given = call.input
        if call.spec.get("isolation") != INLINE or type(given.get("code")) is not str or given.get("auth"):
            return self._run(call)
        try:
            runner = self.runners.inline_one()
            question = self._encoded(call, Code(text=given["code"], name=CODE_NAME), call.values)
            return runner.promise(question, call.total_seconds, partial(self._output, call))
        except Refused as refused:
            return msgspec.structs.replace(refused.output, helpers=helpers())

    async def _run(self, call: Call) -> Output:
        try:
            level = level_of(call.spec)
            runner = await self.runners.of(level)
            code = await self.sources.code_of(call)
            question = await self._question(call, code, is_last=level == SANDBOX)
            return await self._answer(call, runner, question, code.text)
        except Refused as refused:
            return msgspec.structs.replace(refused.output, helpers=helpers())

    async def close(self) -> None:
        await self.runners.close()
        await self.sources.close()

    async def _question(self, call: Call, code: Code, *, is_last: bool) -> bytes:
        values = call.values
        if auth := call.input.get("auth"):
            values["auth"] = await self._secrets(call, auth)
        return self._encoded(call, code, values, is_last=is_last)

    def _encoded(self, call: Call, code: Code, values: dict[str, Any], *, is_last: bool = False) -> bytes:
        question = {
            "code": code.text,
            "name": code.name,
            "input": values,
            "context": call.context if "context" in code.text else {},  # it can be large, and is seldom read
            "libs": libs_of(call.input.get("libs")),
            "execution_id": str(call.execution_id),
            "memory_bytes": self._memory_mb(call) * MEBIBYTE,
            "answer_bytes_max": self.settings.result_bytes_max,
            "is_last": is_last,
        }
        try:
            return encode(question)
        except (TypeError, ValueError, OverflowError) as error:
            raise Refused("type", f"the input of the code cannot be written as JSON: {error}") from error

    async def _answer(self, call: Call, runner: Runner, question: bytes, pace: str) -> Output:
        bytes_max = self.settings.result_bytes_max + ANSWER_EXTRA_BYTES_MAX
        try:
            answer = await runner.ask(question, pace=pace, answer_bytes_max=bytes_max, seconds=call.total_seconds)
        except NO_ANSWER as fault:
            return self._output(call, fault)
        return self._output(call, answer)

    def _output(self, call: Call, come: bytes | Exception) -> Output:
        """An answer, or why there is none."""
        try:
            if isinstance(come, Exception):
                raise come
            return output_of(decode(come), self._memory_mb(call))
        except TimeoutError:
            return failure("timeout", lateness(call), retryable=True, is_definite=False, helpers=helpers())
        except ChildDied as death:
            message = f"the process of the code {death} before there was a result"
            return failure("exception", message, is_definite=False, helpers=helpers())
        except AnswerTooLarge:
            message = f"the result may have {self.settings.result_bytes_max} bytes, but has more"
            return failure("limit", message, helpers=helpers())
        except msgspec.MsgspecError as error:
            return failure("exception", f"the process of the code gave no proper answer: {error}", helpers=helpers())

    def _memory_mb(self, call: Call) -> int:
        return int(call.spec.get("memory_mb") or self.settings.python_memory_mb)

    async def _secrets(self, call: Call, auth: object) -> Any:
        """One name gives its fields; several give a mapping of them."""
        if isinstance(auth, str):
            return await self._secret(call, auth)
        names = {str(name): name for name in auth} if isinstance(auth, list | tuple) else auth
        if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names.values()):
            raise Refused("type", "auth must be the name of a credential, a list of names, or a mapping to names")
        return {alias: await self._secret(call, name) for alias, name in names.items()}

    async def _secret(self, call: Call, name: str) -> dict[str, Any]:
        try:
            return dict(revealed(dict(await call.credentials.resolve(name))))
        except LookupError as error:
            is_passing = isinstance(error, CredentialUnavailable) and error.retryable
            raise Refused("auth", str(error.args[0] if error.args else error), retryable=is_passing) from error


def lateness(call: Call) -> str:
    """What is said of code that is over its time."""
    if call.spec.get("isolation") == INLINE:
        return (
            f"the code ran longer than {call.total_seconds:g} s (spec.timeout) and was abandoned: it runs inside the "
            "worker, where it cannot be stopped, so it goes on"
        )
    return f"the code was stopped: it ran longer than {call.total_seconds:g} s (spec.timeout)"


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
    details = {"line": error.line, "traceback": list(error.traceback)} if error.line else {}
    return failure(error.kind, message, details=details, helpers=helpers(answer), logs=answer.logs)


def libs_of(libs: object) -> dict[str, str]:
    """Variable to module."""
    if not libs:
        return {}
    named = {str(name): name for name in libs} if isinstance(libs, list | tuple) else libs
    if not isinstance(named, Mapping) or not all(isinstance(word, str) for pair in named.items() for word in pair):
        raise Refused("type", "libs must be a list of module names, or a mapping of variable to module name")
    return dict(named)
