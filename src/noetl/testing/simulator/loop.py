"""An event loop with a time of its own, for many simulated processes at once (nodes.py).

Time stands still while anybody has something to do, and then moves to the next timer: an hour costs nothing. Within a
node everything runs in the order asyncio gives it; which node's turn it is, is drawn. There are no threads, sockets
or files: what asks for a thread gets its answer at once.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
from asyncio import events
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from itertools import count
from typing import Any

from noetl.testing.simulator.nodes import NODE, Node
from noetl.testing.simulator.tape import Stream


class Stuck(Exception):
    """Nothing is left that could happen, though something is waited for."""


class SimLoop(asyncio.AbstractEventLoop):
    """See above."""

    def __init__(self, sched: Stream) -> None:
        self._sched = sched
        self._now = 0.0
        self._numbers = count()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._waiting: list[Node] = []  # nodes that have something to do now
        self._remains: list[asyncio.Task[Any]] = []  # of killed nodes: kept, or their `finally` would still run
        self._is_running = False
        self._is_over = False
        self.turns = 0
        self.faults: list[dict[str, Any]] = []  # what nobody caught

    # --- as asyncio asks ---------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._is_over

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]  # what of its many forms asyncio uses
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_soon(  # type: ignore[override]  # as above
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._make_ready(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # as above

    def call_later(  # type: ignore[override]  # as above
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]  # as above
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays in the heap until its time comes, and is passed over then."""

    def run_in_executor(  # type: ignore[override]  # as above
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        answer = self.create_future()
        try:
            answer.set_result(func(*args))
        except Exception as error:
            answer.set_exception(error)
        return answer

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._is_over:
            self.faults.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _make_ready(self, handle: asyncio.Handle) -> None:
        node = handle._context.get(NODE)  # type: ignore[attr-defined]  # asyncio's own loops use it, too
        if node is None or not node.is_alive or self._is_over:
            return
        node.ready.append(handle)
        if not node.is_waiting and not node.is_paused:
            node.is_waiting = True
            self._waiting.append(node)

    def wake(self, node: Node) -> None:
        if not node.is_waiting:
            node.is_waiting = True
            self._waiting.append(node)

    def bury(self) -> None:
        """Hold on to everything that is under way, so that nothing of it is finished by being forgotten."""
        self._remains.extend(asyncio.all_tasks(self))

    # --- running -----------------------------------------------------------------------------------------------------

    def run_until(self, is_over: Callable[[], bool]) -> None:
        """Run until that is so. Raises Stuck, and whatever `is_over` raises."""
        events._set_running_loop(self)
        self._is_running = True
        try:
            while not is_over():
                if self._waiting:
                    self._give_turn()
                else:
                    self._move_time()
        finally:
            self._is_running = False
            events._set_running_loop(None)

    def _give_turn(self) -> None:
        waiting = self._waiting
        place = int(self._sched.random() * len(waiting)) if len(waiting) > 1 else 0
        node = waiting[place]
        waiting[place] = waiting[-1]
        waiting.pop()
        node.is_waiting = False
        self.turns += 1
        ready = node.ready
        for _ in range(len(ready)):
            if not ready or not node.may_run:
                break
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()
        if ready and node.may_run:
            self.wake(node)

    def _move_time(self) -> None:
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        if not timers:
            raise Stuck("nothing is left that could happen")
        self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            handle = heapq.heappop(timers)[2]
            if not handle._cancelled:
                self._make_ready(handle)

    def end(self) -> None:
        """Forget everything that is still under way; nothing of it has an effect any more, and nobody is told of it."""
        self._is_over = True
        told, sys.unraisablehook = sys.unraisablehook, lambda _unraisable: None
        events._set_running_loop(self)
        try:
            for task in [*self._remains, *asyncio.all_tasks(self)]:
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is meant to be
                with suppress(BaseException):
                    task.get_coro().close()
        finally:
            events._set_running_loop(None)
            sys.unraisablehook = told
        self._remains.clear()
        self._timers.clear()
        self._waiting.clear()
