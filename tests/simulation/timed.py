"""A clock that is moved by hand, and rings whatever has come due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from noetl.testing.clocks import ClockByHand

TURNS = 20  # of the loop: more than anything here needs to get as far as it can


class Alarm:
    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call
        self.is_off = False

    def cancel(self) -> None:
        self.is_off = True


class AlarmClock(ClockByHand):
    def __init__(self) -> None:
        super().__init__()
        self.alarms: list[Alarm] = []

    def call_later(self, seconds: float, call: Callable[[], None]) -> Alarm:
        self.alarms.append(Alarm(self.seconds + seconds, call))
        return self.alarms[-1]

    async def move(self, seconds: float) -> None:
        """On to then, alarm by alarm; and let everybody get as far as they can."""
        end = self.seconds + seconds
        while due := [one for one in self.alarms if not one.is_off and one.at <= end]:
            alarm = min(due, key=lambda one: one.at)
            self.alarms.remove(alarm)
            self.seconds = alarm.at
            alarm.call()
        self.seconds = end
        await settled()


async def settled() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)
