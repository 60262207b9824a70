"""The moves that a log may show, as tables of our own: what is not here is illegal, and what is here must be seen.

The engine has tables of its own (engine/lifecycle.py); these are written from the protocol and the specification, so
that a move which the engine wrongly allows is still found. `EDGES` names all of them for the coverage table.
"""

from __future__ import annotations

from collections import Counter

from noetl.engine import events as facts
from noetl.engine.events import NAMES, Event

Phase = str
Table = dict[tuple[Phase, type[Event]], Phase]


class Moves:
    """The moves of one kind of thing."""

    def __init__(self, thing: str, table: Table) -> None:
        self._moves = {
            place: (after, f"{thing} {place[0]}: {NAMES[place[1]]}") for place, after in table.items()
        }  # and how the coverage table calls it

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self._moves.values())

    def after(self, phase: Phase, event: Event, seen: Counter[str]) -> Phase | None:
        """The phase after an event; None: that move is not legal."""
        found = self._moves.get((phase, type(event)))
        if found is None:
            return None
        seen[found[1]] += 1
        return found[0]


EXECUTION = Moves(
    "execution",
    {
        ("new", facts.PlaybookExecutionRequested): "requested",
        ("requested", facts.PlaybookRequestEvaluated): "evaluated",
        ("evaluated", facts.WorkflowStarted): "running",
        ("running", facts.WorkflowFailing): "failing",
        ("running", facts.PlaybookCancelRequested): "cancelled",
        ("failing", facts.PlaybookCancelRequested): "cancelled",
        ("compensating", facts.PlaybookCancelRequested): "compensating",
        ("failing", facts.WorkflowCompensating): "compensating",
        ("cancelled", facts.WorkflowCompensating): "compensating",
        ("running", facts.WorkflowFinished): "finished",
        ("failing", facts.WorkflowFinished): "finished",
        ("cancelled", facts.WorkflowFinished): "finished",
        ("compensating", facts.WorkflowFinished): "finished",
        ("finished", facts.PlaybookProcessed): "ended",
    },
)
INCIDENT = Moves(
    "incident",
    {
        ("none", facts.EngineError): "open",
        ("none", facts.ExecutionRecovered): "none",
        ("open", facts.ExecutionRecovered): "none",
        ("open", facts.PlaybookCancelRequested): "none",
    },
)
TOKEN = Moves(
    "token",
    {
        ("new", facts.StepScheduled): "gone",
        ("new", facts.StepWaiting): "waiting",
        ("new", facts.StepSkipped): "gone",
        ("waiting", facts.StepScheduled): "gone",
        ("waiting", facts.StepSkipped): "gone",
    },
)
RUN = Moves(
    "step run",
    {
        ("new", facts.StepScheduled): "scheduled",
        ("scheduled", facts.StepStarted): "started",
        ("scheduled", facts.StepFailed): "ended",
        ("scheduled", facts.StepCancelled): "gone",
        ("started", facts.LoopStarted): "looping",
        ("started", facts.StepDone): "ended",
        ("started", facts.StepFailed): "ended",
        ("started", facts.StepCancelled): "gone",
        ("looping", facts.LoopDone): "ended",
        ("looping", facts.LoopReopened): "looping",
        ("looping", facts.StepFailed): "ended",
        ("looping", facts.StepCancelled): "gone",
        ("ended", facts.NextEvaluated): "gone",
    },
)
PLANNER = Moves(
    "planner",
    {
        ("ended", facts.WorkflowExtended): "planned",
        ("ended", facts.StepCancelled): "gone",
        ("planned", facts.NextEvaluated): "gone",
    },
)
UNDOING = Moves(
    "compensation",
    {
        ("new", facts.StepScheduled): "scheduled",
        ("scheduled", facts.StepStarted): "started",
        ("scheduled", facts.StepFailed): "gone",
        ("started", facts.StepDone): "gone",
        ("started", facts.StepFailed): "gone",
    },
)
INNER_LOOP = Moves("inner loop", {("new", facts.LoopStarted): "looping", ("looping", facts.LoopDone): "ended"})
REOPENED = Moves("inner loop", {("looping", facts.LoopReopened): "looping"})
ITERATION = Moves(
    "iteration",
    {
        ("new", facts.LoopIterationStarted): "started",
        ("started", facts.LoopIterationDone): "gone",
        ("started", facts.LoopIterationFailed): "gone",
        ("started", facts.LoopIterationCancelled): "gone",
    },
)
PUT_BACK = Moves("put back", {("started", facts.LoopReopened): "new"})
JOB = Moves(
    "job",
    {
        ("idle", facts.TaskStarted): "open",
        ("idle", facts.TaskWaiting): "idle",
        ("open", facts.TaskDone): "idle",
        ("open", facts.TaskWaiting): "open",
        ("open", facts.ChildDone): "open",
    },
)
DIRECTIVES = ("continue", "retry", "jump", "break", "fail", "skip")
JOB_ENDS: dict[type[Event], tuple[str, ...]] = {
    kind: tuple(f"job {phase}: {NAMES[kind]}" for phase in ("idle", "open"))
    for kind in (facts.StepFailed, facts.StepCancelled, facts.LoopIterationFailed, facts.LoopIterationCancelled)
}

ALL = (
    EXECUTION,
    INCIDENT,
    TOKEN,
    RUN,
    PLANNER,
    UNDOING,
    INNER_LOOP,
    REOPENED,
    ITERATION,
    PUT_BACK,
    JOB,
)
EDGES: tuple[str, ...] = (
    *(name for moves in ALL for name in moves.names),
    *(f"task.done: {directive}" for directive in DIRECTIVES),
    *(name for names in JOB_ENDS.values() for name in names),
)
