"""The documents that explain: moments of an execution, why a step ran or did not, what an expression gives."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from noetl.api.documents import EventDocument, ExecutionId, Moment, Status, StepRow

# --- verdicts --------------------------------------------------------------------------------------------------------


class ReadRow(TypedDict):
    """A name that a template read, and the value it saw; cut where it is long, `***` where it is secret."""

    name: str
    value: Any
    note: Annotated[str, Meta(description="undefined, cut, secret, kept outside the log; usually empty")]


class VerdictRow(TypedDict):
    """One rule, arc, collection or write, with what it saw. `is_chosen` is what was recorded; the rest is evaluated
    again on the state of that moment."""

    place: Literal["admission", "policy", "arc", "loop", "set"]
    index: Annotated[int, Meta(description="from 0, among those of its place")]
    line: int
    step: str
    task: str | None
    target: Annotated[
        str | None,
        Meta(
            description="of an arc: the step; of an admission rule: allow or deny; of a policy rule: what it says, "
            "as `retry` or `jump save`; of a write: the path; of a loop: its iterator"
        ),
    ]
    when: Annotated[str | None, Meta(description="the condition or expression as written; null: there is none")]
    result: Annotated[bool | None, Meta(description="null: it was not asked, is no condition, or could not be asked")]
    is_chosen: bool
    was_asked: bool
    error: str | None
    reads: list[ReadRow]
    note: str


# --- moments ---------------------------------------------------------------------------------------------------------


class TokenRow(TypedDict):
    """A token that waits at a step."""

    token: int
    step: str
    source: Annotated[str, Meta(description="the step that sent it; empty: the beginning")]
    is_waiting: Annotated[bool, Meta(description="it was denied, and is asked again when ctx changes")]
    is_for_signal: bool


class LoopRow(TypedDict):
    count: int
    next: int
    in_flight: int
    done: int
    failed: int


class JobRow(TypedDict):
    """A pipeline in flight."""

    iteration: int | None
    task: Annotated[str | None, Meta(description="the task it is at; null: before the first, or after the last")]
    attempt: int
    waits_until: Moment | None


class MomentRun(TypedDict):
    """A step run, or an instance of an inner loop, that is under way."""

    run: int
    step: str
    phase: str
    parent_run: Annotated[int | None, Meta(description="of an inner loop: the run that it stands in")]
    loop: LoopRow | None
    jobs: Annotated[list[JobRow], Meta(description="at most 100 of them")]
    omitted_jobs: int
    compensates: int | None


class Marking(TypedDict):
    """Where the net stands."""

    tokens: list[TokenRow]
    omitted_tokens: int
    runs: list[MomentRun]
    omitted_runs: int


class ChangeRow(TypedDict):
    """A value of ctx that an event changed."""

    path: str
    before: Any
    after: Any
    is_new: bool


class MomentDocument(TypedDict):
    """An execution as it stood after one of its events."""

    seq: int
    last_seq: int
    at: Moment
    status: Status
    event: EventDocument
    marking: Marking
    steps: list[StepRow]
    ctx: dict[str, Any]
    workload: dict[str, Any]
    changes: list[ChangeRow]
    inputs: Annotated[
        dict[str, Any] | None,
        Meta(description="by task, or by step for the start of a whole run: rendered again; null: there is none"),
    ]
    inputs_note: str
    verdicts: list[VerdictRow]


class Mark(TypedDict):
    seq: int
    at: Moment
    name: str
    step: str | None
    kind: Literal["step", "failure", "wait", "signal", "loop", "execution"]


class Landmarks(TypedDict):
    """Events worth a mark on a slider, thinned evenly where there are many."""

    last_seq: int
    marks: list[Mark]


class Visit(TypedDict):
    """A time that a token was, or could have been, sent to a step."""

    seq: int
    at: Moment
    happened: Literal["ran", "waited", "skipped", "refused", "failed", "not_reached"]
    run: int | None
    verdicts: list[VerdictRow]


class WhyDocument(TypedDict):
    """Why a step ran, or did not."""

    execution_id: ExecutionId
    step: str
    status: str
    sentences: list[str]
    visits: list[Visit]
    omitted_visits: int


class EvaluationError(TypedDict):
    message: str
    column: Annotated[int | None, Meta(description="from 1, in the expression")]


class Evaluation(TypedDict):
    """What an expression gives."""

    seq: int
    value: Any
    type: Annotated[str, Meta(description="text, number, boolean, list, mapping, null; empty: an error")]
    is_cut: bool
    reads: list[ReadRow]
    error: EvaluationError | None
    scope: Annotated[list[str], Meta(description="the names that may be read there")]


# --- two executions --------------------------------------------------------------------------------------------------


class DifferenceRow(TypedDict, total=False):
    """Two values under one path; a side that has nothing there is left out. Cut where they are long."""

    path: str
    before: Any
    after: Any


class ComparedRow(TypedDict):
    execution_id: ExecutionId
    path: str
    version: int
    status: Status


class ChangedStep(TypedDict):
    step: str
    change: Literal["changed", "new", "gone"]


class ComparedText(TypedDict):
    is_same: bool
    steps: list[ChangedStep]


class FirstDifference(TypedDict):
    """Where two executions part, in causal order; pairs are the two sides, null where there is nothing."""

    step: str
    runs: list[int | None]
    iteration: Annotated[str | None, Meta(description="of nested loops with dots")]
    task: str | None
    visit: int | None
    attempt: int | None
    what: Literal["run", "admission", "loop", "task", "child", "end", "arcs"]
    field: str | None
    seqs: list[int | None]
    lines: list[int | None]
    before: Any
    after: Any
    differences: list[DifferenceRow]
    sentence: str


class DifferingStep(TypedDict):
    """A step run that differs, or that only one has."""

    step: str
    runs: list[int | None]
    statuses: list[str | None]
    attempts: list[int | None]
    what: str
    sentence: str
    lines: list[int | None]


class DiffDocument(TypedDict):
    """Two executions compared by what happened, whatever the times and the order of what ran side by side."""

    is_same: bool
    executions: list[ComparedRow]
    inputs: list[DifferenceRow]
    playbook: ComparedText
    first: FirstDifference | None
    steps: list[DifferingStep]
    omitted_steps: int
    output: list[DifferenceRow]
    ctx: list[DifferenceRow]
