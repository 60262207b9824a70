"""Worlds whose configuration is not drawn but chosen, for what drawn ones seldom come to: each leads into one corner,
with fresh seeds like all others. Faults that are on everywhere hide each other; here only those of the corner are."""

from collections.abc import Iterator
from typing import Any

from noetl.testing.simulator.case import SEEDS_PER_BASE, SHAPES, Case

SHARE = 40  # one of so many seeds goes to each corner, too …
WORLDS_MAX = 75  # … and no more than these
FIRST = 50_000  # their numbers, so that they are no drawn world's
CORNERS: dict[str, dict[str, Any]] = {
    "nothing goes wrong": {"lease_seconds": 3.0, "poison": 0, "users_cancel": 0.0, "rates": {}},
    "incidents that people give up": {
        "users_cancel": 0.9,
        "executions": 8,
        "size": 2,
        "rates": {"engine.raises": 0.5},
    },
    "incidents that people go on with": {
        "users_cancel": 0.0,
        "executions": 3,
        "size": 5,
        "rates": {"engine.raises": 0.3, "server.kill": 0.1},
    },
    "nothing but workers that die": {
        "trouble_seconds": 45.0,
        "lease_seconds": 3.0,
        "executions": 4,
        "size": 4,
        "slots": 8,
        "workers": 3,
        "users_cancel": 0.0,
        "rates": {"worker.kill": 1.8},
    },
    "tasks that kill whoever runs them": {
        "users_cancel": 0.9,
        "executions": 8,
        "size": 4,
        "slots": 8,
        "lease_seconds": 3.0,
        "poison": 1,
        "rates": {},
    },
    "loops that are gone on with": {
        "users_rerun": 0.9,
        "users_cancel": 0.0,
        "executions": 3,
        "size": 6,
        "slots": 8,
        "trouble_seconds": 40.0,
        "poison": 0,
        "rates": {"tool.hangs": 0.15, "results.put_fails": 0.3},
    },
    "results that cannot be read": {
        "size": 8,
        "rates": {"results.wrong_bytes": 0.5, "results.get_fails": 0.3, "worker.kill": 0.3, "server.kill": 0.3},
    },
    "unusual turns of our own code": {"executions": 4, "size": 4, "rates": {"buggify": 0.9}},
}


def cases(base: int, seeds: int) -> Iterator[Case]:
    """The same number of each corner, in both shapes."""
    for number in range(min(seeds // SHARE, WORLDS_MAX)):
        for overrides in CORNERS.values():
            for shape in SHAPES:
                yield Case(seed=base * SEEDS_PER_BASE + FIRST + number, shape=shape, overrides=overrides)
