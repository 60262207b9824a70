"""A round of the embedded engine and its yardstick, taken in turn, and the figure that many of them give."""

from __future__ import annotations

import statistics
from typing import NamedTuple

from bench.child import Round
from bench.measure import Rounds
from bench.report import Figure


class Pair(NamedTuple):
    """A round, and seconds of the same number without an engine."""

    ours: Round
    bare_seconds: float


def rate(name: str, title: str, taken: Rounds[Pair], count: int, beside: str) -> Figure:
    """So many a second."""
    return taken.figure(
        name,
        title,
        "/s",
        lambda pair: count / pair.ours.seconds,
        beside=beside,
        beside_value=lambda pair: count / pair.bare_seconds,
        **costs(taken, count),
    )


def costs(taken: Rounds[Pair], count: int) -> dict[str, float]:
    return {
        "cpu_ms_per_item": statistics.median(pair.ours.cpu_seconds for pair in taken.found) / count * 1000,
        "peak_mebibytes": max(pair.ours.peak_mebibytes for pair in taken.found),
    }
