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
from noetl.engine.events import Event
from noetl.engine.output import ERROR_KINDS, Error, Output, envelope, failure
from noetl.engine.pipeline import Answer
from noetl.engine.values import Fault
from noetl.engine.work import context_of
from noetl.errors import NoetlError, ResultError
from noetl.keychain.contract import Keychain
from noetl.results.stores import Stores
from noetl.runner.acquaintance import Acquaintance
from noetl.runner.derived import credentials_read, derived_secrets
from noetl.runner.recording import bounded, kept, kept_at_once
from noetl.runner.result_schema import check_result, schema_of
from noetl.runner.shelf import Shelf
from noetl.runner.toolbox import Toolbox
from noetl.runner.wallet import wallet_of
from noetl.secret import CredentialUnavailable, revealed
from noetl.tools.contract import Call, Results

MESSAGE_CHARACTERS_MAX = 2_000
GAVE_UP = failure("exception", "the tool failed: it gave up as if it had been cancelled, which nobody did")

# A rule of a workbook's task has decided, which no event says: the execution, the task's label, the rule's index.
CalledVerdict = Callable[[int, str, int], None]


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that was asked: what it gave at once, or what is to be waited for."""

    call: Call
    come: Any
    begun_at: float
    begun_at_monotonic: float
    seconds_max: float | None

    @property
    def is_waited_for(self) -> bool:
        return not isinstance(self.come, Output)


class Invoker:
    """What a worker needs to run tools."""

    def __init__(self, *, toolbox: Toolbox, results: Stores, keychain: Keychain, clock: Clock) -> None:
        self.toolbox = toolbox
        self.results = results
        self.keychain = keychain
        self.acquaintance = Acquaintance(keychain)
        self.clock = clock
        self.on_called_verdict: CalledVerdict = lambda _execution_id, _label, _rule: None

    async def credentials(self, playbook: Playbook, task: Task, work: Work) -> dict[str, Any]:
        """`keychain` as a task's templates read it (KC-02), opened; what they give is sealed again. Raises Fault."""
        if not any("keychain" in value.reads for value in task.input.values()):
            return {}
        wallet = wallet_of(self.keychain, playbook, work)
        found: dict[str, Any] = {}
        for name in sorted(credentials_read(task)):
            try:
                found[name] = revealed(dict(await wallet.resolve(name)))
            except LookupError as error:
                is_passing = isinstance(error, CredentialUnavailable) and error.retryable
                message = f'{task.place}: the credential "{name}" cannot be resolved: {error}'
                raise Fault(Error(kind="auth", message=message, retryable=is_passing)) from None
        return found

    async def invoke(self, playbook: Playbook, task: Task, call: Call, on_wait: Callable[[], None]) -> Answer:
        """Run the tool once; its answer is ready to be judged and recorded. `on_wait`: the tool takes its time."""
        attempt = self.begin(task, call)
        if attempt.is_waited_for:
            on_wait()
        return await self.complete(playbook, task, attempt)

    def begin(self, task: Task, call: Call) -> Attempt:
        """Ask the tool; what took no time is there at once, for the rest see `complete`."""
        now, started_at = self.clock.now(), self.clock.monotonic()
        try:
            tool = self.toolbox.tool(task.kind)
            come = tool.run(call)
            is_timed = getattr(tool, "times_itself", False)  # from when it has a process, not while it waits for one
        except TimeoutError:
            come, is_timed = timed_out(task), True
        except asyncio.CancelledError:
            come, is_timed = GAVE_UP, True
        except (Exception, SystemExit) as error:
            come, is_timed = failed_by(error), True
        return Attempt(
            call=call,
            come=self._documented(task, come) if isinstance(come, Output) else come,
            begun_at=now,
            begun_at_monotonic=started_at,
            seconds_max=None if is_timed else task.timeout.total,
        )

    def come(self, task: Task, answer: asyncio.Future[Any]) -> Output:
        """What a tool gave that promised its answer, and has kept that or not."""
        try:
            return self._documented(task, answer.result())
        except TimeoutError:
            return timed_out(task)
        except asyncio.CancelledError:
            return GAVE_UP
        except (Exception, SystemExit) as error:
            return failed_by(error)

    async def complete(self, playbook: Playbook, task: Task, attempt: Attempt) -> Answer:
        """The answer of a tool that was asked, waited for if need be."""
        come = attempt.come
        output = come if isinstance(come, Output) else await self.awaited(task, come, attempt.seconds_max)
        output = self._with_helper(task, output)
        return await self.answer(playbook, task, output, self.meta(attempt), attempt.call.results)

    def answer_at_once(self, playbook: Playbook, task: Task, attempt: Attempt) -> Answer | None:
        """The answer of a tool that took no time; None: there is something to wait for (`complete`)."""
        come = attempt.come
        if not isinstance(come, Output) or come.error is not None or schema_of(task) is not None:
            return None
        output = self._cleaned(playbook, come)
        try:
            kept = kept_at_once(playbook, task, output, self.meta(attempt))
        except Fault:
            return None
        return _answer(output, *kept) if kept is not None else None

    def meta(self, attempt: Attempt) -> dict[str, Any]:
        call, seconds = attempt.call, self.clock.monotonic() - attempt.begun_at_monotonic
        return {
            "attempt": call.attempt,
            "duration_ms": round(seconds * 1000, 3),
            "ts": attempt.begun_at,
            "trace": call.trace_id,
        }

    def shelf(self, playbook: Playbook, work: Work, task: Task | None = None) -> Shelf:
        """The result stores, as a task may use them."""
        return Shelf(self.results, self.keychain, wallet_of(self.keychain, playbook, work), task)

    def call(
        self,
        playbook: Playbook,
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
        if playbook.credentials:
            for secret in derived_secrets(playbook, task, given, self.keychain.redactor()):
                self.keychain.remember(secret)
        wallet = wallet_of(self.keychain, playbook, work)
        return Call(
            given=given,
            has_secrets=bool(playbook.credentials),
            credentials=wallet,
            results=Shelf(self.results, self.keychain, wallet, task),
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
            placement=playbook.settings.placement,
            context=context_of(playbook, work, task),
            inherited=inherited,
            previous=previous,
            is_transparent=playbook.settings.is_transparent,
        )

    async def awaited(self, task: Task, running: Any, seconds_max: float | None) -> Output:
        """What a tool comes to, whatever it raises."""
        try:
            if seconds_max is None:
                return self._documented(task, await running)
            async with asyncio.timeout(seconds_max):
                return self._documented(task, await running)
        except TimeoutError:
            return timed_out(task)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return GAVE_UP
        except (Exception, SystemExit) as error:
            return failed_by(error)

    def _with_helper(self, task: Task, output: Output) -> Output:
        """With the kind's helper however it failed, so that a rule reads null there and not something unknown."""
        if output.error is None:
            return output
        return msgspec.structs.replace(output, helpers={**self.toolbox.blank_helper(task.kind), **output.helpers})

    def _documented(self, task: Task, output: object) -> Output:
        """What a tool answered, if it is an Output; an error.kind that is on no list becomes exception (TK-19)."""
        if not isinstance(output, Output):
            return failure("exception", f"the tool failed: it answered with {type(output).__name__}, not an Output")
        error = output.error
        if error is None or error.kind in ERROR_KINDS or error.kind in self.toolbox.error_kinds(task.kind):
            return output
        details = {**error.details, "kind": error.kind}
        return msgspec.structs.replace(output, error=msgspec.structs.replace(error, kind="exception", details=details))

    async def answer(
        self,
        playbook: Playbook,
        task: Task,
        output: Output,
        meta: dict[str, Any],
        results: Results,
        *,
        is_result: bool = True,
    ) -> Answer:
        """An output as it is recorded and as the pipeline goes on with it; `is_result`: the task itself made it."""
        output = self._cleaned(playbook, output)
        try:
            if is_result:
                await check_result(task, output, results)
            hand, recorded = await kept(playbook, task, output, meta, results)
        except Fault as fault:
            refused = Output(error=fault.error, helpers=output.helpers)
            hand = recorded = envelope(refused, meta)
        except ResultError as error:  # a full disk is no failure of the task: that stops the worker
            hand = recorded = envelope(failure(error.kind, str(error), retryable=error.retryable), meta)
        return _answer(output, hand, recorded)

    def _cleaned(self, playbook: Playbook, output: Output) -> Output:
        """Without any secret that is known, and with no more beside its data than a row has room for."""
        return bounded(playbook, self.keychain.redactor().clean(output) if self.keychain.has_secrets else output)

    def clean(self, events: list[Event]) -> list[Event]:
        """Events without any secret that is known."""
        return list(map(self.keychain.redactor().clean, events)) if self.keychain.has_secrets else events

    def clean_text(self, text: str) -> str:
        """The same for a text, such as one that goes to the log of the program."""
        return self.keychain.redactor().clean(text)


def _answer(output: Output, hand: dict[str, Any], recorded: dict[str, Any]) -> Answer:
    return Answer(
        recorded=recorded,
        hand=hand,
        is_definite=output.is_definite,
        retry_after_seconds=output.retry_after_seconds or 0.0,
        logs=list(output.logs),
    )


def timed_out(task: Task) -> Output:
    seconds = task.timeout.total
    message = f"it took longer than its {seconds:g} s (spec.timeout)" if seconds else "it took too long"
    return failure("timeout", message, retryable=True, is_definite=False)


def failed_by(error: BaseException) -> Output:
    """A tool that raised has failed, no more: not even one that wants to end the worker does so."""
    if isinstance(error, NoetlError):
        kind, is_passing = getattr(error, "kind", "exception"), getattr(error, "retryable", False)
        return failure(kind, str(error), retryable=is_passing)
    return failure("exception", f"the tool failed: {type(error).__name__}: {error}"[:MESSAGE_CHARACTERS_MAX])


def is_cancelled() -> bool:
    """Whether somebody asked the task that runs here to stop."""
    running = asyncio.current_task()
    return running is None or running.cancelling() > 0


@lru_cache(64)
def folder_of(name: str) -> Path | None:
    """Where the playbook's file is; what is no absolute path is no folder of this machine (`control.attached`)."""
    return Path(name) if Path(name).is_absolute() else None
