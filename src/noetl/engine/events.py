"""Facts: the events of an execution's log, one frozen class each.

The server writes what it decided, the worker what it did (`WORKER_EVENTS`). An event holds everything that its
consequences need, so that `apply` folds a log without a playbook and without evaluating anything (EV-05). Ids are small
numbers here (`run`, `iter`, `visit`); `projections/envelopes.py` makes the envelope of
EV-01 and EV-02 from them.

Fields left at their default are not written. A field's meaning never changes; a new meaning is a new field.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import msgspec

Data = Any  # plain JSON data
Envelope = dict[str, Any]  # of a task or a step: engine/output.py


class Patch(msgspec.Struct, frozen=True, gc=False):
    """One write: `ctx.a.b`, `step.x`, `iter.page`; the value replaces what was there."""

    path: str
    value: Data = None


NO_DELAY = 0.0  # the object itself: what is identical to its default is not written


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="name"):
    """What every event has. `run` 0: it speaks of the whole execution; `iter` -1: of no iteration."""

    ts: float
    run: int = 0
    iter: int = -1
    task: str = ""
    visit: int = 0
    attempt: int = 0
    lease: int = 0  # of a worker's event: the lease it was reported under


# --- the execution ---------------------------------------------------------------------------------------------------


class PlaybookExecutionRequested(Event, frozen=True, kw_only=True, tag="playbook.execution.requested"):
    path: str
    version: int
    sha: str
    payload: dict[str, Data] = {}
    payload_ref: dict[str, Data] | None = None  # a large payload is kept outside the log
    parent_execution_id: int | None = None
    parent_key: str | None = None  # the task run that waits for it
    depth: int = 0  # of children
    trace_id: str = ""
    parent_span_id: str = ""  # whose work it is part of: the task attempt that called it, or a span of the caller's
    rerun_of: int = 0  # the execution that it does again, from the beginning; one that keeps its log is forked


class PlaybookRequestEvaluated(Event, frozen=True, kw_only=True, tag="playbook.request.evaluated"):
    """The payload merged over the workload's defaults (SC-01), or why the request was refused."""

    workload: dict[str, Data] = {}
    ref: dict[str, Data] | None = None  # a large workload is kept outside the log
    error: dict[str, Data] | None = None


class WorkflowStarted(Event, frozen=True, kw_only=True, tag="workflow.started"):
    entry: str
    token: int  # the first


class WorkflowFinished(Event, frozen=True, kw_only=True, tag="workflow.finished"):
    result: str  # success, failed, cancelled
    output: Envelope | None = None
    error: dict[str, Data] | None = None


class PlaybookProcessed(Event, frozen=True, kw_only=True, tag="playbook.processed"):
    """The last event of every log."""

    result: str


class PlaybookCancelRequested(Event, frozen=True, kw_only=True, tag="playbook.cancel.requested"):
    reason: str = ""


class WorkflowFailing(Event, frozen=True, kw_only=True, tag="workflow.failing"):
    """A failure that no arc handled; what runs is cancelled, or finishes under best_effort (RT-05)."""

    step: str
    error: dict[str, Data]
    is_best_effort: bool = False


class WorkflowExtended(Event, frozen=True, kw_only=True, tag="workflow.extended"):
    """Steps that a planner returned, checked and added to this execution's graph (RT-08)."""

    steps: list[Data]


class WorkflowCompensating(Event, frozen=True, kw_only=True, tag="workflow.compensating"):
    """The steps that will be undone, last first (ST-12)."""

    runs: list[int]


class SignalReceived(Event, frozen=True, kw_only=True, tag="signal.received"):
    patches: list[Patch]


class ExecutionRecovered(Event, frozen=True, kw_only=True, tag="execution.recovered"):
    """A process took the execution up again."""


class ExecutionForked(Event, frozen=True, kw_only=True, tag="execution.forked"):
    """The log so far is that of another execution, event by event; from here on this one goes its own way."""

    source_execution_id: int
    source_seq: int
    path: str
    version: int
    sha: str
    trace_id: str = ""
    workload: dict[str, Data] | None = None  # None: that of the source
    ref: dict[str, Data] | None = None  # a large workload is kept outside the log
    patches: list[Patch] = []
    is_clock_anew: bool = False  # what is under way may take its timeout_s and deadline_s from here on


class EngineError(Event, frozen=True, kw_only=True, tag="engine.error"):
    """A fault of ours: this execution waits as an incident, no other is touched."""

    message: str


# --- tokens, steps, arcs ---------------------------------------------------------------------------------------------


class StepScheduled(Event, frozen=True, kw_only=True, tag="step.scheduled"):
    """Tokens were admitted and consumed; the step runs as `run`."""

    step: str
    tokens: list[int]
    has_loop: bool = False
    priority: int = 0
    pool: str = ""
    deadline_seconds: float | None = None
    timeout_seconds: float | None = None
    compensates: int = 0  # the run that this one undoes
    is_join: bool = False


class StepWaiting(Event, frozen=True, kw_only=True, tag="step.waiting"):
    """A token was denied and waits until ctx changes (ST-06)."""

    step: str
    token: int
    rule: int = -1
    is_for_signal: bool = False


class StepSkipped(Event, frozen=True, kw_only=True, tag="step.skipped"):
    """A waiting token was retired: nothing can change the answer any more, or the workflow ends."""

    step: str
    token: int
    reason: str = ""


class StepStarted(Event, frozen=True, kw_only=True, tag="step.started"):
    step: str


class StepDone(Event, frozen=True, kw_only=True, tag="step.done"):
    step: str
    output: Envelope
    patches: list[Patch] = []  # the step-level set
    is_plan: bool = False  # the output is a list of steps to add (RT-08)


class StepFailed(Event, frozen=True, kw_only=True, tag="step.failed"):
    step: str
    error: dict[str, Data]
    output: Envelope | None = None


class StepCancelled(Event, frozen=True, kw_only=True, tag="step.cancelled"):
    step: str
    reason: str = ""


class Fired(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An arc that fired, and the token it made."""

    arc: int  # its place among the step's arcs
    step: str
    token: int = 0  # its number; 0: the one after the last
    args: dict[str, Data] = {}
    priority: int = 0
    partition: Data = None
    dedupe: str = ""  # the key, as text
    is_duplicate: bool = False  # a token with this key went that way before: no token was made


class NextEvaluated(Event, frozen=True, kw_only=True, tag="next.evaluated"):
    """Which arcs of a step fired, and which were asked and did not (RT-02)."""

    step: str
    boundary: str  # step.done, step.failed, loop.done
    boundary_seq: int
    fired: list[Fired] = []
    refused: list[int] = []  # arcs asked in vain
    patches: list[Patch] = []  # the fired arcs' set
    handled: bool = False  # a failure that an arc took
    ends_branch: bool = False
    is_undoable: bool = False  # the step declares compensation
    error: dict[str, Data] | None = None  # a guard that raised


class Emitted(Event, frozen=True, kw_only=True, tag="event.emitted"):
    """An event of the author's own (ST-10); readers see it under `event`, the author's name."""

    event: str
    step: str
    on: str


# --- loops -----------------------------------------------------------------------------------------------------------


class LoopStarted(Event, frozen=True, kw_only=True, tag="loop.started"):
    """The collection, rendered once: `items`, or a lazy `range`, or a `ref` to the stored list."""

    step: str
    count: int
    items: list[Data] | None = None
    range: list[int] | None = None
    ref: dict[str, Data] | None = None
    iterator: str = ""
    is_parallel: bool = False
    max_in_flight: int = 1
    is_local: bool = False
    is_best_effort: bool = False
    is_held: bool = False  # some loop of the nest is parallel: writes wait for the end of the outermost one
    reducers: dict[str, str] = {}
    parent_run: int = 0  # of an inner loop: the loop and the iteration it stands in
    parent_iter: int = -1
    has_inner: bool = False
    inline_bytes_max: int = 0


class LoopIterationStarted(Event, frozen=True, kw_only=True, tag="loop.iteration.started"):
    element: list[Data] = []  # of a stored list that an inner loop is made from: the element


class LoopIterationDone(Event, frozen=True, kw_only=True, tag="loop.iteration.done"):
    output: Envelope
    patches: list[Patch] = []  # of a parallel loop: what it wrote to ctx and step, merged at loop.done


class LoopIterationFailed(Event, frozen=True, kw_only=True, tag="loop.iteration.failed"):
    error: dict[str, Data]
    output: Envelope | None = None


class LoopIterationCancelled(Event, frozen=True, kw_only=True, tag="loop.iteration.cancelled"):
    reason: str = ""


class LoopDone(Event, frozen=True, kw_only=True, tag="loop.done"):
    """All iterations have ended. `error`: an inner loop that failed; an outermost one ends with step.failed."""

    step: str
    total: int
    done: int
    failed: int
    skipped: int
    output: Envelope
    patches: list[Patch] = []  # merged writes of a parallel loop, then the step-level set
    error: dict[str, Data] | None = None


class LoopReopened(Event, frozen=True, kw_only=True, tag="loop.reopened"):
    """In a fork: an iteration that had failed or was cancelled is to be done again, and those that are done are kept.

    With an `iter` it stands where the source's log has the end of that iteration; without one the loop itself goes on:
    an inner one where its end was, all of them after `execution.forked`.
    """

    max_in_flight: int = 0  # that of the text it goes on with; 0: as it was
    patches: list[Patch] = []  # the fork's, for what its iterations see of ctx


# --- tasks -----------------------------------------------------------------------------------------------------------


class TaskStarted(Event, frozen=True, kw_only=True, tag="task.started"):
    kind: str


class TaskDone(Event, frozen=True, kw_only=True, tag="task.done"):
    """One attempt of a task has ended, and what the pipeline does next."""

    do: str  # continue, retry, jump, break, fail, skip
    to: str = ""
    rule: int = -1  # which rule said so
    output: Envelope | None = None  # None: no tool ran, or a skip dropped it
    delay_seconds: float = NO_DELAY  # before a retry
    patches: list[Patch] = []  # applied now: ctx.*, step.*, iter.*
    held: list[Patch] = []  # in a parallel loop: ctx.* and step.* writes that wait for loop.done
    previous: list[Data] = []  # what _prev becomes, when that is not the output's data: none or one value
    is_definite: bool = True  # the other side answered, so the next attempt is another one to it
    logs: list[str] = []
    error: dict[str, Data] | None = None  # of `fail`


class TaskWaiting(Event, frozen=True, kw_only=True, tag="task.waiting"):
    """The pipeline left its worker: until a time, or until a child execution has ended."""

    until: float = 0.0
    child: dict[str, Data] | None = None  # {path, version, payload, return_step, key}


class ChildDone(Event, frozen=True, kw_only=True, tag="child.done"):
    """The child that a task waited for has ended."""

    child_execution_id: int
    result: str
    output: Envelope | None = None
    error: dict[str, Data] | None = None


EVENTS: tuple[type[Event], ...] = (
    PlaybookExecutionRequested,
    PlaybookRequestEvaluated,
    WorkflowStarted,
    WorkflowFinished,
    PlaybookProcessed,
    PlaybookCancelRequested,
    WorkflowFailing,
    WorkflowExtended,
    WorkflowCompensating,
    SignalReceived,
    ExecutionRecovered,
    ExecutionForked,
    EngineError,
    StepScheduled,
    StepWaiting,
    StepSkipped,
    StepStarted,
    StepDone,
    StepFailed,
    StepCancelled,
    NextEvaluated,
    Emitted,
    LoopStarted,
    LoopIterationStarted,
    LoopIterationDone,
    LoopIterationFailed,
    LoopIterationCancelled,
    LoopDone,
    LoopReopened,
    TaskStarted,
    TaskDone,
    TaskWaiting,
    ChildDone,
)
AnyEvent = (
    PlaybookExecutionRequested
    | PlaybookRequestEvaluated
    | WorkflowStarted
    | WorkflowFinished
    | PlaybookProcessed
    | PlaybookCancelRequested
    | WorkflowFailing
    | WorkflowExtended
    | WorkflowCompensating
    | SignalReceived
    | ExecutionRecovered
    | ExecutionForked
    | EngineError
    | StepScheduled
    | StepWaiting
    | StepSkipped
    | StepStarted
    | StepDone
    | StepFailed
    | StepCancelled
    | NextEvaluated
    | Emitted
    | LoopStarted
    | LoopIterationStarted
    | LoopIterationDone
    | LoopIterationFailed
    | LoopIterationCancelled
    | LoopDone
    | LoopReopened
    | TaskStarted
    | TaskDone
    | TaskWaiting
    | ChildDone
)
NAMES: dict[type[Event], str] = {kind: str(kind.__struct_config__.tag) for kind in EVENTS}

WORKER_EVENTS = frozenset(
    (StepStarted, TaskStarted, TaskDone, TaskWaiting, StepDone, StepFailed, LoopIterationDone, LoopIterationFailed)
)
ENTITIES = {
    "playbook": "playbook",
    "workflow": "workflow",
    "step": "step",
    "task": "task",
    "loop": "loop",
    "next": "next",
}
SERVER, WORKER = "server", "worker"
IN_PROGRESS, SUCCESS, ERROR, SKIPPED = "in_progress", "success", "error", "skipped"
STATUSES: dict[type[Event], str] = {
    PlaybookRequestEvaluated: SUCCESS,
    WorkflowFailing: ERROR,
    WorkflowExtended: SUCCESS,
    SignalReceived: SUCCESS,
    ExecutionRecovered: SUCCESS,
    ExecutionForked: SUCCESS,
    EngineError: ERROR,
    StepSkipped: SKIPPED,
    StepDone: SUCCESS,
    StepFailed: ERROR,
    StepCancelled: ERROR,
    NextEvaluated: SUCCESS,
    Emitted: SUCCESS,
    LoopIterationDone: SUCCESS,
    LoopIterationFailed: ERROR,
    LoopIterationCancelled: ERROR,
    LoopDone: SUCCESS,
}

encode = msgspec.json.Encoder().encode


@cache
def _decoder() -> msgspec.json.Decoder[AnyEvent]:
    """Made for the first event that is read: resolving the types of all events is a tenth of the start of a run."""
    return msgspec.json.Decoder(AnyEvent)


def decode(body: bytes | str) -> Event:
    """An event as it was written."""
    event: Event = _decoder().decode(body)
    return event


@cache
def _list_decoder() -> msgspec.json.Decoder[list[AnyEvent]]:
    return msgspec.json.Decoder(list[AnyEvent])


def decode_all(body: bytes) -> list[Event]:
    """Events that were written together, as one JSON array: a third faster than one by one."""
    events: list[Event] = _list_decoder().decode(body)  # type: ignore[assignment]  # each of the union is an Event
    return events


def name_of(event: Event) -> str:
    """The event's name in the log; an author's own event has the author's name."""
    return event.event if isinstance(event, Emitted) else NAMES[type(event)]


def source_of(event: Event) -> str:
    """server or worker (EV-01): what a worker reports has its lease."""
    return WORKER if event.lease else SERVER


def timestamp(seconds: float) -> str:
    """ISO 8601, UTC, milliseconds: 2026-03-01T12:00:00.125Z."""
    whole, microseconds = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_to_the_second(whole)}.{microseconds // 1000:03d}Z"


@lru_cache(16)
def _to_the_second(seconds: int) -> str:
    """Most of a timestamp, which thousands of events have in common: writing it anew takes 3 µs."""
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat()[:19]


def status_of(event: Event) -> str:
    """in_progress, success, error or skipped (EV-01)."""
    if isinstance(event, TaskDone):
        if event.do == "skip":
            return SKIPPED
        is_error = event.error is not None or (event.output is not None and event.output.get("status") == "error")
        return ERROR if is_error else SUCCESS
    if isinstance(event, WorkflowFinished | PlaybookProcessed | ChildDone):
        return SUCCESS if event.result == "success" else ERROR
    if getattr(event, "error", None) is not None:
        return ERROR
    return STATUSES.get(type(event), IN_PROGRESS)
