"""Many seeds, over all cores: what each process found is added up here. Nothing is decided here."""

import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from noetl.testing.simulator.case import Case, Verdict
from noetl.testing.simulator.runs import run

CASES_PER_PARCEL = 10


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A case that broke something."""

    case: Case
    invariant: str
    message: str


class Tally(msgspec.Struct, kw_only=True):
    """What a number of cases came to."""

    seeds: Counter[str] = msgspec.field(default_factory=Counter)  # by shape
    faults: int = 0
    commits: int = 0
    events: int = 0
    turns: int = 0
    seconds: float = 0.0  # of virtual time
    coverage: dict[str, Counter[str]] = {}
    failures: list[Failure] = []

    def add(self, other: "Tally") -> None:
        self.seeds += other.seeds
        self.faults += other.faults
        self.commits += other.commits
        self.events += other.events
        self.turns += other.turns
        self.seconds += other.seconds
        for name, counts in other.coverage.items():
            self.coverage.setdefault(name, Counter()).update(counts)
        self.failures += other.failures

    def note(self, verdict: Verdict) -> None:
        self.seeds[verdict.case.shape] += 1
        self.faults += verdict.faults
        self.commits += verdict.commits
        self.events += verdict.events
        self.turns += verdict.turns
        self.seconds += verdict.seconds
        for name, counts in verdict.coverage.items():
            self.coverage.setdefault(name, Counter()).update(counts)
        if (found := verdict.violation) is not None:
            self.failures.append(Failure(case=verdict.case, invariant=found.invariant, message=found.message))


def parcel(cases: list[Case]) -> Tally:
    """Run some cases, in whichever process this is."""
    tally = Tally(coverage={}, failures=[])
    for case in cases:
        tally.note(run(case))
    return tally


def parcels(cases: Iterable[Case]) -> Iterator[list[Case]]:
    pending: list[Case] = []
    for case in cases:
        pending.append(case)
        if len(pending) == CASES_PER_PARCEL:
            yield pending
            pending = []
    if pending:
        yield pending


@contextmanager
def processes(count: int) -> Iterator[Any]:
    """So many processes, each begun anew: nothing of this one reaches them."""
    pool = multiprocessing.get_context("spawn").Pool(count)
    try:
        yield pool
        pool.close()
    finally:
        pool.terminate()
        pool.join()


def flown(cases: Iterable[Case], jobs: int) -> Tally:
    """All of the cases, in so many processes."""
    whole = Tally(coverage={}, failures=[])
    with processes(jobs) as pool:
        for tally in pool.imap_unordered(parcel, parcels(cases)):
            whole.add(tally)
    return whole
