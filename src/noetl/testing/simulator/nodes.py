"""The processes of a simulated world: each with a context of its own, by which the loop knows whose turn something is.

A node that is killed never runs again, not even what `finally` would do. One that is paused runs what has come due
when it goes on. A process that is started anew is another node.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noetl.testing.simulator.loop import SimLoop

NODE: contextvars.ContextVar[Node] = contextvars.ContextVar("node")


class Node:
    """One simulated process."""

    def __init__(self, loop: SimLoop, name: str, kind: str = "") -> None:
        self.loop = loop
        self.name = name
        self.kind = kind or name
        self.is_alive = True
        self.is_paused = False
        self.is_waiting = False  # for its turn
        self.ready: deque[asyncio.Handle] = deque()
        self.context = contextvars.Context()
        self.context.run(NODE.set, self)

    @property
    def may_run(self) -> bool:
        return self.is_alive and not self.is_paused

    def run(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do something as this process."""
        return asyncio.Task(work, loop=self.loop, context=self.context)

    def soon(self, call: Callable[..., object], *given: object) -> None:
        self.loop.call_soon(call, *given, context=self.context)

    def later(self, seconds: float, call: Callable[..., object], *given: object) -> asyncio.TimerHandle:
        return self.loop.call_later(seconds, call, *given, context=self.context)

    def kill(self) -> None:
        """As by kill -9."""
        self.is_alive = False
        self.loop.bury()
        self.ready.clear()

    def pause(self) -> None:
        """As by SIGSTOP."""
        self.is_paused = True

    def go_on(self) -> None:
        self.is_paused = False
        if self.is_alive and self.ready:
            self.loop.wake(self)
