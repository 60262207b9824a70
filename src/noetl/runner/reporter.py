"""What a worker says of one job: events, in numbered reports, each sent until it is answered (protocol §7, rule 2).

Events are buffered: they go when the pipeline ends or parks, a moment after the first one while a tool takes
its time, or when there are many. A report has at most REPORT_BYTES_MAX of events, or one event; the next number is used
when the one before is answered, never earlier. A report that is answered `stale` means that the job is somebody else's
now; one that nobody answers is sent again for as long as the job is not taken away.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import accumulate

import msgspec

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.engine.commands import Report, Work
from noetl.engine.events import Event, TaskDone
from noetl.messaging.pauses import Pauses
from noetl.queues.contract import STALE, UNANSWERED, Transport
from noetl.runner.lease import Lease
from noetl.runner.recording import is_small_event

DELAY_SECONDS = 0.005  # of what was done: whoever goes on after a crash does the rest again
# Of what has only begun. A report in between costs as much as the last one; most tools are done by then, and recovery
# does without it.
BEGUN_SECONDS = 0.05
LATE_SECONDS = 2.0  # of a simulator
REPORT_BYTES_MAX = 256 * 1024
EVENTS_MAX = 1000

SMALL_EVENT_BYTES = 2048  # of one that has little in it, about; most have a tenth of that

encode = msgspec.json.Encoder().encode


class Dropped(Exception):
    """The lease is gone: stop, and say nothing more."""


class Soon:
    """One timer for all who want to be called in a moment: most of them have no need any more when it comes."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()

    def call(self, call: Callable[[], None]) -> None:
        is_first = not self._waiting
        self._waiting.append((self._clock.monotonic() + self._seconds, call))
        if is_first:
            self._clock.call_later(self._seconds, self._come)

    def _come(self) -> None:
        now = self._clock.monotonic()
        try:
            while self._waiting and self._waiting[0][0] <= now:
                self._waiting.popleft()[1]()
        finally:
            if self._waiting:
                self._clock.call_later(max(0.0, self._waiting[0][0] - now), self._come)


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """How reports get to a server, the same for every job of a worker."""

    transport: Transport
    clock: Clock
    chance: Callable[[], float]
    soon: Soon  # for what was done
    later: Soon  # for what has only begun
    clean: Callable[[list[Event]], list[Event]] = lambda events: events  # takes known secrets out, however they came in


class Reporter:
    """The reports of one lease."""

    def __init__(self, post: Post, work: Work, lease: Lease) -> None:
        self.post = post
        self.work = work
        self.lease = lease
        self.is_dropped = False
        self._n = 0
        self._buffer: list[Event] = []
        self._sized = 0  # so many of them were measured
        self._bytes = 0  # and have so many bytes
        self._is_due = False  # what is buffered goes by itself …
        self._is_due_soon = False  # … and in a moment
        self._sending: asyncio.Task[None] | None = None
        self._failure: Exception | None = None  # of a report in the background

    def add(self, events: list[Event]) -> None:
        self._buffer.extend(events)

    def soon(self) -> None:
        """A tool will take its time: what is buffered goes in a moment."""
        if not self._buffer:
            return
        has_done = any(type(event) is TaskDone for event in self._buffer)
        if self._is_due and (self._is_due_soon or not has_done):
            return
        self._is_due, self._is_due_soon = True, has_done
        if buggify("report.late"):
            self.post.clock.call_later(LATE_SECONDS, self._send_in_background)
        else:
            (self.post.soon if has_done else self.post.later).call(self._send_in_background)

    def _send_in_background(self) -> None:
        if not self._is_due:
            return
        self._is_due = False
        if self._sending is None and self._buffer:
            self._sending = asyncio.get_running_loop().create_task(self._send_quietly())

    async def _send_quietly(self) -> None:
        try:
            await self._send_one()
        except Dropped:
            pass  # seen by whoever looks at is_dropped next
        except Exception as error:
            self._failure = error  # raised where the job reports next
        finally:
            self._sending = None
            self.soon()  # what came in meanwhile found a report under way, and the tool that runs now may take long

    async def flush(self) -> None:
        """Everything so far is recorded when this returns."""
        await self._quiet()
        await self._send()

    async def flush_if_large(self) -> None:
        """Keep the buffer small where outputs are large or many."""
        if self.is_large:
            await self.flush()

    @property
    def is_large(self) -> bool:
        """Whether what is buffered should go before more is added."""
        is_full = len(self._buffer) > EVENTS_MAX or self._measured() > REPORT_BYTES_MAX
        return is_full or buggify("report.at_once")

    def _measured(self) -> int:
        """The bytes of what is buffered, or more; each event is measured once, and a small one not at all."""
        for event in self._buffer[self._sized :]:
            self._bytes += SMALL_EVENT_BYTES if is_small_event(event) else len(encode(event))
        self._sized = len(self._buffer)
        return self._bytes

    def whole(self, event: Event) -> Report:
        """The last report of a job, with all that is buffered."""
        self._is_due = False
        self._buffer.append(event)
        return self._numbered(self._next_events(is_all=True))

    async def last(self, event: Event) -> Report:
        """The pipeline has ended, or leaves this worker until a time or until a child has ended: the report that says
        so, still to be sent. What does not fit into it was."""
        await self._quiet()
        size = len(encode(event))
        while self._buffer and self._measured() + size > REPORT_BYTES_MAX:
            await self._send_one()
        return self.whole(event)

    @property
    def is_quiet(self) -> bool:
        """Whether no report is under way or went wrong: a job may go on without waiting."""
        return self._sending is None and self._failure is None and not self.is_dropped

    async def _quiet(self) -> None:
        """No report is under way: the next number may be used."""
        if self._sending is not None:
            await self._sending
        self._is_due = False
        self.check()

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self.is_dropped:
            raise Dropped

    def abandon(self) -> None:
        """Nobody works on this any more: send nothing that was not sent yet."""
        self._buffer, self._is_due = [], False
        if self._sending is not None:
            self._sending.cancel()

    # --- sending -----------------------------------------------------------------------------------------------------

    async def _send(self) -> None:
        """All that is buffered, in as many reports as it takes, one after the other."""
        while self._buffer:
            await self._send_one()

    async def _send_one(self) -> None:
        await self.deliver(self._numbered(self._next_events()))

    def _numbered(self, events: list[Event]) -> Report:
        self._n += 1
        work = self.work
        return Report(
            execution_id=work.execution_id,
            run=work.run,
            iter=work.iter,
            lease=work.lease,
            n=self._n,
            events=self.post.clean(events),
        )

    def _next_events(self, *, is_all: bool = False) -> list[Event]:
        """The oldest events that fit into one report; the rest stays."""
        count = len(self._buffer)
        if not is_all and self._measured() > REPORT_BYTES_MAX:
            sizes = accumulate(len(encode(event)) for event in self._buffer)
            count = max(1, sum(1 for size in sizes if size <= REPORT_BYTES_MAX))
        events, self._buffer = self._buffer[:count], self._buffer[count:]
        self._sized = self._bytes = 0
        return events

    async def deliver(self, report: Report) -> None:
        """The same number until somebody answers."""
        post, pauses = self.post, None
        while True:
            sent_at = post.clock.monotonic()
            try:
                word = await post.transport.report(report)
            except UNANSWERED:
                pauses = pauses or Pauses(post.clock, post.chance)
                await pauses.wait()
                continue
            if word == STALE:
                self.is_dropped = True
                raise Dropped
            self.lease.heard(sent_at)
            return
