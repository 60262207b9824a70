"""How often something may happen on this server: a bucket for each name, which fills at its rate."""

from __future__ import annotations

import math

from noetl.clock import Clock

MINUTE_SECONDS = 60.0
BUCKETS_MAX = 10_000


class Rates:
    """See above. A bucket holds what a minute brings, so a minute's worth may come at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, and when that was

    def wait_seconds(self, name: str, per_minute: int) -> float:
        """0.0: it may happen now, and is counted; else how long it must wait."""
        now = self._clock.monotonic()
        left, at = self._buckets.get(name, (float(per_minute), now))
        left = min(float(per_minute), left + (now - at) * per_minute / MINUTE_SECONDS)
        if left < 1:
            self._keep(name, left, now)
            return math.ceil((1 - left) * MINUTE_SECONDS / per_minute * 1000) / 1000
        self._keep(name, left - 1, now)
        return 0.0

    def _keep(self, name: str, left: float, now: float) -> None:
        if len(self._buckets) >= BUCKETS_MAX and name not in self._buckets:
            self._buckets.clear()
        self._buckets[name] = (left, now)
