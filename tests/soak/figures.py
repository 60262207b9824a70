"""What a soak says at its end, in one line: how long, how much, what was done to it, and what the checkers found."""

import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.cluster.record import KINDS

ROOT = Path(__file__).parents[2]
Report = dict[str, Any]  # what a checker prints


class Disturbances(NamedTuple):
    """How often each kind of thing was done to a deployment."""

    kills: int = 0  # kill -9 of a process
    pauses: int = 0  # SIGSTOP and SIGCONT
    restarts: int = 0  # of PostgreSQL in a cluster; clean ones of the server in an embedded deployment
    outages: int = 0  # of NATS


class Figures(NamedTuple):
    """See above."""

    deployment: str
    minutes: float
    seed: int
    disturbances: Disturbances
    reports: tuple[Report, ...]

    @property
    def faults(self) -> list[str]:
        return [fault for report in self.reports for fault in report["faults"]]

    def line(self) -> str:
        seen = total(report["seen"] for report in self.reports)
        found = total(report["kinds"] for report in self.reports)
        words = [
            f"soak {self.deployment}: {self.minutes:.1f} minutes",
            f"{seen['executions']} executions",
            f"{seen['executions of tools']} tool runs",
            *(f"{count} {name}" for name, count in self.disturbances._asdict().items()),
            f"{seen['events']} events",
            *(f"{found[kind]} {kind}" for kind in KINDS),
            f"seed {self.seed}",
            f"commit {commit()}",
        ]
        return ", ".join(words)


def total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in counts:
        found.update(one)
    return found


def commit() -> str:
    """What was soaked; `+`: with changes to the product that are not committed."""
    is_changed = bool(git("status", "--porcelain", "--", "src"))
    return (git("rev-parse", "--short", "HEAD") or "unknown") + "+" * is_changed


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
