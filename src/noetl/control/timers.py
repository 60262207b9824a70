"""Time passing: step deadlines, parked jobs that are due, leases that ran out (ST-07, protocol §6 sweep)."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from noetl.clock import Clock
from noetl.engine.commands import Expire, Operation, TimerSet
from noetl.queues.contract import DELIVERIES_MAX, Queue

TICK_SECONDS = 0.05
SWEEP_SECONDS = 1.0


class Timers:
    """Looks at the clock regularly, and asks for what is due."""

    def __init__(self, clock: Clock, queue: Queue, post: Callable[[Operation], None], ring: Callable[[], None]) -> None:
        self.clock = clock
        self.queue = queue
        self.post = post
        self.ring = ring
        self._heap: list[tuple[float, int, int, str]] = []
        self._swept_at = 0.0

    def set(self, timer: TimerSet) -> None:
        heapq.heappush(self._heap, (timer.at, timer.execution_id, timer.run, timer.message))

    @property
    def is_idle(self) -> bool:
        return not self._heap

    async def run(self) -> None:
        while True:
            await self.clock.sleep(TICK_SECONDS)
            self.tick(self.clock.now(), self.clock.monotonic())

    def tick(self, now: float, monotonic: float) -> None:
        """Ask for everything that is due: deadlines by the wall's clock, the queue's own by one that never jumps."""
        while self._heap and self._heap[0][0] <= now:
            _, execution_id, run, message = heapq.heappop(self._heap)
            self.post(Expire(execution_id=execution_id, run=run, kind="timeout", message=message))
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
