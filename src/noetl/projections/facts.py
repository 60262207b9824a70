"""What a person on call wants to find in the log of an execution, in words and with a level.

The notices of `notices`, which are about steps and tasks, and a few about the execution itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noetl.engine.events import (
    Event,
    ExecutionForked,
    PlaybookExecutionRequested,
    PlaybookRequestEvaluated,
    StepWaiting,
    WorkflowFailing,
    WorkflowFinished,
)
from noetl.projections.lines import ERROR, INFO, WARNING, Fact
from noetl.projections.notices import MAKERS, What
from noetl.projections.progress import Progress
from noetl.projections.sentences import sentence

NOTICE_LEVELS: dict[What, int] = {
    "retry": WARNING,
    "cancelled": WARNING,
    "cancelling": WARNING,
    "compensating": WARNING,
    "recovered": WARNING,
    "failed": ERROR,
    "iteration_failed": ERROR,
    "child_failed": ERROR,
    "incident": ERROR,
}
RESULT_LEVELS = {"success": INFO, "cancelled": WARNING}


def fact_of(progress: Progress, event: Event) -> Fact | None:
    """What is to be said of an event, if anything is. To be asked before `progress` takes it in."""
    own = OWN.get(type(event))
    if own is not None:
        return own(event)
    make = MAKERS.get(type(event))
    notice = make(progress, event) if make else None
    if notice is None:
        return None
    return Fact(NOTICE_LEVELS.get(notice.what, INFO), sentence(notice), notice.step)


def requested(event: PlaybookExecutionRequested) -> Fact:
    caller = f" by execution {event.parent_execution_id}" if event.parent_execution_id else ""
    return Fact(INFO, f"{event.path}@{event.version} was asked for{caller}")


def evaluated(event: PlaybookRequestEvaluated) -> Fact | None:
    return Fact(ERROR, f"the request was refused: {message_of(event.error)}") if event.error else None


def forked(event: ExecutionForked) -> Fact:
    source = f"goes on from event {event.source_seq} of execution {event.source_execution_id}"
    return Fact(INFO, f"{source}, as {event.path}@{event.version}")


def waits(event: StepWaiting) -> Fact:
    return Fact(INFO, "waits for a signal" if event.is_for_signal else "waits until ctx changes", event.step)


def failing(event: WorkflowFailing) -> Fact:
    then = "what runs may finish" if event.is_best_effort else "what runs is cancelled"
    return Fact(ERROR, f"no arc takes this failure, so {then}", event.step)


def finished(event: WorkflowFinished) -> Fact:
    why = f": {message_of(event.error)}" if event.error else ""
    return Fact(RESULT_LEVELS.get(event.result, ERROR), f"ended: {event.result}{why}")


def message_of(error: dict[str, Any]) -> str:
    return str(error.get("message") or error.get("kind") or "unknown")


OWN: dict[type[Event], Callable[[Any], Fact | None]] = {
    PlaybookExecutionRequested: requested,
    PlaybookRequestEvaluated: evaluated,
    ExecutionForked: forked,
    StepWaiting: waits,
    WorkflowFailing: failing,
    WorkflowFinished: finished,
}
