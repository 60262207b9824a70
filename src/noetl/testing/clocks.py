"""Clocks for tests: one that stands still until it is moved, and the machine's own with something added to it."""

from __future__ import annotations

from collections.abc import Callable

from noetl.clock import SystemClock, Timer

BEGINNING = 1_750_000_000.0  # seconds since 1970


class ClockByHand:
    """Time that moves when it is told to, or when somebody sleeps."""

    def __init__(self, seconds: float = BEGINNING) -> None:
        self.seconds = seconds

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        raise AssertionError("nothing happens by itself while time stands still")


class PutClock(SystemClock):
    """The machine's clock, which somebody puts an hour back each time it is looked at."""

    def __init__(self) -> None:
        self.back_seconds = 0.0

    def now(self) -> float:
        self.back_seconds += 3600.0
        return super().now() - self.back_seconds


class ShiftedClock(SystemClock):
    """The machine's clock; what a test adds to it is measured and never slept."""

    def __init__(self) -> None:
        self.shift_seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.shift_seconds
