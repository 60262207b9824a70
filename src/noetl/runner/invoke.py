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
from noetl.runner.recording import bounded, kept
from noetl.runner.result_schema import check_result
from noetl.runner.shelf import Shelf
from noetl.runner.toolbox import Toolbox
from noetl.runner.wallet import wallet_of
from noetl.secret import CredentialUnavailable, revealed
from noetl.tools.contract import Call, Results

MESSAGE_CHARACTERS_MAX = 2_000


class Invoker:
    """What a worker needs to run tools."""

    def __init__(self, *, toolbox: Toolbox, results: Stores, keychain: Keychain, clock: Clock) -> None:
        self.toolbox = toolbox
        self.results = results
        self.keychain = keychain
        self.acquaintance = Acquaintance(keychain)
        self.clock = clock

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
        now, started_at = self.clock.now(), self.clock.monotonic()
        output = self._with_helper(task, await self._run(task, call, on_wait))
        duration_ms = round((self.clock.monotonic() - started_at) * 1000, 3)
        meta = {"attempt": call.attempt, "duration_ms": duration_ms, "ts": now, "trace": call.trace_id}
        return await self.answer(playbook, task, output, meta, call.results)

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
        return Call(
            given=given,
            has_secrets=bool(playbook.credentials),
            credentials=wallet_of(self.keychain, playbook, work),
            results=self.shelf(playbook, work, task),
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

    async def _run(self, task: Task, call: Call, on_wait: Callable[[], None]) -> Output:
        try:
            tool = self.toolbox.tool(task.kind)
            running = tool.run(call)
            if isinstance(running, Output):
                return self._documented(task, running)
            on_wait()
            is_timed = getattr(tool, "times_itself", False)  # from when it has a process, not while it waits for one
            async with asyncio.timeout(None if is_timed else task.timeout.total):
                return self._documented(task, await running)
        except TimeoutError:
            seconds = task.timeout.total
            message = f"it took longer than its {seconds:g} s (spec.timeout)" if seconds else "it took too long"
            return failure("timeout", message, retryable=True, is_definite=False)
        except NoetlError as error:
            kind, is_passing = getattr(error, "kind", "exception"), getattr(error, "retryable", False)
            return failure(kind, str(error), retryable=is_passing)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return failure("exception", "the tool failed: it gave up as if it had been cancelled, which nobody did")
        except (Exception, SystemExit) as error:  # a tool that wants to end the worker has failed, no more
            return failure("exception", f"the tool failed: {type(error).__name__}: {error}"[:MESSAGE_CHARACTERS_MAX])

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
        output = bounded(playbook, self.keychain.redactor().clean(output) if self.keychain.has_secrets else output)
        try:
            if is_result:
                await check_result(task, output, results)
            hand, recorded = await kept(playbook, task, output, meta, results)
        except Fault as fault:
            refused = Output(error=fault.error, helpers=output.helpers)
            hand = recorded = envelope(refused, meta)
        except ResultError as error:  # a full disk is no failure of the task: that stops the worker
            hand = recorded = envelope(failure(error.kind, str(error), retryable=error.retryable), meta)
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

    def clean_text(self, text: str) -> str:
        """The same for a text, such as one that goes to the log of the program."""
        return self.keychain.redactor().clean(text)


def is_cancelled() -> bool:
    """Whether somebody asked the task that runs here to stop."""
    running = asyncio.current_task()
    return running is None or running.cancelling() > 0


@lru_cache(64)
def folder_of(name: str) -> Path | None:
    """Where the playbook's file is; what is no absolute path is no folder of this machine (`control.attached`)."""
    return Path(name) if Path(name).is_absolute() else None
