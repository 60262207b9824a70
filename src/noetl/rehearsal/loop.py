"""An event loop with a time of its own, over real sockets, pipes and threads.

Time stands still while anything is ready, and while something real is at work (`real`: a python child, a thread).
Then it jumps to the next timer: an hour costs nothing, and how long a real tool took changes nothing. What is real has
real time: its timers are those of the machine's clock. What comes from outside is let in only when nothing else is
ready, so that the same rehearsal goes the same way again.
"""

from __future__ import annotations

import asyncio
import heapq
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from itertools import count
from typing import Any

IS_REAL: ContextVar[bool] = ContextVar("is_real", default=False)
LOOK_SECONDS = 0.05  # how often it is looked whether it takes too long, while something real is waited for
TURNS_UNTIL_LOOK = 1_000  # of a loop that always has something to do
Dues = Callable[[], float | None]


class VirtualLoop(asyncio.SelectorEventLoop):
    """See above."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._real_works = 0
        self._real_timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = count()
        self._dozer: tuple[float, asyncio.Future[None]] | None = None
        self.next_due: Dues = lambda: None  # when whoever dozes has something to do, in this loop's time
        self.late_at: float | None = None  # by the machine's clock
        self.on_late: Callable[[], None] = lambda: None
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._seconds

    def call_at(  # type: ignore[override]  # the forms of it that asyncio uses
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if not (context.get(IS_REAL, False) if context is not None else IS_REAL.get()):
            return super().call_at(when, callback, *args, context=context)
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        due = time.monotonic() + max(0.0, when - self._seconds)
        heapq.heappush(self._real_timers, (due, next(self._numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if handle._scheduled:  # type: ignore[attr-defined]  # those of real time are none of asyncio's
            super()._timer_handle_cancelled(handle)  # type: ignore[misc]

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future = super().run_in_executor(executor, func, *args)
        self._real_works += 1
        future.add_done_callback(self._worked)
        return future

    async def shutdown_default_executor(self, *timeout: float | None) -> None:
        """Threads end in real time: of this loop's the five minutes that asyncio gives them are over at once."""
        with self.real():
            await super().shutdown_default_executor(*timeout)

    def _worked(self, _future: object) -> None:
        self._real_works -= 1

    @contextmanager
    def real(self) -> Iterator[None]:
        """Something is at work outside: time stands still, and what is begun here has the machine's."""
        was = IS_REAL.get()
        IS_REAL.set(True)
        self._real_works += 1
        try:
            yield
        finally:
            self._real_works -= 1
            IS_REAL.set(was)

    async def doze(self, seconds: float) -> None:
        """Wait at least so long, and then until `next_due`: for whoever looks at the clock again and again."""
        future = self.create_future()
        self._dozer = self._seconds + seconds, future
        await future

    # --- between two turns -------------------------------------------------------------------------------------------

    def _move(self) -> bool:
        """Jump to the next timer; False: there is none, and only something from outside can go on."""
        timers = self._scheduled  # type: ignore[attr-defined]  # a heap; its first is not cancelled when this is asked
        target = timers[0]._when if timers else None
        due = self.next_due() if self._dozer else None
        if self._dozer and due is not None:
            due = max(due, self._dozer[0])
            target = due if target is None else min(target, due)
        if target is None:
            return False
        self._seconds = max(self._seconds, target)
        if self._dozer and self._dozer[0] <= self._seconds:
            _, future = self._dozer
            self._dozer = None
            if not future.done():
                future.set_result(None)
        return True

    def _fire_real_timers(self) -> None:
        now = time.monotonic()
        while self._real_timers and (self._real_timers[0][0] <= now or self._real_timers[0][2].cancelled()):
            handle = heapq.heappop(self._real_timers)[2]
            if not handle.cancelled():
                self._ready.append(handle)  # type: ignore[attr-defined]

    def _real_seconds(self) -> float:
        """How long to wait for something from outside."""
        if not self._real_timers:
            return LOOK_SECONDS
        return min(LOOK_SECONDS, max(0.0, self._real_timers[0][0] - time.monotonic()))

    def _look(self) -> None:
        if self.late_at is not None and time.monotonic() > self.late_at:
            self.late_at = None
            self.call_soon(self.on_late)


class _Selector(selectors.BaseSelector):
    """Where the loop waits: what it is asked to wait for is a time of its own, and not the machine's."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._inner = selectors.DefaultSelector()
        self._turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        loop = self._loop
        self._turns += 1
        if self._turns % TURNS_UNTIL_LOOK == 0:
            loop._look()
        elif timeout is not None and timeout <= 0:
            return []
        found = self._inner.select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        if not loop._real_works and loop._move():
            return []
        found = self._inner.select(loop._real_seconds())
        loop._fire_real_timers()
        loop._look()
        return found

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def close(self) -> None:
        self._inner.close()

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.get_key(fileobj)

    def get_map(self) -> Any:
        return self._inner.get_map()
