"""One invocation of a tool: credentials in, one answer out, whatever happens (TK-04, TK-18, RS-01).

The answer has two faces: as it is recorded, and as the worker has it in hand. A payload over the limit is stored first
and is recorded as a reference; the pipeline goes on with the payload itself. Known secrets are taken out before
anything leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.dsl.model import Playbook, Task
from noetl.engine.commands import Work
from noetl.engine.events import Event, LoopIterationDone, StepDone, TaskDone
from noetl.engine.output import Output, envelope, failure
from noetl.engine.pipeline import Answer
from noetl.engine.rows import payload_bytes_max, row_bytes_max
from noetl.engine.values import Fault, plain
from noetl.errors import NoetlError, ResultError
from noetl.keychain.contract import Keychain
from noetl.keychain.secret import revealed
from noetl.references import is_reference
from noetl.results.contract import Results
from noetl.runner.toolbox import Toolbox
from noetl.tools.contract import Call

LINES_LEFT_OUT = "(what it printed is left out: the row is full)"
MESSAGE_CHARACTERS_MAX = 2_000
HELPERS_BYTES_MAX = 16 * 1024
DETAILS_BYTES_MAX = 4 * 1024
TEXT_CHARACTERS_MAX = 2_000
ITEMS_SHOWN_MAX = 100

encode = msgspec.json.Encoder().encode
Finished = TaskDone | StepDone | LoopIterationDone


class Invoker:
    """What a worker needs to run tools."""

    def __init__(self, *, toolbox: Toolbox, results: Results, keychain: Keychain, clock: Clock) -> None:
        self.toolbox = toolbox
        self.results = results
        self.keychain = keychain
        self.clock = clock

    async def credentials(self, playbook: Playbook, task: Task) -> dict[str, Any]:
        """`keychain` as a task's templates read it (KC-02); what cannot be resolved is not there."""
        if not any("keychain" in value.reads for value in task.input.values()):
            return {}
        found: dict[str, Any] = {}
        for name in playbook.credentials:
            try:
                found[name] = dict(await self.keychain.resolve(name))
            except LookupError:
                continue
        return found

    async def invoke(self, playbook: Playbook, task: Task, call: Call, on_wait: Callable[[], None]) -> Answer:
        """Run the tool once; its answer is ready to be judged and recorded. `on_wait`: the tool takes its time."""
        now, started_at = self.clock.now(), self.clock.monotonic()
        output = await self._run(task, call, on_wait)
        duration_ms = round((self.clock.monotonic() - started_at) * 1000, 3)
        meta = {"attempt": call.attempt, "duration_ms": duration_ms, "ts": now, "trace": call.trace_id}
        return await self.answer(playbook, task, output, meta)

    def call(
        self,
        work: Work,
        task: Task,
        given: dict[str, Any],
        *,
        key: str,
        attempt: int,
        inherited: dict[str, Any],
        previous: Any,
    ) -> Call:
        """What the tool is given."""
        return Call(
            input=revealed(given) if self.keychain.has_secrets else given,
            fields=self.toolbox.fields(task.kind),
            spec=task.spec,
            connect_seconds=task.timeout.connect,
            read_seconds=task.timeout.read,
            total_seconds=task.timeout.total,
            key=key,
            folder=folder_of(work.folder),
            execution_id=work.execution_id,
            task=task.label,
            attempt=attempt,
            trace_id=work.trace_id,
            inherited=inherited,
            previous=previous,
        )

    async def _run(self, task: Task, call: Call, on_wait: Callable[[], None]) -> Output:
        try:
            tool = self.toolbox.tool(task.kind)
            running = tool.run(call)
            if isinstance(running, Output):
                return running
            on_wait()
            is_timed = getattr(tool, "times_itself", False)  # from when it has a process, not while it waits for one
            async with asyncio.timeout(None if is_timed else task.timeout.total):
                return await running
        except TimeoutError:
            seconds = task.timeout.total
            message = f"it took longer than its {seconds:g} s (spec.timeout)" if seconds else "it took too long"
            return failure("timeout", message, retryable=True, is_definite=False)
        except NoetlError as error:
            return failure(getattr(error, "kind", "exception"), str(error))
        except Exception as error:
            return failure("exception", f"the tool failed: {type(error).__name__}: {error}"[:MESSAGE_CHARACTERS_MAX])

    async def answer(self, playbook: Playbook, task: Task, output: Output, meta: dict[str, Any]) -> Answer:
        """An output as it is recorded and as the pipeline goes on with it."""
        output = bounded(self.keychain.redactor().clean(output) if self.keychain.has_secrets else output)
        try:
            hand, recorded = await self._kept(playbook, task, output, meta)
        except Fault as fault:
            refused = Output(error=fault.error, helpers=output.helpers)
            hand = recorded = envelope(refused, meta)
        except ResultError as error:  # a full disk is no failure of the task: that stops the worker
            hand = recorded = envelope(failure(error.kind, str(error)), meta)
        return Answer(
            recorded=recorded,
            hand=hand,
            is_definite=output.is_definite,
            retry_after_seconds=output.retry_after_seconds or 0.0,
            logs=list(output.logs),
        )

    def clean(self, event: Event) -> Event:
        """An event without any secret that is known."""
        return self.keychain.redactor().clean(event) if self.keychain.has_secrets else event

    async def _kept(
        self, playbook: Playbook, task: Task, output: Output, meta: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Store what is large, or wanted as a reference, before anything is recorded (RS-01)."""
        made = envelope(output, meta)
        if is_reference(output.data):  # RS-05: a returned value of reference shape becomes output.ref
            made["ref"] = made.pop("data")
            return made, made
        if output.ref is not None and output.data is None:
            del made["data"]
            return made, made
        is_wanted = task.wants_reference or playbook.settings.reference_first
        if not is_wanted and is_small(output.data):
            return made, made
        size_max = payload_bytes_max(playbook)
        data = encode(plain(output.data))
        if len(data) <= size_max and not is_wanted:
            return made, made
        made["ref"] = (await self.results.store(data)).as_data()
        if len(data) <= size_max and not playbook.settings.reference_first:
            return made, made
        made["meta"]["is_stored"] = True  # by us, so that a redelivery puts it back into the pipeline's hands
        return made, {name: value for name, value in made.items() if name != "data"}

    async def fitted(self, playbook: Playbook, event: Finished) -> Finished:
        """An event that a row can hold: a payload that the rest leaves no room for is stored too (RS-01)."""
        output = event.output
        if output is None or (is_small(output.get("data")) and not has_more(event)):
            return event
        size_max = row_bytes_max(playbook)
        if len(encode(event)) <= size_max:
            return event
        if "data" in output:
            event = msgspec.structs.replace(event, output=await self._stored(output))
        if isinstance(event, TaskDone) and event.logs and len(encode(event)) > size_max:
            event = msgspec.structs.replace(event, logs=[LINES_LEFT_OUT])
        return event

    async def _stored(self, output: dict[str, Any]) -> dict[str, Any]:
        """A recorded envelope with its data outside the log."""
        reference = output["ref"] or (await self.results.store(encode(output["data"]))).as_data()
        kept = {name: value for name, value in output.items() if name != "data"}
        return {**kept, "ref": reference, "meta": {**output["meta"], "is_stored": True}}


def bounded(output: Output) -> Output:
    """An output whose helpers and error details fit beside its data: long texts in them are cut (RS-01)."""
    if output.helpers and len(encode(output.helpers)) > HELPERS_BYTES_MAX:
        output = msgspec.structs.replace(output, helpers=shortened(output.helpers))
    error = output.error
    if error is not None and error.details and len(encode(error.details)) > DETAILS_BYTES_MAX:
        details = {name: shortened(value) for name, value in error.details.items() if not isinstance(value, dict)}
        output = msgspec.structs.replace(output, error=msgspec.structs.replace(error, details=details))
    return output


def shortened(value: Any) -> Any:
    """Data whose texts are cut."""
    if isinstance(value, dict):
        return {name: shortened(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shortened(item) for item in value[:ITEMS_SHOWN_MAX]]
    if isinstance(value, str) and len(value) > TEXT_CHARACTERS_MAX:
        return f"{value[:TEXT_CHARACTERS_MAX]}… ({len(value) - TEXT_CHARACTERS_MAX} more characters)"
    return value


def has_more(event: Finished) -> bool:
    """Whether something of any size stands in an event besides its output."""
    return bool(event.patches or (isinstance(event, TaskDone) and (event.held or event.logs)))


@lru_cache(64)
def folder_of(name: str) -> Path | None:
    return Path(name) if name else None


def is_small(data: Any) -> bool:
    """Whether a payload is surely under any limit, without encoding it."""
    kind = type(data)
    return kind is bool or kind is int or data is None or (kind is str and len(data) < 256)
