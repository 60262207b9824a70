"""One job from its claim to its last report: the pipeline machine, and the tools it asks for.

The machine (engine/pipeline.py) says what is next; here that is done, one task at a time. A worker never starts a step
(TK-13). Waiting costs no slot: a short wait keeps the lease, a long one, or one for a child, gives the job back. No
task is started under a lease that may be over (protocol §7, rule 4).

What needs no waiting is done ahead (`ahead.py`); here is the rest.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import msgspec

from noetl.buggify import buggify
from noetl.dsl.model import Task
from noetl.engine.commands import Report
from noetl.engine.events import Event, TaskWaiting
from noetl.engine.output import Error, Output, failure
from noetl.engine.pipeline import Answer, Invocation
from noetl.engine.progress import copy_of
from noetl.engine.rows import check_written
from noetl.engine.values import Fault
from noetl.errors import NoetlError, ResultError
from noetl.references import Reference, reference_of
from noetl.runner import children, workbook
from noetl.runner.ahead import Ahead
from noetl.runner.recording import fits, fitted
from noetl.runner.reporter import Dropped
from noetl.runner.waiting import first_of

PARK_AFTER_SECONDS = 60.0  # a longer wait gives the job back
PARK_EARLY_SECONDS = 0.5  # of a simulator


class Stopped(Exception):
    """The worker stops: no further task is started, and whoever takes the job up goes on here."""


class Execution(Ahead):
    """One job under way, from where it came to without waiting."""

    async def run(self) -> Report | None:
        """Task by task, until the pipeline ends or parks. Its last report, which is still to be sent; None: it parked,
        or the lease is somebody else's. Raises Stopped: somebody else is to go on with the job."""
        try:
            return await self._until_stopped()
        except Dropped:
            return None

    async def _until_stopped(self) -> Report | None:
        try:
            return await self._run()
        except Stopped:
            await self.reporter.flush()
            raise

    async def _run(self) -> Report | None:
        pipeline, reporter = self.pipeline, self.reporter
        try:
            last = await self._begin()
        except Fault as fault:
            return await reporter.last(pipeline.fail(fault.error, self.now()))
        while (task := pipeline.current()) is not None:
            if not (await self._is_ready(task) and await self._run_task(task)):
                return None
            last = task
        return await reporter.last(await self._finished(last))

    async def _begin(self) -> Task | None:
        """Begin, or go on where the job came to ahead; the task that was run last. Raises Fault."""
        if not self._is_begun:
            self.reporter.add(self.pipeline.begin(self.now()))
            await self.kit.invoker.acquaintance.make(self.playbook, self.work)
            await self._restore_hands()
            self.pipeline.step_input()
        if self._asked is None:
            return self._last
        (invocation, attempt), self._asked = self._asked, None
        if attempt.is_waited_for:
            self.reporter.soon()
        await self._record(invocation, await self.kit.invoker.complete(self.playbook, invocation.task, attempt))
        return invocation.task

    async def _finished(self, last: Task | None) -> Event:
        """The boundary, as a row can hold it."""
        try:
            return await self._fitted(self.pipeline.finish(self.now()), last)
        except ResultError as error:
            found = Error(kind=error.kind, message=str(error), retryable=error.retryable)
            return self.pipeline.fail(found, self.now())

    async def _fitted(self, event: Event, task: Task | None) -> Event:
        """An event that a row can hold; what is stored for it goes where its task says."""
        if fits(self.playbook, event):
            return event
        return await fitted(self.playbook, event, self.kit.invoker.shelf(self.playbook, self.work, task))

    async def _restore_hands(self) -> None:
        """After a redelivery: fetch the payloads that the worker before had in hand, and no others: a task sees the
        same whether it is the first or the second worker that runs it."""
        for label, output in self.pipeline.progress.outputs.items():
            meta = output["meta"]
            was_in_hand = "data" not in output and meta.get("is_stored") and not meta.get(children.NEVER_IN_HAND)
            reference = reference_of(output.get("ref")) if was_in_hand else None
            found = await self._fetched(reference) if reference is not None else ()
            if found:
                self.pipeline.hands[label] = {**output, "data": found[0]}

    async def _fetched(self, reference: Reference) -> tuple[Any, ...]:
        """A payload, or nothing: then the reference is what there is, and whoever reads the data is told so."""
        try:
            results = self.kit.invoker.shelf(self.playbook, self.work)
            return (msgspec.json.decode(await results.fetch(reference)),)
        except (NoetlError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return ()

    async def _is_ready(self, task: Task) -> bool:
        """Wait before a retry; False: the job was given back meanwhile."""
        delay = self.pipeline.progress.ready_at - self.now()
        if delay > (PARK_EARLY_SECONDS if buggify("park.early") else PARK_AFTER_SECONDS):
            await self._park(task, until=self.pipeline.progress.ready_at)
            return False
        if delay > 0:
            self.reporter.soon()
            await self._without_slot(self.kit.clock.sleep(delay))
            self.reporter.check()
        if self.pipeline.outline.by_label[task.label].is_sync:
            await self.reporter.flush()
        return True

    async def _sleep(self, seconds: float) -> None:
        """Wait without a slot, between two attempts of a called task. Raises Stopped."""
        await self._without_slot(self.kit.clock.sleep(seconds))
        await self._confirmed()

    async def _confirmed(self) -> None:
        """A task may be started: the worker goes on, there is a slot, and the job is surely ours, for nobody answered
        meanwhile that it is not. Raises Stopped, Dropped."""
        while not self.kit.stopping.is_set():
            if not self.seat.is_taken:
                await self.seat.take()
            elif not self.lease.is_firm:
                await self._without_slot(self.lease.firm())
            else:
                self.reporter.check()
                return
        raise Stopped

    async def _without_slot(self, wait: Awaitable[None]) -> None:
        """Give the slot back and wait for something, or until the worker stops."""
        self.seat.leave()
        await first_of(wait, self.kit.stopping.wait())

    async def _park(self, task: Task, **until: Any) -> None:
        pipeline, work = self.pipeline, self.work
        parked = await self.reporter.last(
            TaskWaiting(
                ts=self.now(),
                run=work.run,
                iter=work.iter,
                lease=work.lease,
                task=task.label,
                visit=pipeline.visit(task),
                attempt=pipeline.progress.attempt,
                **until,
            )
        )
        await self.reporter.deliver(parked)

    async def _run_task(self, task: Task) -> bool:
        """Open, run and close one task; False: the job was parked. Raises Stopped."""
        pipeline = self.pipeline
        pipeline.keychain, lost = {}, None
        if self.pipeline.outline.by_label[task.label].reads_keychain:
            lost = await self._unlock(task)
        await self._confirmed()
        child = pipeline.progress.child
        events, invocation = pipeline.enter(self.now())
        self.reporter.add(events)
        if invocation is None:
            return True
        try:
            if lost is None:
                answer = await self._answer(invocation, child)
            else:
                answer = await self._answer_of(task, invocation.attempt, lost)
        except Fault as fault:
            self.reporter.add([pipeline.refuse(invocation, fault.error, self.now())])
            return True
        if answer is None:
            return False
        await self._record(invocation, answer)
        return True

    async def _record(self, invocation: Invocation, answer: Answer) -> None:
        """A tool has answered: close its task."""
        self.reporter.check()
        self.reporter.add([await self._closed(invocation, answer)])
        await self.reporter.flush_if_large()

    async def _closed(self, invocation: Invocation, answer: Answer) -> Event:
        """The end of a task, as a row can hold it; a store that fails then fails the task, and its rules judge that."""
        pipeline, task = self.pipeline, invocation.task
        outline = pipeline.outline.by_label[task.label]
        chance = self.chance(outline)
        if self.fits_surely(outline, answer):
            return pipeline.close(invocation, answer, self.now(), chance)
        before = copy_of(pipeline.progress), dict(pipeline.hands)
        done = pipeline.close(invocation, answer, self.now(), chance)
        try:
            return await self._fitted(done, task)
        except ResultError as error:
            pipeline.progress, pipeline.hands = before
            refused = failure(error.kind, str(error), retryable=error.retryable)
            answer = await self._answer_of(task, invocation.attempt, refused)
            return pipeline.close(invocation, answer, self.now(), chance)

    async def _unlock(self, task: Task) -> Output | None:
        """Have the credentials that a task's templates read; else how the task failed, which its rules judge."""
        try:
            self.pipeline.keychain = await self.kit.invoker.credentials(self.playbook, task, self.work)
        except Fault as fault:
            self.pipeline.keychain = None
            return Output(error=fault.error)
        return None

    async def _answer_of(self, task: Task, attempt: int, output: Output) -> Answer:
        """An output that no tool gave."""
        invoker = self.kit.invoker
        meta = {"attempt": attempt, "ts": self.now(), "trace": self.work.trace_id}
        return await invoker.answer(self.playbook, task, output, meta, invoker.shelf(self.playbook, self.work, task))

    async def _answer(self, invocation: Invocation, child: dict[str, Any] | None) -> Answer | None:
        """What the tool gave; None: a child was asked for, and the job parked."""
        task, invoker = invocation.task, self.kit.invoker
        target = workbook.called(self.playbook, task)
        if (target or task).kind == "playbook":
            return await self._child_answer(invocation, target, child)
        if target is not None:
            self.reporter.soon()
            caller = workbook.Caller(
                pipeline=self.pipeline, invocation=invocation, chance=self.kit.chance(), sleep=self._sleep
            )
            return await workbook.call(invoker, caller, target)
        return await invoker.invoke(self.playbook, task, self._call(invocation), self.reporter.soon)

    async def _child_answer(
        self, invocation: Invocation, target: Task | None, child: dict[str, Any] | None
    ) -> Answer | None:
        task = target or invocation.task
        if child is None:
            given = invocation.input
            if target is not None:
                given = workbook.input_of(target, workbook.scope_of(self.pipeline, invocation, target), {})
            wanted = children.wanted(invocation, given)
            check_written(self.playbook, [wanted["payload"]], task.place)
            until = self.now() + task.timeout.total if task.timeout.total else 0.0
            await self._park(invocation.task, child=wanted, until=until)
            return None
        return await self._answer_of(task, invocation.attempt, children.answered(child))
