"""One batch's time with the store and the queue: opened before anything is decided, ended by a commit or given up.

While it is open, nobody else changes what it holds. A process that has its store to itself holds everything already
(`LocalSitting`); servers that share one lock what the batch is about (`shared_sitting.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from noetl.clock import Clock
from noetl.control.live import Live
from noetl.engine import commands as ops
from noetl.engine.commands import Change, Operation, Report
from noetl.queues.contract import Queue
from noetl.stores.contract import Batch, Store

if TYPE_CHECKING:
    from noetl.control.turn import Turn


class Sitting(Protocol):
    async def open(self, operations: Sequence[Operation]) -> dict[int, Live]:
        """Hold the executions that these are about, as their logs have them now; gives those it has brought up."""
        ...

    def judge(self, report: Report) -> str:
        """Whether a report counts: ACCEPTED, DUPLICATE or STALE."""
        ...

    def is_current(self, operation: Operation) -> bool:
        """Whether something that was asked for some time ago is still about anything."""
        ...

    async def commit(self, batch: Batch, turn: Turn) -> None:
        """Write a batch, and what it does to the queue where that is part of the store."""
        ...

    def conclude(self, turn: Turn) -> None:
        """The batch stands: bring the queue up to it and hand out."""
        ...

    async def abandon(self) -> None:
        """Nothing of it counts."""
        ...


class LocalSitting:
    """Of the one process that has the store; the queue is in its memory."""

    def __init__(self, store: Store, queue: Queue, clock: Clock) -> None:
        self.store = store
        self.queue = queue
        self.clock = clock

    async def open(self, operations: Sequence[Operation]) -> dict[int, Live]:
        return {}  # all is held already, and in memory

    def judge(self, report: Report) -> str:
        return self.queue.judge(report)

    def is_current(self, operation: Operation) -> bool:
        return True

    async def commit(self, batch: Batch, turn: Turn) -> None:
        if batch.appends:
            await self.store.commit(batch)

    def conclude(self, turn: Turn) -> None:
        now = self.clock.monotonic()
        for report in turn.accepted:
            self.queue.accept(report, now)
        self.queue.change(self._in_queue_time(turn.changes), now)

    async def abandon(self) -> None:
        """Memory is rebuilt from the log by whoever needs it."""

    def _in_queue_time(self, changes: list[Change]) -> Iterator[Change]:
        """The log tells time by the wall's clock; the queue by one that never jumps."""
        for change in changes:
            if type(change) is ops.JobParked and change.until:
                seconds = max(0.0, change.until - self.clock.now())
                yield msgspec.structs.replace(change, until=self.clock.monotonic() + seconds)
            else:
                yield change
