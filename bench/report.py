"""What a benchmark found: figures, by part, with what is needed to judge and to repeat them. Read and written as JSON.

A figure keeps the value of each round that counts, and beside it the value of its yardstick in the same round; medians,
spread, ratio and verdict follow from those. They are written into the JSON as well, for those who read it without us.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import msgspec

from bench.machine import Machine


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number, measured several times."""

    name: str  # unique: W1, cluster W1, …
    title: str
    unit: str
    rounds: list[float]
    rounds_taken: int = 0  # with those that others disturbed
    rounds_clean: int = 0
    beside: str = ""  # the yardstick
    beside_rounds: list[float] = []  # in the same unit, taken in turns
    cpu_ms_per_item: float | None = None
    peak_mebibytes: float | None = None
    error: str = ""  # why there is no number

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def low(self) -> float:
        return min(self.rounds)

    @property
    def high(self) -> float:
        return max(self.rounds)

    @property
    def ratio(self) -> float | None:
        """To its yardstick: the median of the rounds' own ratios, so that a slow moment hits both sides."""
        pairs = zip(self.rounds, self.beside_rounds, strict=False)
        ratios = [value / other for value, other in pairs if other]
        return statistics.median(ratios) if ratios else None


class PeerFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The same workload by somebody else."""

    peer: str
    workload: str
    value: float
    unit: str
    low: float
    high: float
    rounds: int
    peak_mebibytes: float | None = None
    error: str | None = None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Figures that were measured in one go."""

    name: str
    commit: str
    began_at: str
    seconds: float
    figures: list[Figure] = []
    peers: list[PeerFigure] = []


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All parts, of one machine."""

    machine: Machine
    parts: list[Part]

    def figure(self, name: str) -> Figure | None:
        """The figure of that name, if it was measured."""
        found = (figure for part in self.parts for figure in part.figures if figure.name == name and not figure.error)
        return next(found, None)


def read(path: Path) -> Report:
    return msgspec.json.decode(path.read_bytes(), type=Report)


def write(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_text(report), encoding="utf-8")


def as_text(report: Report) -> str:
    """The JSON, with what follows from the rounds beside them."""
    from bench.targets import verdict_of

    tree: dict[str, Any] = msgspec.to_builtins(report)
    for part, shown in zip(report.parts, tree["parts"], strict=True):
        for figure, fields in zip(part.figures, shown["figures"], strict=True):
            if figure.rounds:
                fields |= {"median": figure.median, "low": figure.low, "high": figure.high, "ratio": figure.ratio}
                fields["verdict"] = verdict_of(figure)
    return msgspec.json.format(msgspec.json.encode(tree), indent=2).decode() + "\n"


def merged(before: Report | None, now: Report) -> Report:
    """Parts that were not measured again stay, unless another machine measured them: nothing is compared across two."""
    if before is None or before.machine != now.machine:
        return now
    fresh = {part.name: part for part in now.parts}
    kept = [fresh.pop(part.name, part) for part in before.parts]
    return msgspec.structs.replace(now, parts=[*kept, *fresh.values()])
