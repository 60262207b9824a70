"""What a worker says of one job: events, in numbered reports, each sent until it is answered (protocol §7).

Events are buffered: they go when the pipeline ends or parks, a few milliseconds after the first one while a tool takes
its time, or when there are many. A report that is answered `stale` means that the job is somebody else's now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from noetl.engine.commands import Report, Work
from noetl.engine.events import Event
from noetl.queues.contract import STALE, Transport

DELAY_SECONDS = 0.005
BUFFER_BYTES_MAX = 256 * 1024
EVENTS_MAX = 1000
EVENTS_SURELY_SMALL = 4  # of 64 KiB each at most

encode = msgspec.json.Encoder().encode


class Dropped(Exception):
    """The lease is gone: stop, and say nothing more."""


class Reporter:
    """The reports of one lease."""

    def __init__(self, transport: Transport, work: Work, clean: Callable[[Event], Event] = lambda event: event) -> None:
        self.transport = transport
        self.work = work
        self.clean = clean  # takes known secrets out, whatever way they came in
        self.is_dropped = False
        self._n = 0
        self._buffer: list[Event] = []
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._failure: Exception | None = None  # of a report in the background

    def add(self, events: list[Event]) -> None:
        self._buffer.extend(events)

    def soon(self) -> None:
        """A tool will take its time: what is buffered goes in a few milliseconds."""
        if self._timer is None and self._buffer:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._send_in_background)

    def _send_in_background(self) -> None:
        self._timer = None
        if self._sending is None and self._buffer:
            self._sending = asyncio.get_running_loop().create_task(self._send_one())

    async def _send_one(self) -> None:
        try:
            await self._send()
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
        if self._buffer:
            await self._send()

    async def flush_if_large(self) -> None:
        """Keep the buffer small where outputs are large."""
        if len(self._buffer) < EVENTS_SURELY_SMALL:
            return
        if len(self._buffer) > EVENTS_MAX or len(encode(self._buffer[-1])) * len(self._buffer) > BUFFER_BYTES_MAX:
            await self.flush()

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

    async def _send(self) -> None:
        events, self._buffer = self._buffer, []
        self._n += 1
        report = Report(
            execution_id=self.work.execution_id,
            run=self.work.run,
            iter=self.work.iter,
            lease=self.work.lease,
            n=self._n,
            events=[self.clean(event) for event in events],
        )
        if await self.transport.report(report) == STALE:
            self.is_dropped = True
            raise Dropped
