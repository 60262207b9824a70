"""What each figure should be, as data: a bound on its value, on the ratio to its yardstick in the same run, or both.

A figure without a target is told and not judged.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from bench.report import Figure

VALUE: Literal["value"] = "value"
RATIO: Literal["ratio"] = "ratio"
MET, NOT_MET, UNJUDGED = "met", "not met", ""


class Bound(NamedTuple):
    """One thing that is wanted: at most, or at least."""

    of: Literal["value", "ratio"]
    at_most: float | None = None
    at_least: float | None = None

    def is_kept(self, figure: Figure) -> bool:
        found = figure.median if self.of == VALUE else figure.ratio
        if found is None:
            return False
        return (self.at_most is None or found <= self.at_most) and (self.at_least is None or found >= self.at_least)


class Target(NamedTuple):
    """All of these bounds; or, where either will do, one of them."""

    bounds: tuple[Bound, ...]
    is_either: bool = False

    def is_met(self, figure: Figure) -> bool:
        return (any if self.is_either else all)(bound.is_kept(figure) for bound in self.bounds)


def at_most(value: float) -> Target:
    return Target((Bound(VALUE, at_most=value),))


def at_least(value: float) -> Target:
    return Target((Bound(VALUE, at_least=value),))


def ratio_at_most(ratio: float) -> Target:
    return Target((Bound(RATIO, at_most=ratio),))


def ratio_at_least(ratio: float) -> Target:
    return Target((Bound(RATIO, at_least=ratio),))


EMBEDDED = {
    "W1": Target((Bound(VALUE, at_most=0.4), Bound(RATIO, at_most=1.6)), is_either=True),
    "W2": at_least(12_000),
    "W3": at_least(3_000),
    "W4": Target((Bound(VALUE, at_most=150), Bound(RATIO, at_most=10)), is_either=True),
    "W5": Target((Bound(VALUE, at_least=5_000), Bound(RATIO, at_least=0.6))),
    "W6 process": at_least(4_000),
    "W6 inline": at_least(15_000),
    "W7": Target((Bound(VALUE, at_least=12_000), Bound(RATIO, at_least=0.8))),
    "W7 end": ratio_at_least(0.8),
    "W7 memory": at_most(64),
    "W7 replay": at_least(200_000),
    "W7 verify": at_least(200_000),
    "W8": ratio_at_least(0.5),
    "memory W1": at_most(60),
    "memory W2": at_most(60),
    "memory W3": at_most(60),
    "disk W2": at_most(400),
}
CLUSTER = {
    "cluster W1": at_most(1.5),
    "cluster W2": at_least(5_000),
    "cluster W3": at_least(1_500),
    "cluster W4": at_most(200),
    "cluster W5": at_least(3_000),
    "cluster memory": at_most(200),
    "cluster second worker": ratio_at_least(1.7),
}
FRONT_END = {
    "check": ratio_at_most(12),
    "version": ratio_at_most(8),
    "check small": ratio_at_most(18),
    "expression": ratio_at_most(1.5),
}
FLAT = ratio_at_most(1.2)
GROWTH_SIZES = {
    "iterations": (1_000, 10_000, 100_000),
    "live executions": (1, 100, 1_000, 10_000),
    "steps": (10, 50, 200),
    "KiB of ctx, steps": (0, 20, 200),
    "KiB of ctx, iterations": (0, 20, 200),
}


def growth_name(what: str, size: int) -> str:
    return f"growth {size:,} {what}"


GROWTH = {growth_name(what, size): FLAT for what, sizes in GROWTH_SIZES.items() for size in sizes[1:]}
GROWTH[growth_name("iterations", 1_000_000)] = FLAT  # measured by W7
TARGETS: dict[str, Target] = EMBEDDED | CLUSTER | FRONT_END | GROWTH


def verdict_of(figure: Figure) -> str:
    target = TARGETS.get(figure.name)
    if target is None or not figure.rounds:
        return UNJUDGED
    return MET if target.is_met(figure) else NOT_MET
