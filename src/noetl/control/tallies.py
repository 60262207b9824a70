"""How many executions are under way, and how many ended in each of the last 24 hours. Reads a store, writes nothing.

An hour that is over is counted once and kept: what ended then does not change. Counted again is what follows it, so a
page that asks every second costs what the current hour costs. An hour counts as over only some time after its end, for
another server may still be committing what ended in it by its clock.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from noetl.clock import Clock
from noetl.stores.contract import Store
from noetl.stores.wanted import Paths

HOURS = 24
HOUR_SECONDS = 3600
SETTLED_SECONDS = 120.0
PLACES_MAX = 64  # tokens with paths of their own, of which hours are kept
Counts = dict[str, int]  # by status


class Hour(msgspec.Struct, frozen=True):
    began_at: float  # seconds since 1970
    ended: Counts


class Tallies:
    """See above."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._kept: OrderedDict[Paths, dict[int, Counts]] = OrderedDict()

    async def live(self, paths: Paths) -> Counts:
        return await self._store.count_live(paths)

    async def day(self, paths: Paths) -> list[Hour]:
        """The last hours, oldest first; the last one is not over."""
        now = self._clock.now()
        last = int(now // HOUR_SECONDS)
        wanted = range(last - HOURS + 1, last + 1)
        kept = {hour: counts for hour, counts in self._kept.get(paths, {}).items() if hour in wanted}
        first = next(hour for hour in wanted if hour not in kept)
        found: dict[int, Counts] = {hour: {} for hour in range(first, last + 1)}
        for (hour, status), count in (await self._store.count_ended(first * HOUR_SECONDS, paths)).items():
            counts = found[min(hour, last)]  # by a clock that is ahead it may be the next one
            counts[status] = counts.get(status, 0) + count
        self._keep(paths, kept | {hour: found[hour] for hour in found if is_over(hour, now)})
        return [Hour(float(hour * HOUR_SECONDS), (kept | found)[hour]) for hour in wanted]

    def _keep(self, paths: Paths, hours: dict[int, Counts]) -> None:
        self._kept[paths] = hours
        self._kept.move_to_end(paths)
        while len(self._kept) > PLACES_MAX:
            self._kept.popitem(last=False)


def is_over(hour: int, now: float) -> bool:
    return (hour + 1) * HOUR_SECONDS + SETTLED_SECONDS <= now
