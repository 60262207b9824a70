"""Time, handed in: whoever needs it gets a Clock, so that a simulator can hand in another.

`now` is the wall's, in seconds since 1970, for what is written down; `monotonic` measures; `sleep` waits; `call_later`
waits without anybody waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that is going to happen."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        import asyncio  # an import of 60 ms that looking at the time does not need

        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        import asyncio

        return asyncio.get_running_loop().call_later(seconds, call)


class OffsetClock:
    """A clock by which several machines agree: `now` is moved by what was measured, the rest is as it is."""

    def __init__(self, clock: Clock, offset_seconds: float) -> None:
        self._clock = clock
        self.offset_seconds = offset_seconds

    def now(self) -> float:
        return self._clock.now() + self.offset_seconds

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        return self._clock.call_later(seconds, call)
