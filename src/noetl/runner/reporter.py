"""What a worker says of one job: events, in numbered reports, each sent until it is answered (protocol §7, rule 2).

Events are buffered: they go when the pipeline ends or parks, a few milliseconds after the first one while a tool takes
its time, or when there are many. A report has at most REPORT_BYTES_MAX of events, or one event; the next number is used
when the one before is answered, never earlier. A report that is answered `stale` means that the job is somebody else's
now; one that nobody answers is sent again for as long as the job is not taken away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import accumulate

import msgspec

from noetl.buggify import buggify
from noetl.clock import Clock, Timer
from noetl.engine.commands import Report, Work
from noetl.engine.events import Event
from noetl.messaging.pauses import Pauses
from noetl.queues.contract import STALE, UNANSWERED, Transport
from noetl.runner.lease import Lease

DELAY_SECONDS = 0.005
LATE_SECONDS = 2.0  # of a simulator
REPORT_BYTES_MAX = 256 * 1024
EVENTS_MAX = 1000

encode = msgspec.json.Encoder().encode


class Dropped(Exception):
    """The lease is gone: stop, and say nothing more."""


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """How reports get to a server, the same for every job of a worker."""

    transport: Transport
    clock: Clock
    chance: Callable[[], float]
    clean: Callable[[Event], Event] = lambda event: event  # takes known secrets out, whatever way they came in


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
        self._timer: Timer | None = None
        self._sending: asyncio.Task[None] | None = None
        self._failure: Exception | None = None  # of a report in the background

    def add(self, events: list[Event]) -> None:
        self._buffer.extend(events)

    def soon(self) -> None:
        """A tool will take its time: what is buffered goes in a few milliseconds."""
        if self._timer is None and self._buffer:
            seconds = LATE_SECONDS if buggify("report.late") else DELAY_SECONDS
            self._timer = self.post.clock.call_later(seconds, self._send_in_background)

    def _send_in_background(self) -> None:
        self._timer = None
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
        is_large = self._measured() > REPORT_BYTES_MAX or len(self._buffer) > EVENTS_MAX
        if is_large or buggify("report.at_once"):
            await self.flush()

    def _measured(self) -> int:
        """The bytes of what is buffered; each event is measured once."""
        self._bytes += sum(len(encode(event)) for event in self._buffer[self._sized :])
        self._sized = len(self._buffer)
        return self._bytes

    async def last(self, event: Event) -> None:
        """The pipeline has ended, or leaves this worker until a time or until a child has ended."""
        await self._quiet()
        self._buffer.append(event)
        await self._send()

    async def _quiet(self) -> None:
        """No report is under way: the next number may be used."""
        if self._sending is not None:
            await self._sending
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.check()

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self.is_dropped:
            raise Dropped

    def abandon(self) -> None:
        """Nobody works on this any more: send nothing that was not sent yet."""
        self._buffer = []
        if self._timer is not None:
            self._timer.cancel()
        if self._sending is not None:
            self._sending.cancel()

    # --- sending -----------------------------------------------------------------------------------------------------

    async def _send(self) -> None:
        """All that is buffered, in as many reports as it takes, one after the other."""
        while self._buffer:
            await self._send_one()

    async def _send_one(self) -> None:
        events = self._next_events()
        self._n += 1
        await self._deliver(
            Report(
                execution_id=self.work.execution_id,
                run=self.work.run,
                iter=self.work.iter,
                lease=self.work.lease,
                n=self._n,
                events=[self.post.clean(event) for event in events],
            )
        )

    def _next_events(self) -> list[Event]:
        """The oldest events that fit into one report; the rest stays."""
        count = len(self._buffer)
        if self._measured() > REPORT_BYTES_MAX:
            sizes = accumulate(len(encode(event)) for event in self._buffer)
            count = max(1, sum(1 for size in sizes if size <= REPORT_BYTES_MAX))
        events, self._buffer = self._buffer[:count], self._buffer[count:]
        self._sized = self._bytes = 0
        return events

    async def _deliver(self, report: Report) -> None:
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
