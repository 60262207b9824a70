"""Waiting before trying again: each time twice as long up to a bound, and by chance a little less, so that those who
lost the same server do not all come back at once.
"""

from __future__ import annotations

from collections.abc import Callable

from noetl.clock import Clock

PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX = 0.05, 5.0  # where nobody says otherwise
SHORTEST_PART = 0.5  # of a pause that chance leaves at least


class Pauses:
    def __init__(
        self,
        clock: Clock,
        chance: Callable[[], float],
        *,
        first_seconds: float = PAUSE_SECONDS_FIRST,
        most_seconds: float = PAUSE_SECONDS_MAX,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._first_seconds = first_seconds
        self._most_seconds = most_seconds
        self._next_seconds = first_seconds

    async def wait(self) -> None:
        seconds = self._next_seconds
        self._next_seconds = min(2 * seconds, self._most_seconds)
        await self._clock.sleep(seconds * (SHORTEST_PART + (1 - SHORTEST_PART) * self._chance()))

    def reset(self) -> None:
        """It worked: the next pause is a short one."""
        self._next_seconds = self._first_seconds
