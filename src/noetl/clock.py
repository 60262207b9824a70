"""Time, handed in: whoever needs it gets a Clock, so that a simulator can hand in another.

`now` is the wall's, in seconds since 1970, for what is written down; `monotonic` measures; `sleep` waits; `call_later`
waits without anybody waiting.
"""

from __future__ import annotations

import math
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


class AgreedClock:
    """A clock by which several machines agree: `now` is what the store's clock said when it was last heard of, and what
    has passed since by a clock that never jumps. So what is written down by one is read by another as it was meant,
    however wrong the machines' own clocks are or are put (protocol §8).

    What it agreed on is one number: a worker's heartbeats hear the time in a thread of their own, while others read it.
    """

    ROUND_TRIP_SECONDS_MAX = 1.0  # a slower answer is too old to tell the time by, unless no better one came

    def __init__(self, clock: Clock) -> None:
        self.own = clock
        self._ahead_seconds = clock.now() - clock.monotonic()
        self._unsure_seconds = math.inf

    def now(self) -> float:
        return self.own.monotonic() + self._ahead_seconds

    def monotonic(self) -> float:
        return self.own.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self.own.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        return self.own.call_later(seconds, call)

    def agree(self, ahead_seconds: float) -> None:
        """So much must be added to the clock that never jumps: the other one may be put while it is being compared."""
        self._ahead_seconds = ahead_seconds
        self._unsure_seconds = 0.0

    def hear(self, now: float, round_trip_seconds: float) -> None:
        """Somebody who agrees said what time it is, in an answer that took so long."""
        if round_trip_seconds <= max(self.ROUND_TRIP_SECONDS_MAX, self._unsure_seconds):
            self._set(now, round_trip_seconds)

    def _set(self, now: float, unsure_seconds: float) -> None:
        self._ahead_seconds = now - self.own.monotonic()
        self._unsure_seconds = unsure_seconds
