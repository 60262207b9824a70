"""Medians of repeated runs, taken in turns so that a slow moment of the machine hits both sides of a ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Ratio(NamedTuple):
    """How much slower one thing is than its yardstick."""

    name: str
    seconds: float
    yardstick: str
    yardstick_seconds: float
    ratio: float
    spread: float  # of the ratios of single rounds: (3rd quartile - 1st) / median
    limit: float
    count: int = 1  # how many steps, iterations, … were done in `seconds`

    @property
    def is_within(self) -> bool:
        return self.ratio <= self.limit


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(
    name: str, run: Callable[[], object], yardstick: str, other: Callable[[], object], *, rounds: int, limit: float
) -> Ratio:
    """Run both in turns; the ratio is the median of the rounds' own ratios."""
    run(), other()
    pairs = [(timed(run), timed(other)) for _ in range(rounds)]
    return ratio_of(name, yardstick, pairs, limit=limit)


def ratio_of(name: str, yardstick: str, pairs: list[tuple[float, float]], *, limit: float, count: int = 1) -> Ratio:
    """The ratio of seconds that were taken in turns, a pair a round."""
    first, middle, third = statistics.quantiles(sorted(one / two for one, two in pairs), n=4)
    return Ratio(
        name,
        statistics.median(one for one, _ in pairs),
        yardstick,
        statistics.median(two for _, two in pairs),
        middle,
        (third - first) / middle,
        limit,
        count,
    )
