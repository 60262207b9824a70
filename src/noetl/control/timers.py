"""Time passing: step deadlines, parked jobs that are due, leases that ran out (ST-07, protocol §6 sweep)."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from noetl.clock import Clock
from noetl.engine.commands import TIMEOUT, ChildEnded, Expire, Operation, TimerSet
from noetl.engine.output import Error
from noetl.queues.contract import DELIVERIES_MAX, Queue

TICK_SECONDS = 0.05
SWEEP_SECONDS = 1.0
HEAP_MIN = 1024  # fewer are not worth looking through for those that nobody needs any more


class Timers:
    """Looks at the clock regularly, and asks for what is due."""

    def __init__(self, clock: Clock, queue: Queue, post: Callable[[Operation], None], ring: Callable[[], None]) -> None:
        self.clock = clock
        self.queue = queue
        self.post = post
        self.ring = ring
        self.is_needed: Callable[[TimerSet], bool] = lambda _timer: True  # False: what it is for has ended
        self._heap: list[tuple[float, int, TimerSet]] = []
        self._orders = count()
        self._thin_out_at = HEAP_MIN
        self._swept_at = 0.0

    def set(self, timer: TimerSet) -> None:
        heapq.heappush(self._heap, (timer.at, next(self._orders), timer))
        if len(self._heap) >= self._thin_out_at:
            self._heap = [entry for entry in self._heap if self.is_needed(entry[2])]
            heapq.heapify(self._heap)
            self._thin_out_at = max(HEAP_MIN, 2 * len(self._heap))

    @property
    def next_at(self) -> float | None:
        """The first time that something has to end by, if anything has."""
        return self._heap[0][0] if self._heap else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing that is under way has a time to end by."""
        while self._heap and not self.is_needed(self._heap[0][2]):
            heapq.heappop(self._heap)
        return not self._heap

    async def run(self) -> None:
        while True:
            await self.clock.sleep(TICK_SECONDS)
            self.tick(self.clock.now(), self.clock.monotonic())

    def tick(self, now: float, monotonic: float) -> None:
        """Ask for everything that is due: deadlines by the wall's clock, the queue's own by one that never jumps."""
        while self._heap and self._heap[0][0] <= now:
            self.post(overdue(heapq.heappop(self._heap)[2]))
        due = self.queue.next_at()
        if due is not None and due <= monotonic:
            self.ring()
        if monotonic - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = monotonic
            self._sweep(monotonic)

    def _sweep(self, now: float) -> None:
        for lost in self.queue.expire(now):
            execution_id, run, index = lost.key
            message = f"its worker was lost {DELIVERIES_MAX} times in a row"
            self.post(Expire(execution_id=execution_id, run=run, iter=index, kind="worker_lost", message=message))
        self.ring()


def overdue(timer: TimerSet) -> Operation:
    """What to ask for when a timer goes off."""
    if not timer.child_key:
        return Expire(execution_id=timer.execution_id, run=timer.run, kind="timeout", message=timer.message)
    return ChildEnded(
        execution_id=timer.execution_id,
        run=timer.run,
        iter=timer.iter,
        task=timer.task,
        key=timer.child_key,
        result=TIMEOUT,
        error=Error(kind=TIMEOUT, message=timer.message, retryable=True).as_data(),
    )
