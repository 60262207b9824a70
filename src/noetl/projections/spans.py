"""The spans of an execution's trace: one for itself, one for each step run, one for each task attempt.

Comes in: the events of one log, in order. Goes out: each span when the event that ends it comes. Ids follow from what a
span is of (`noetl.traceparent`), so two servers that see the same event draw the same span. Held in memory: what is
under way. No payload becomes an attribute: names, numbers, and the message of an error, as it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from noetl import ids
from noetl.engine.events import (
    ERROR,
    Event,
    LoopDone,
    LoopStarted,
    PlaybookExecutionRequested,
    PlaybookProcessed,
    StepCancelled,
    StepDone,
    StepFailed,
    StepScheduled,
    TaskDone,
    TaskStarted,
    WorkflowFinished,
    status_of,
)
from noetl.traceparent import attempt_span_id, is_span_id, is_trace_id, span_id

MESSAGE_CHARACTERS_MAX = 512
ENDS = (PlaybookProcessed, StepDone, LoopDone, StepFailed, StepCancelled, TaskDone)  # each makes one span at most
Value = str | int | float | bool


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of work that has ended."""

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str
    started_at: float  # seconds since 1970
    ended_at: float
    attributes: dict[str, Value] = {}
    error: str | None = None  # its message; None: it went well


class Open(msgspec.Struct):
    """A step run under way."""

    step: str
    since: float
    iterations: int | None = None


class Spans:
    """The spans of one log."""

    def __init__(self, execution_id: int) -> None:
        self.execution_id = execution_id
        self.trace_id = ""
        self.seq = 0  # of the last event that was taken in
        self.is_over = False
        self._requested: PlaybookExecutionRequested | None = None
        self._error: str | None = None
        self._runs: dict[int, Open] = {}
        self._steps: dict[int, int] = {}  # the run of an inner loop: the step run that it is part of
        self._tasks: dict[tuple[int, int], TaskStarted] = {}  # a pipeline has one at once

    def apply(self, seq: int, event: Event) -> Span | None:
        """Take one event in; gives the span that it ends."""
        self.seq = seq
        if type(event) in OPENINGS:
            OPENINGS[type(event)](self, event)
            return None
        if not isinstance(event, ENDS) or not self.trace_id:
            return None
        if isinstance(event, TaskDone):
            return self._attempt(event)
        return self._execution(event) if isinstance(event, PlaybookProcessed) else self._step_run(event)

    # --- what begins -------------------------------------------------------------------------------------------------

    def _begin(self, event: PlaybookExecutionRequested) -> None:
        self._requested = event
        self.trace_id = event.trace_id if is_trace_id(event.trace_id) else ""  # an older log may have none

    def _schedule(self, event: StepScheduled) -> None:
        self._runs[event.run] = Open(event.step, event.ts)

    def _loop(self, event: LoopStarted) -> None:
        if event.parent_run:
            self._steps[event.run] = self._steps.get(event.parent_run, event.parent_run)
        elif event.run in self._runs:
            self._runs[event.run].iterations = event.count

    def _start_task(self, event: TaskStarted) -> None:
        self._tasks[event.run, event.iter] = event

    def _finish(self, event: WorkflowFinished) -> None:
        self._error = message_of(event.error)

    # --- what ends ---------------------------------------------------------------------------------------------------

    def _execution(self, event: PlaybookProcessed) -> Span:
        self.is_over = True
        requested = self._requested
        path = requested.path if requested else ""
        return Span(
            trace_id=self.trace_id,
            span_id=self._span_id(str(self.execution_id)),
            parent_id=requested.parent_span_id if requested and is_span_id(requested.parent_span_id) else "",
            name=path or f"execution {self.execution_id}",
            started_at=requested.ts if requested else event.ts,
            ended_at=event.ts,
            attributes={
                "noetl.execution_id": str(self.execution_id),
                "noetl.path": path,
                "noetl.version": requested.version if requested else 0,
                "noetl.status": event.result,
            },
            error=None if event.result == "success" else self._error or event.result,
        )

    def _step_run(self, event: Any) -> Span | None:
        if self._steps.pop(event.run, None) is not None:  # an inner loop, which is part of a step run
            return None
        run = self._runs.pop(event.run, None) or Open(event.step, event.ts)
        self._forget_below(event.run)
        attributes = self._attributes(event, run.step)
        if run.iterations is not None:
            attributes["noetl.iterations"] = run.iterations
        error = getattr(event, "error", None)
        return Span(
            trace_id=self.trace_id,
            span_id=self._span_id(ids.step_run_id(self.execution_id, event.run)),
            parent_id=self._span_id(str(self.execution_id)),
            name=run.step,
            started_at=run.since,
            ended_at=event.ts,
            attributes=attributes,
            error=None if isinstance(event, StepDone | LoopDone) else message_of(error) or "cancelled",
        )

    def _forget_below(self, run: int) -> None:
        """A step run that was cut short leaves tasks and inner loops open."""
        inner = [number for number, step_run in self._steps.items() if step_run == run]
        for number in inner:
            del self._steps[number]
        gone = {run, *inner}
        for key in [key for key in self._tasks if key[0] in gone]:
            del self._tasks[key]

    def _attempt(self, event: TaskDone) -> Span:
        began = self._tasks.pop((event.run, event.iter), None)
        step_run = self._steps.get(event.run, event.run)
        step = self._runs[step_run].step if step_run in self._runs else ""
        task_run = ids.task_run_id(self.execution_id, event.run, event.iter, event.task, event.visit)
        attributes = self._attributes(event, step)
        attributes |= {"noetl.task": event.task, "noetl.attempt": event.attempt, "noetl.do": event.do}
        if event.iter >= 0:
            attributes["noetl.iteration"] = event.iter
        if began is not None:
            attributes["noetl.kind"] = began.kind
        return Span(
            trace_id=self.trace_id,
            span_id=attempt_span_id(self.trace_id, task_run, event.attempt),
            parent_id=self._span_id(ids.step_run_id(self.execution_id, step_run)),
            name=event.task,
            started_at=began.ts if began is not None else started_at(event),
            ended_at=event.ts,
            attributes=attributes,
            error=error_of(event),
        )

    def _attributes(self, event: Event, step: str) -> dict[str, Value]:
        return {"noetl.execution_id": str(self.execution_id), "noetl.step": step, "noetl.run": event.run}

    def _span_id(self, subject: str) -> str:
        return span_id(self.trace_id, subject)


OPENINGS: dict[type[Event], Callable[[Spans, Any], None]] = {
    PlaybookExecutionRequested: Spans._begin,
    StepScheduled: Spans._schedule,
    LoopStarted: Spans._loop,
    TaskStarted: Spans._start_task,
    WorkflowFinished: Spans._finish,
}


def started_at(event: TaskDone) -> float:
    """When an attempt began whose beginning was not seen: its envelope says so too."""
    found = (event.output or {}).get("meta", {}).get("ts")
    return found if isinstance(found, int | float) else event.ts


def error_of(event: TaskDone) -> str | None:
    if status_of(event) != ERROR:
        return None
    return message_of(event.error or (event.output or {}).get("error")) or "failed"


def message_of(error: dict[str, Any] | None) -> str | None:
    """As it is recorded, free of secrets, and not at any length."""
    if not error:
        return None
    return f"{error.get('kind', '')}: {error.get('message', '')}"[:MESSAGE_CHARACTERS_MAX]


def spans_of(spans: Spans, first_seq: int, events: list[Event]) -> Iterator[Span]:
    """Those that a share of a log ends."""
    for seq, event in enumerate(events, first_seq):
        found = spans.apply(seq, event)
        if found is not None:
            yield found
