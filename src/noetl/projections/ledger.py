"""All that pages ask of one log, folded in one go: reading a hundred thousand events is what takes the time.

    events ─→ Progress, Timeline   what `show` and `run` print
            ├→ RunRows              step runs over time
            ├→ Iterations, Attempts  one row each
            ├→ Lines                where something was said
            └→ RunNames             names for envelopes in the middle

Fed in order, from the first event on, and fed on when the log has grown. It knows its size, so that whoever keeps
several can keep few. Which part takes which event in is a table: an event that says nothing new to most parts, and
those are nearly all, costs two calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from noetl.engine import events as facts
from noetl.engine.events import EVENTS, Event
from noetl.projections.attempts import Attempts
from noetl.projections.facts import OWN, fact_of
from noetl.projections.iterations import Iterations
from noetl.projections.lines import Lines
from noetl.projections.notices import MAKERS
from noetl.projections.progress import Progress
from noetl.projections.run_names import RunNames
from noetl.projections.run_rows import RunRows
from noetl.projections.timeline import Timeline
from noetl.projections.words import Words

Take = Callable[[int, Any], None]
ENDS = (facts.StepDone, facts.StepFailed, facts.StepCancelled, facts.LoopDone)
ITERATION_ENDS = (
    *(facts.LoopIterationDone, facts.LoopIterationFailed, facts.LoopIterationCancelled),
    facts.LoopReopened,  # of a fork: it did not end there, nor did what it had under way
)
LEDGER_BYTES = 20_000


class Ledger:
    """See above."""

    def __init__(self, execution_id: int) -> None:
        self.execution_id = execution_id
        self.seq = 0
        self.names, self.messages = Words(), Words()
        self.progress = Progress()
        self.timeline = Timeline(self.progress.runs)
        self.runs = RunRows(self.progress.runs, self.messages)
        self.iterations = Iterations(self.messages)
        self.attempts = Attempts(self.names, self.messages)
        self.lines = Lines(self.names, self.messages)
        self.run_names = RunNames(self.names)
        self._before = self._table(self._taken_before())
        self._after = self._table(self._taken_after())

    @property
    def size_bytes(self) -> int:
        parts = (self.runs, self.iterations, self.attempts, self.lines, self.run_names, self.names, self.messages)
        return LEDGER_BYTES + sum(part.size_bytes for part in parts)

    def apply(self, rows: Iterable[tuple[int, Event]]) -> None:
        """Take events in."""
        before, after, fold = self._before, self._after, self.progress.apply
        for seq, event in rows:
            kind = type(event)
            for take in before[kind]:
                take(seq, event)
            fold(event)
            for take in after[kind]:
                take(seq, event)
            self.seq = seq

    # --- which part takes what ---------------------------------------------------------------------------------------

    @staticmethod
    def _table(pairs: Iterable[tuple[type[Event], Take]]) -> dict[type[Event], tuple[Take, ...]]:
        found: dict[type[Event], tuple[Take, ...]] = dict.fromkeys(EVENTS, ())
        for kind, take in pairs:
            found[kind] += (take,)
        return found

    def _taken_before(self) -> Iterable[tuple[type[Event], Take]]:
        """What is read of an event while the runs that it ends are still there."""
        yield from ((kind, self._tell) for kind in {**MAKERS, **OWN} if kind is not facts.TaskDone)
        yield facts.TaskDone, self._tell_task
        yield from ((kind, self._cut) for kind in ENDS)

    def _taken_after(self) -> Iterable[tuple[type[Event], Take]]:
        yield facts.TaskStarted, self.attempts.begin
        yield facts.TaskStarted, self.iterations.attempt
        yield facts.TaskStarted, self.runs.attempt
        yield facts.TaskDone, self.attempts.end
        yield facts.TaskWaiting, self.attempts.park
        yield facts.ChildDone, self.attempts.unpark
        yield from ((kind, self.attempts.cut_short) for kind in ITERATION_ENDS)
        yield facts.LoopStarted, self.iterations.begin_loop
        yield facts.LoopIterationStarted, self.iterations.begin
        yield facts.LoopIterationDone, self.iterations.done
        yield facts.LoopIterationFailed, self.iterations.failed
        yield facts.LoopIterationCancelled, self.iterations.cancelled
        yield facts.LoopReopened, self.iterations.reopened
        yield facts.WorkflowStarted, self.runs.enter
        yield facts.NextEvaluated, self.runs.route
        yield facts.StepSkipped, self.runs.retire
        yield facts.StepScheduled, self.runs.schedule
        yield from ((kind, self.runs.end) for kind in ENDS)
        yield facts.StepScheduled, self._draw
        yield from ((kind, self.run_names.begin) for kind in (facts.StepScheduled, facts.LoopStarted))
        yield from ((kind, self.run_names.end) for kind in ENDS)

    def _tell(self, seq: int, event: Event) -> None:
        fact = fact_of(self.progress, event)
        if fact is not None:
            self.lines.take(seq, event, fact.step, (), fact)

    def _tell_task(self, seq: int, event: facts.TaskDone) -> None:
        """A task that printed nothing and is not tried again says nothing, and that is nearly all of them."""
        if event.logs or event.do == "retry":
            run = self.progress.runs.run(event.run)
            self.lines.take(seq, event, run.step if run else "", event.logs, fact_of(self.progress, event))

    def _draw(self, _seq: int, event: Event) -> None:
        self.timeline.note(event)

    def _cut(self, seq: int, event: Event) -> None:
        """A run ends, and with it what it has under way, also in the loops inside."""
        places = self.progress.runs.places
        run = self.progress.runs.run(event.run)
        if run is None or run.loop is None:
            self.attempts.cut_short(seq, event)
            return
        is_whole = run.id == event.run
        gone = {number for number, place in places.items() if place.run is run} if is_whole else {event.run}
        self.attempts.cut_runs(gone, seq, event.ts)
        self.iterations.cut_runs(sorted(gone), event.ts)
