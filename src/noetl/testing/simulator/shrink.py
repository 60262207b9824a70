"""A failing run made smaller: fewer faults, then a smaller world, and again as long as that helps.

A verdict goes in, and the verdict of the smallest case that was found to break the same invariant comes out. Each
candidate is a full run of its own. Faults are left out in halves, quarters and so on down to single ones (ddmin, of
which only the complements are tried); leaving one out lets the run take another course, so that others may not strike
any more: those are left out with it. Then every number of the configuration is lowered as far as it goes.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from noetl.clock import Clock
from noetl.testing.simulator.case import Case, Verdict
from noetl.testing.simulator.tape import Identity

RUNS_MAX = 2_000
SECONDS_MAX = 60.0
Number = int | float

# Fields of the configuration and the least that each can be, those first that make a world much smaller.
LEAST: dict[str, Number] = {
    "executions": 1,
    "size": 1,
    "servers": 1,
    "workers": 1,
    "trouble_seconds": 1.0,
    "pools": 1,
    "slots": 1,
    "users_cancel": 0.0,
    "users_signal": 0.0,
    "users_rerun": 0.0,
    "poison": 0,
    "clock_offset_seconds_max": 0.0,
    "clock_rate_spread": 0.0,
}


class NotRepeated(Exception):
    """The same case did not fail again, so it is no longer what its seed says that it is."""


class Shrunk(msgspec.Struct, frozen=True, kw_only=True):
    """`is_least`: nothing smaller was found; otherwise there was no time to look further."""

    verdict: Verdict
    runs: int
    is_least: bool


class Attempts:
    """Runs within a budget, and the smallest one yet that fails as the first did."""

    def __init__(self, found: Verdict, run: Callable[[Case], Verdict], clock: Clock) -> None:
        if found.violation is None:
            raise ValueError("a case that does not fail cannot be made smaller")
        self.best = found
        self.runs = 0
        self._invariant = found.violation.invariant
        self._run = run
        self._clock = clock
        self._ends_at = clock.monotonic() + SECONDS_MAX

    @property
    def is_spent(self) -> bool:
        return self.runs >= RUNS_MAX or self._clock.monotonic() >= self._ends_at

    def take(self, case: Case) -> bool:
        """Whether that case fails likewise: then it is the best, with the faults that struck in it and no others."""
        if self.is_spent:
            return False
        self.runs += 1
        verdict = self._run(case)
        if verdict.violation is None or verdict.violation.invariant != self._invariant:
            return False
        self.best = msgspec.structs.replace(verdict, case=msgspec.structs.replace(case, only=verdict.strikes))
        return True

    @property
    def faults(self) -> tuple[Identity, ...]:
        return self.best.case.only or ()

    def take_with(self, faults: tuple[Identity, ...]) -> bool:
        return self.take(msgspec.structs.replace(self.best.case, only=faults))

    def number(self, field: str) -> Number:
        found: Number = getattr(self.best.configuration, field)
        return found

    def take_lowered(self, field: str, value: Number) -> bool:
        overrides = {**self.best.case.overrides, field: value}
        return self.take(msgspec.structs.replace(self.best.case, overrides=overrides))


def shrunk(found: Verdict, run: Callable[[Case], Verdict], clock: Clock) -> Shrunk:
    """The smallest case that fails as this one did. Raises NotRepeated."""
    attempts = Attempts(found, run, clock)
    if not attempts.take_with(found.strikes):
        raise NotRepeated(f"seed {found.case.seed} broke {found.violation}, and did not do so again")
    before = None
    while before != attempts.best.case and not attempts.is_spent:
        before = attempts.best.case
        leave_out_faults(attempts)
        lower_numbers(attempts)
    return Shrunk(verdict=attempts.best, runs=attempts.runs, is_least=not attempts.is_spent)


def leave_out_faults(attempts: Attempts) -> None:
    if not attempts.faults or attempts.take_with(()):
        return
    size = max(1, len(attempts.faults) // 2)
    while size and not attempts.is_spent:
        were = len(attempts.faults)
        leave_out_parts(attempts, size)
        is_worth_repeating = size == 1 and len(attempts.faults) < were
        size = 1 if is_worth_repeating else size // 2


def leave_out_parts(attempts: Attempts, size: int) -> None:
    """Try without each run of so many faults; where it goes without, they stay out."""
    start = 0
    while start < len(faults := attempts.faults) and not attempts.is_spent:
        if not attempts.take_with(faults[:start] + faults[start + size :]):
            start += size


def lower_numbers(attempts: Attempts) -> None:
    for field, least in LEAST.items():
        while any(attempts.take_lowered(field, lower) for lower in lower_values(attempts.number(field), least)):
            pass  # once more, from where it is now


def lower_values(value: Number, least: Number) -> list[Number]:
    """What to try instead of a number: the least, then half of the way there, then a single step."""
    candidates = (least, least + (value - least) // 2, value - 1)
    return [one for one in dict.fromkeys(candidates) if least <= one < value]
