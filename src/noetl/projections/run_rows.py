"""Every step run of an execution as one small row, and the chain of them that decided when all was over.

Comes in: the events of one log, in order, after `Runs` has taken each in. A run under way is read where `Runs` keeps
it; one that has ended is kept without what only its tasks know. Bounded: of more than RUNS_MAX the first are kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from noetl.engine.events import (
    Event,
    NextEvaluated,
    StepScheduled,
    StepSkipped,
    TaskStarted,
    WorkflowStarted,
)
from noetl.projections.runs import Counts, Run, Runs
from noetl.projections.words import Words

RUNS_MAX = 100_000
ROW_BYTES = 400


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One step run. Times are seconds since 1970; its error is a number of `Words`."""

    id: int
    step: str
    status: str
    scheduled_at: float
    started_at: float | None
    ended_at: float | None
    loop: Counts | None
    attempts: int
    retries: int
    error: int
    compensates: int
    sources: tuple[int, ...]  # the runs whose tokens it took


class Begun(msgspec.Struct):
    """What is known of a run under way besides `Run`."""

    run: Run
    sources: tuple[int, ...]
    attempts: int = 0


class Critical(NamedTuple):
    """The critical path: its runs, and how long they took together, from when each was scheduled until it ended.

    To wait for a worker is part of what decided the end.
    """

    runs: frozenset[int] = frozenset()
    seconds: float = 0.0


class RunRows:
    """The step runs of one execution, in the order in which they were scheduled."""

    def __init__(self, runs: Runs, messages: Words) -> None:
        self.is_cut = False
        self._runs = runs
        self._messages = messages
        self._rows: list[RunRow | Begun] = []
        self._places: dict[int, int] = {}  # of runs under way: where they stand
        self._tokens: dict[int, int] = {}  # on their way: the run each came from; 0: the request
        self._last_token = 0
        self._critical: Critical | None = None

    @property
    def size_bytes(self) -> int:
        return ROW_BYTES * len(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    # --- taking in ---------------------------------------------------------------------------------------------------

    def enter(self, _seq: int, event: WorkflowStarted) -> None:
        self._tokens[event.token], self._last_token = 0, event.token

    def route(self, _seq: int, event: NextEvaluated) -> None:
        for fired in event.fired:
            if not fired.is_duplicate:
                self._last_token = fired.token or self._last_token + 1
                self._tokens[self._last_token] = event.run

    def retire(self, _seq: int, event: StepSkipped) -> None:
        self._tokens.pop(event.token, None)

    def schedule(self, _seq: int, event: StepScheduled) -> None:
        taken = dict.fromkeys(self._tokens.pop(token, 0) for token in event.tokens)
        run = self._runs.run(event.run)
        if run is None or len(self._rows) >= RUNS_MAX:
            self.is_cut = True
            return
        self._places[event.run] = len(self._rows)
        self._rows.append(Begun(run, tuple(source for source in taken if source)))

    def attempt(self, _seq: int, event: TaskStarted) -> None:
        run = self._runs.run(event.run)
        begun = self._rows[self._places[run.id]] if run is not None and run.id in self._places else None
        if isinstance(begun, Begun):
            begun.attempts += 1

    def end(self, _seq: int, event: Event) -> None:
        """A step run has ended; of an inner loop nothing is known here."""
        place = self._places.pop(event.run, None)
        if place is not None:
            begun = self._rows[place]
            self._rows[place] = self._row(begun) if isinstance(begun, Begun) else begun

    # --- giving out --------------------------------------------------------------------------------------------------

    def after(self, run: int) -> Iterator[RunRow]:
        """Those whose number is above one."""
        first = bisect_right(self._rows, run, key=number_of)
        for place in range(first, len(self._rows)):
            found = self._rows[place]
            yield self._row(found) if isinstance(found, Begun) else found

    def critical(self) -> Critical:
        """The runs that decided when the execution ended; to be asked for when it has."""
        if self._critical is None:
            chain = list(critical_path(list(self.after(0))))
            seconds = sum(ended_at(row) - row.scheduled_at for row in chain)
            self._critical = Critical(frozenset(row.id for row in chain), seconds)
        return self._critical

    def _row(self, begun: Begun) -> RunRow:
        run = begun.run
        return RunRow(
            id=run.id,
            step=run.step,
            status=run.status,
            scheduled_at=run.scheduled_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            loop=run.loop,
            attempts=begun.attempts,
            retries=run.retries,
            error=self._messages.message(run.error) if run.status == "failed" else 0,
            compensates=run.compensates,
            sources=begun.sources,
        )


def number_of(row: RunRow | Begun) -> int:
    return row.id if isinstance(row, RunRow) else row.run.id


def critical_path(rows: list[RunRow]) -> Iterator[RunRow]:
    """From the run that ended last back to the first: before each, of those that it waited for the last to end."""
    by_id = {row.id: row for row in rows}
    found = max(rows, key=lambda row: (ended_at(row), row.id), default=None)
    while found is not None:
        yield found
        number = found.id
        sources = [by_id[one] for one in found.sources if one in by_id and one < number]
        if sources:
            found = max(sources, key=lambda row: (ended_at(row), row.id))
        else:
            found = undone_before(found, rows) if found.compensates else None


def undone_before(row: RunRow, rows: list[RunRow]) -> RunRow | None:
    """What a run that undoes another waited for: the one that was undone before it, else all that ran."""
    place = bisect_right(rows, row.id - 1, key=number_of) - 1
    if place >= 0 and rows[place].compensates:
        return rows[place]
    return max(rows[: place + 1], key=lambda one: (ended_at(one), one.id), default=None)


def ended_at(row: RunRow) -> float:
    return row.scheduled_at if row.ended_at is None else row.ended_at
