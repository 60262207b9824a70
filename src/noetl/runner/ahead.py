"""One job without waiting: task by task in one go, until the pipeline ends or something takes its time.

A job that needs no waiting has no asyncio task of its own, which would cost it more than its work. Nothing is sent from
here: what happened is buffered, and a job that came to its end gives the one report that says so. While a tool takes
its time there is a task for the tool alone, or none if it promises its answer as a future and sees to its own time; the
job goes on when the answer is there. Whatever else turns out to wait goes on from there in `execute.py`. Here as there,
no task is started under a lease that may be over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import msgspec

from noetl.clock import Clock
from noetl.dsl.model import Playbook, Task
from noetl.engine.commands import Report, Work
from noetl.engine.outlines import TaskOutline
from noetl.engine.output import Output
from noetl.engine.pipeline import Answer, Invocation, Pipeline
from noetl.engine.progress import copy_of
from noetl.engine.values import Fault
from noetl.runner.invoke import Attempt, Invoker
from noetl.runner.lease import Lease
from noetl.runner.recording import fits, fits_surely
from noetl.runner.reporter import Post, Reporter
from noetl.runner.slots import Seat
from noetl.tools.contract import Call

NO_CHANCE = 0.5
CALLS = ("workbook", "playbook")  # kinds that run other tasks, and may wait for them


class Kit(msgspec.Struct, frozen=True, kw_only=True):
    """What every job of a worker shares."""

    post: Post
    invoker: Invoker
    clock: Clock
    chance: Callable[[], float]
    stopping: asyncio.Event  # set: start no further task


class Ahead:
    """One job, as far as it goes without waiting; its seat is taken by then, and free when it has ended, however it
    does. `execute.Execution` goes on from there."""

    def __init__(self, kit: Kit, playbook: Playbook, work: Work, lease: Lease, seat: Seat) -> None:
        self.kit = kit
        self.playbook = playbook
        self.work = work
        self.lease = lease
        self.seat = seat
        self.pipeline = Pipeline(playbook, work)
        self.reporter = Reporter(kit.post, work, lease)
        self._is_begun = False
        self._last: Task | None = None  # that has run ahead
        self._asked: tuple[Invocation, Attempt] | None = None  # a tool whose answer is to be waited for

    def ahead(self) -> Report | None:
        """Run what needs no waiting, without a task of its own. The last report: that was all; None: `run` goes on."""
        if self.playbook.credentials or self.work.progress.label is not None or self.work.progress.is_open:
            return None
        pipeline = self.pipeline
        self._is_begun = True
        self.reporter.add(pipeline.begin(self.now()))
        try:
            pipeline.step_input()
        except Fault as fault:
            return self.reporter.whole(pipeline.fail(fault.error, self.now()))
        return self._until_waiting()

    def awaited(self) -> asyncio.Future[Output] | None:
        """The answer of a tool that this waits for, after which it can `go_on`; None: it is something else."""
        if self._asked is None or not self._asked[1].is_waited_for:
            return None
        invocation, attempt = self._asked
        self.reporter.soon()
        if attempt.seconds_max is None and isinstance(attempt.come, asyncio.Future):
            return attempt.come
        waiting = self.kit.invoker.awaited(invocation.task, attempt.come, attempt.seconds_max)
        return asyncio.get_running_loop().create_task(waiting)

    def go_on(self, come: asyncio.Future[Output]) -> Report | None:
        """The tool has answered: run on, as `ahead` does."""
        assert self._asked is not None  # noqa: S101 - its answer is there
        (invocation, attempt), self._asked = self._asked, None
        attempt = msgspec.structs.replace(attempt, come=self.kit.invoker.come(invocation.task, come))
        outline = self.pipeline.outline.by_label[invocation.task.label]
        if not self.reporter.is_quiet:
            self._asked = invocation, attempt
        elif self._is_closed(outline, invocation, attempt):
            self._last = outline.task
            return self._until_waiting()
        return None

    def _until_waiting(self) -> Report | None:
        pipeline = self.pipeline
        while (outline := pipeline.current_outline()) is not None:
            if self._last is not None and self.reporter.is_large:
                return None
            if not (self._may_go_ahead(outline) and self._ran_ahead(outline)):
                return None
            self._last = outline.task
        event = pipeline.finish(self.now())
        return self.reporter.whole(event) if fits(self.playbook, event) else None

    def _may_go_ahead(self, outline: TaskOutline) -> bool:
        """Whether a task may be started at once: none that sleeps first, asks somebody, or calls another."""
        if outline.is_sync or outline.reads_keychain or outline.task.kind in CALLS:
            return False
        is_ready = self.pipeline.progress.ready_at <= 0.0 and self.lease.is_firm
        return is_ready and not self.kit.stopping.is_set()

    def _ran_ahead(self, outline: TaskOutline) -> bool:
        """Open, run and close one task; False: its tool takes time, or what it gave has to be stored."""
        pipeline, task, invoker = self.pipeline, outline.task, self.kit.invoker
        events, invocation = pipeline.enter(self.now())
        self.reporter.add(events)
        if invocation is None:
            return True
        return self._is_closed(outline, invocation, invoker.begin(task, self._call(invocation)))

    def _is_closed(self, outline: TaskOutline, invocation: Invocation, attempt: Attempt) -> bool:
        """Close a task whose answer is there and needs no storing; else that is still to be done (`_asked`)."""
        pipeline = self.pipeline
        answer = self.kit.invoker.answer_at_once(self.playbook, outline.task, attempt)
        if answer is not None:
            before = None if self.fits_surely(outline, answer) else (copy_of(pipeline.progress), dict(pipeline.hands))
            done = pipeline.close(invocation, answer, self.now(), self.chance(outline))
            if before is None or fits(self.playbook, done):
                self.reporter.add([done])
                return True
            pipeline.progress, pipeline.hands = before
        self._asked = invocation, attempt
        return False

    def fits_surely(self, outline: TaskOutline, answer: Answer) -> bool:
        """Whether the end of a task can be recorded as it is, whatever it turns out to be."""
        return not outline.is_judged and fits_surely(self.playbook, answer)

    def chance(self, outline: TaskOutline) -> float:
        """For the delay before a retry: one that cannot come takes no chance."""
        return self.kit.chance() if outline.may_retry else NO_CHANCE

    def end(self) -> None:
        """Nobody works on this any more: it is over, was given back, or was taken away."""
        self.reporter.abandon()
        self.seat.leave()
        come = self._asked[1].come if self._asked is not None else None
        if isinstance(come, Coroutine):
            come.close()
        elif isinstance(come, asyncio.Future):
            come.cancel()

    def _call(self, invocation: Invocation) -> Call:
        return self.kit.invoker.call(
            self.playbook,
            self.work,
            invocation.task,
            invocation.input,
            key=invocation.key,
            attempt=invocation.attempt,
            inherited=self.pipeline.step_input(),
            previous=None if self.work.around else self.pipeline.previous(),
        )

    def now(self) -> float:
        return self.kit.clock.now()
