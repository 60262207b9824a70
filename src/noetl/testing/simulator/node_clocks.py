"""The clocks of a simulated world: each node's own, which may be wrong, run fast or slow, and jump."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from noetl.clock import Timer
from noetl.testing.simulator.loop import SimLoop

BEGINNING = 1_750_000_000.0  # seconds since 1970


class NodeClock:
    """`rate`: its seconds for one true second; `offset_seconds`: what its wall clock is ahead."""

    def __init__(self, loop: SimLoop, offset_seconds: float = 0.0, rate: float = 1.0) -> None:
        self._loop = loop
        self.offset_seconds = offset_seconds
        self.rate = rate

    def now(self) -> float:
        return BEGINNING + self._loop.time() * self.rate + self.offset_seconds

    def monotonic(self) -> float:
        return self._loop.time() * self.rate

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.rate)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        return self._loop.call_later(seconds / self.rate, call)
