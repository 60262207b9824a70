"""The documents of an execution seen over time: step runs, iterations, attempts, lines, and what was exported."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from noetl.api.documents import ExecutionId, Moment

RunStatus = Literal["running", "success", "failed", "cancelled"]
IterationStatus = Literal["done", "failed", "cancelled", "in_flight", "not_started"]
AttemptStatus = Literal["running", "ok", "error", "waiting", "skipped"]
Level = Literal["debug", "info", "warning", "error"]
Ms = Annotated[int, Meta(description="milliseconds since the request")]
NextAfter = Annotated[int | None, Meta(description="`after` of the next page; null: this is the last, for now")]
IsCut = Annotated[bool, Meta(description="there are more than are kept of one execution; these are the first")]


class LoopProgress(TypedDict):
    """How far a loop is."""

    total: int
    done: int
    failed: int
    in_flight: int


class TimelineRun(TypedDict):
    """One step run; an inner loop is part of the step run it stands in."""

    run: int
    step: str
    status: RunStatus
    scheduled_ms: Ms
    started_ms: Ms | None
    ended_ms: Ms | None
    loop: LoopProgress | None
    attempts: int
    retries: int
    error: str | None
    is_critical: Annotated[bool, Meta(description="it is one of the chain of runs that decided when all was over")]
    compensates: Annotated[int | None, Meta(description="the run that this one undoes")]
    sources: Annotated[list[int], Meta(description="the runs whose tokens it took")]


class TimelinePage(TypedDict):
    """The step runs of an execution, in the order in which they were scheduled."""

    execution_id: ExecutionId
    origin: Annotated[Moment | None, Meta(description="the request, from which milliseconds count")]
    last_seq: int
    duration_ms: int | None
    runs: list[TimelineRun]
    critical_ms: Annotated[int, Meta(description="how long the runs of the critical path took, together")]
    is_cut: IsCut
    next: NextAfter


class IterationCounts(TypedDict):
    done: int
    failed: int
    cancelled: int
    in_flight: int
    not_started: int


class IterationRow(TypedDict):
    """One iteration of a loop."""

    iteration: int
    status: IterationStatus
    started_ms: Ms | None
    ended_ms: Ms | None
    attempts: int
    error: str | None
    inner_run: Annotated[int | None, Meta(description="the run of the loop inside, where there is one")]


class IterationPage(TypedDict):
    """The iterations of one loop, by index."""

    run: int
    step: str
    total: int
    counts: IterationCounts
    iterations: list[IterationRow]
    is_cut: IsCut
    next: NextAfter


class AttemptRow(TypedDict):
    """One attempt of one task, and what the pipeline did next."""

    seq_started: int
    seq_ended: int | None
    run: int
    iteration: int | None
    task: str
    kind: str
    visit: int
    attempt: int
    status: AttemptStatus
    started_ms: Ms
    ended_ms: Ms | None
    do: Annotated[str | None, Meta(description="continue, retry, jump, break, fail or skip")]
    to: Annotated[str | None, Meta(description="of a jump: the task it goes to")]
    rule: Annotated[int | None, Meta(description="which rule of the task's policy said so, from 0")]
    delay_seconds: Annotated[float | None, Meta(description="the wait before the next attempt")]
    error: str | None
    worker: Annotated[str | None, Meta(description="null: the log does not say who")]
    has_ref: Annotated[bool, Meta(description="its data is kept outside the log, see /results?seq=")]


class AttemptPage(TypedDict):
    """Attempts, in the order in which they began."""

    attempts: list[AttemptRow]
    is_cut: IsCut
    next: NextAfter


class LogLine(TypedDict):
    """A line that a task printed, or a fact about the execution in words."""

    seq: Annotated[int, Meta(description="the event that brought it")]
    line: Annotated[int, Meta(description="which of that event's lines, from 0")]
    at: Moment
    level: Level
    source: Literal["task", "engine"]
    step: str | None
    run: int | None
    iteration: int | None
    task: str | None
    attempt: int | None
    text: str


class LogPage(TypedDict):
    """Lines in the order of the log. A page ends with an event's last line, so it may have a few more than `limit`."""

    lines: list[LogLine]
    is_cut: IsCut
    next: NextAfter


class ViewingRow(TypedDict):
    """An exported execution that this server holds for a while."""

    execution_id: Annotated[ExecutionId, Meta(description="what to look at it by, on this server, with this token")]
    path: str
    events: int
    expires_at: Moment
