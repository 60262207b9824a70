"""Rounds of a measurement on a machine that others use too.

Before a round the machine is given a moment to become quiet; during it the processor time of others is measured.
Rounds that others disturbed are repeated, three times as many at most, and the least disturbed ones count. A yardstick
is taken in the same round as what it is held against.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from bench import machine
from bench.report import Figure

FOREIGN_CORES_MAX = 0.25
TAKEN_PER_ROUND_MAX = 3
QUIET_CORES_MAX = 0.15
QUIET_LOOK_SECONDS = 0.2
QUIET_WAIT_SECONDS_MAX = 3.0
TICKS_UNSURE = 2  # the kernel counts processor time in ticks, of which a short look sees few

T = TypeVar("T")


class Taken(NamedTuple, Generic[T]):
    """One round, and how many cores others used meanwhile."""

    found: T
    foreign_cores: float


class Rounds(NamedTuple, Generic[T]):
    """The rounds that count."""

    found: list[T]
    taken: int
    clean: int

    def figure(
        self,
        name: str,
        title: str,
        unit: str,
        value: Callable[[T], float],
        *,
        beside: str = "",
        beside_value: Callable[[T], float] | None = None,
        cpu_ms_per_item: float | None = None,
        peak_mebibytes: float | None = None,
    ) -> Figure:
        return Figure(
            name=name,
            title=title,
            unit=unit,
            rounds=[value(one) for one in self.found],
            rounds_taken=self.taken,
            rounds_clean=self.clean,
            beside=beside,
            beside_rounds=[beside_value(one) for one in self.found] if beside_value else [],
            cpu_ms_per_item=cpu_ms_per_item,
            peak_mebibytes=peak_mebibytes,
        )


def repeated(once: Callable[[], T], rounds: int) -> Rounds[T]:
    """So many rounds; a single one is a trial and is not repeated."""
    taken: list[Taken[T]] = []
    while not is_enough(taken, rounds):
        taken.append(_watched(once))
    return counting(taken, rounds)


def is_enough(taken: list[Taken[T]], rounds: int) -> bool:
    most = 1 if rounds == 1 else rounds * TAKEN_PER_ROUND_MAX
    return len(taken) >= most or count_clean(taken) >= rounds


def count_clean(taken: list[Taken[T]]) -> int:
    return sum(one.foreign_cores <= FOREIGN_CORES_MAX for one in taken)


def counting(taken: list[Taken[T]], rounds: int) -> Rounds[T]:
    """The least disturbed ones, in the order in which they were taken."""
    numbers = sorted(range(len(taken)), key=lambda number: taken[number].foreign_cores)[:rounds]
    return Rounds([taken[number].found for number in sorted(numbers)], len(taken), count_clean(taken))


def _watched(once: Callable[[], T]) -> Taken[T]:
    _await_quiet()
    busy, ours, began = machine.busy_seconds(), _own_cpu_seconds(), time.perf_counter()
    found = once()
    seconds = time.perf_counter() - began
    foreign = machine.busy_seconds() - busy - (_own_cpu_seconds() - ours)
    return Taken(found, max(0.0, foreign / seconds))


def _await_quiet() -> None:
    deadline = time.monotonic() + QUIET_WAIT_SECONDS_MAX
    unsure = TICKS_UNSURE / machine.TICKS_PER_SECOND
    while time.monotonic() < deadline:
        busy, ours = machine.busy_seconds(), _own_cpu_seconds()
        time.sleep(QUIET_LOOK_SECONDS)
        foreign = machine.busy_seconds() - busy - (_own_cpu_seconds() - ours)
        if foreign <= QUIET_CORES_MAX * QUIET_LOOK_SECONDS + unsure:
            return


def _own_cpu_seconds() -> float:
    """Of this process and all it has started, services included."""
    return machine.cpu_seconds(machine.tree(os.getpid()))


def timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def compare(
    name: str, title: str, run: Callable[[], object], beside: str, other: Callable[[], object], rounds: int
) -> Figure:
    """Milliseconds of two things, taken in turns, after each has run once."""
    run(), other()
    taken = repeated(lambda: (timed(run) * 1000, timed(other) * 1000), rounds)
    return taken.figure(name, title, "ms", lambda pair: pair[0], beside=beside, beside_value=lambda pair: pair[1])
