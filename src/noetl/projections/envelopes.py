"""One event as readers see it: the envelope of EV-01 with the ids of EV-02.

Comes in: events with small numbers for ids, in the order of the log. Goes out: mappings ready to be printed as JSON.
The lease is left out: it is what a worker proves itself with, and says nothing to a reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from noetl import ids
from noetl.engine.events import (
    ENTITIES,
    EVENTS,
    ChildDone,
    Emitted,
    Event,
    LoopDone,
    LoopStarted,
    StepCancelled,
    StepDone,
    StepFailed,
    StepScheduled,
    name_of,
    source_of,
    status_of,
    timestamp,
)

# Names outside the six entities of EV-01: what a signal or a recovery changes is the workflow.
OTHER_ENTITIES: dict[type[Event], str] = {ChildDone: "task", Emitted: "step"}
OWN_FIELDS = {kind: tuple(kind.__struct_fields__[len(Event.__struct_fields__) :]) for kind in EVENTS}


def envelope(execution_id: int, seq: int, event: Event, steps_of_runs: Mapping[int, str]) -> dict[str, Any]:
    """An event of a log. Ids stand where they apply; a payload has all fields of its event."""
    entity = entity_of(event)
    known = ids_of(execution_id, event)
    step = getattr(event, "step", "") or steps_of_runs.get(event.run, "")
    return {
        "event_id": ids.event_id(execution_id, seq),
        "execution_id": str(execution_id),
        "timestamp": timestamp(event.ts),
        "source": source_of(event),
        "name": name_of(event),
        "entity_type": entity,
        "entity_id": entity_id(execution_id, event, entity, known, step),
        "status": status_of(event),
        **({"step": step} if step else {}),
        **known,
        "payload": payload_of(event),
    }


def entity_of(event: Event) -> str:
    if type(event) in OTHER_ENTITIES:
        return OTHER_ENTITIES[type(event)]
    return ENTITIES.get(name_of(event).partition(".")[0], "workflow")


def ids_of(execution_id: int, event: Event) -> dict[str, Any]:
    """The ids of EV-02 that this event has."""
    found: dict[str, Any] = {}
    if event.run:
        found["step_run_id"] = ids.step_run_id(execution_id, event.run)
    if event.iter >= 0:
        found["iteration_id"] = ids.iteration_id(execution_id, event.run, event.iter)
    if event.task:
        found["task_run_id"] = ids.task_run_id(execution_id, event.run, event.iter, event.task, event.visit)
        found["task_label"] = event.task
        if event.attempt:
            found["attempt"] = event.attempt
    return found


def entity_id(execution_id: int, event: Event, entity: str, known: Mapping[str, Any], step: str) -> str:
    """What the event is about; a step that a token waits at has no run yet and goes by its name."""
    if entity == "task" and "task_run_id" in known:
        return str(known["task_run_id"])
    if entity == "loop" and "iteration_id" in known:
        return str(known["iteration_id"])
    if event.run:
        return str(known["step_run_id"])
    return step if entity in ("step", "next") and step else str(execution_id)


def payload_of(event: Event) -> dict[str, Any]:
    return {name: plain(getattr(event, name)) for name in OWN_FIELDS[type(event)]}


def plain(value: Any) -> Any:
    """Lists hold patches and fired arcs; whatever else a field holds is plain data already."""
    return msgspec.to_builtins(value) if type(value) is list and value else value


class Envelopes:
    """The envelopes of one log, fed in order: it remembers which step a run that has not ended is of."""

    def __init__(self, execution_id: int) -> None:
        self.execution_id = execution_id
        self.steps: dict[int, str] = {}

    def envelope(self, seq: int, event: Event) -> dict[str, Any]:
        found = envelope(self.execution_id, seq, event, self.steps)
        self.remember(event)
        return found

    def remember(self, event: Event) -> None:
        """Take an event in without making its envelope: what a reader skips still names the runs."""
        if isinstance(event, StepScheduled | LoopStarted):
            self.steps[event.run] = event.step
        elif isinstance(event, StepDone | StepFailed | StepCancelled | LoopDone):
            self.steps.pop(event.run, None)  # what follows about this run names the step itself
