"""Legal moves, as tables. What is not here is a fault of ours, and stops that one execution."""

from __future__ import annotations

from noetl.engine import events as facts
from noetl.engine.events import Event, name_of
from noetl.engine.state import ENDED, SCHEDULED, STARTED, Run, State
from noetl.errors import BrokenInvariant

RUN_MOVES: dict[tuple[str, type[Event]], str] = {
    (SCHEDULED, facts.StepStarted): STARTED,
    (SCHEDULED, facts.StepFailed): ENDED,  # its collection cannot be made, or its deadline passed in the queue
    (SCHEDULED, facts.StepCancelled): ENDED,
    (STARTED, facts.LoopStarted): STARTED,
    (STARTED, facts.StepDone): ENDED,
    (STARTED, facts.StepFailed): ENDED,
    (STARTED, facts.StepCancelled): ENDED,
    (STARTED, facts.LoopDone): ENDED,
    (STARTED, facts.LoopReopened): STARTED,
    (ENDED, facts.StepCancelled): ENDED,  # a planner whose plan is being checked
    (ENDED, facts.NextEvaluated): ENDED,
}
AFTER_FINISH = (facts.PlaybookProcessed,)


def move(run: Run, event: Event) -> str:
    """The phase of a run after an event."""
    phase = RUN_MOVES.get((run.phase, type(event)))
    if phase is None:
        raise BrokenInvariant(
            "I4", f"run {run.id} of step {run.step} is {run.phase}, so {name_of(event)} cannot follow"
        )
    return phase


def check_open(state: State, event: Event) -> None:
    """I11: nothing follows a terminal event."""
    if state.is_ended or (state.is_finished and not isinstance(event, AFTER_FINISH)):
        raise BrokenInvariant("I11", f"execution {state.execution_id} has ended, so {name_of(event)} cannot follow")
