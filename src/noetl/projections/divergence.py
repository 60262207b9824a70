"""Two stories side by side: where they part first, in causal order, and which step runs differ at all (pure).

Runs are paired by the way to them, and what is left by their step and number, so that an inserted step does not make
everything after it another story. They are looked at in the order in which the first execution scheduled them: what
led to a run comes before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from noetl.projections.differences import differences
from noetl.projections.stories import ARCS, END, TASK, Fact, Path, Story, StoryRun

FIELDS = {  # in the order in which one leads to the next
    TASK: ("kind", "output", "error", "rule", "do", "to", "writes"),
    ARCS: ("error", "fired", "arcs", "writes"),
    END: ("status", "error", "output", "writes"),
}

OF_ONE_TEXT = ("rule", "arcs")  # places among others: they mean the same in the same text only
CUT_SHORT = {"cancelled", "running"}


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """One place in which two executions differ; either side may have nothing there."""

    step: str
    runs: tuple[int | None, int | None]  # their numbers in the logs
    iteration: Path = ()
    what: str  # admission, loop, task, child, end, arcs; run: only one has the run
    field: str = ""
    facts: tuple[Fact | None, Fact | None] = (None, None)

    @property
    def values(self) -> tuple[Any, Any]:
        """What differs, on both sides."""
        mine, yours = self.facts
        return self._value(mine), self._value(yours)

    def _value(self, fact: Fact | None) -> Any:
        if fact is None:
            return None
        return fact.value.get(self.field) if self.field else fact.value


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A run of both, or of one only."""

    step: str
    before: StoryRun | None
    after: StoryRun | None
    first: Divergence | None


def compared(before: Story, after: Story) -> list[Pair]:
    """Every run of both, in causal order, with the first difference of each."""
    look = Look(before.sha == after.sha)
    return [
        Pair(step=(one or other).step, before=one, after=other, first=look.first_of(one, other))  # type: ignore[union-attr]
        for one, other in paired(before.runs, after.runs)
    ]


def first_among(pairs: list[Pair]) -> Divergence | None:
    """Where they part first. A run that was cut short, or that only one has, differs because something else did: it
    comes first only where nothing else differs."""
    found = [pair for pair in pairs if pair.first is not None]
    return min(found, key=_weight).first if found else None  # of several alike min gives the first


def _weight(pair: Pair) -> int:
    if pair.before is None or pair.after is None:
        return 2
    return int(bool({pair.before.status, pair.after.status} & CUT_SHORT))


def paired(before: list[StoryRun], after: list[StoryRun]) -> Iterator[tuple[StoryRun | None, StoryRun | None]]:
    by_key = {run.key: run for run in after}
    taken = {run.key for run in before if run.key in by_key}
    left: dict[str, list[StoryRun]] = {}
    for run in after:
        if run.key not in taken:
            left.setdefault(run.step, []).append(run)
    for run in before:
        other = by_key.get(run.key)
        if other is None and left.get(run.step):
            other = left[run.step].pop(0)
        yield run, other
    for rest in left.values():
        for run in rest:
            yield None, run


class Look:
    """How two runs are looked at."""

    def __init__(self, is_same_text: bool) -> None:
        self.is_same_text = is_same_text

    def first_of(self, before: StoryRun | None, after: StoryRun | None) -> Divergence | None:
        """Where two runs part first; None: they tell the same."""
        if before is None or after is None:
            run = before or after
            assert run is not None  # noqa: S101 - a pair has one side at least
            numbers = (before.id if before else None, after.id if after else None)
            fact = run.before[0]
            return Divergence(step=run.step, runs=numbers, what="run", facts=(fact, None) if before else (None, fact))
        paths = sorted(before.threads.keys() | after.threads.keys())
        threads = [(before.threads.get(path, []), after.threads.get(path, []), path) for path in paths]
        every = [(before.before, after.before, ()), *threads, (before.after, after.after, ())]
        found = (self._parting(before, after, *one) for one in every)
        return next((one for one in found if one is not None), None)

    def _parting(
        self, before: StoryRun, after: StoryRun, one: list[Fact], other: list[Fact], path: Path
    ) -> Divergence | None:
        for mine, yours in zip_longest(one, other):
            field = self._differing(mine, yours)
            if field is not None:
                return Divergence(
                    step=before.step,
                    runs=(before.id, after.id),
                    iteration=path,
                    what=(mine or yours).what,
                    field=field,
                    facts=(mine, yours),
                )
        return None

    def _differing(self, mine: Fact | None, yours: Fact | None) -> str | None:
        """The first field that differs; "": they are not about the same; None: they tell the same."""
        if mine is None or yours is None or place_of(mine) != place_of(yours):
            return ""
        for field in FIELDS.get(mine.what, tuple(mine.value)):
            if field in OF_ONE_TEXT and not self.is_same_text:
                continue
            if differences(mine.value.get(field), yours.value.get(field), maximum=1):
                return field
        return None


def place_of(fact: Fact) -> tuple[str, str, int, int]:
    return fact.what, fact.task, fact.visit, fact.attempt
