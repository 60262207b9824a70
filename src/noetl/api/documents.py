"""The documents that the API answers with, as types: what OpenAPI says of them, and what tests compare with.

They are the documents that the command line prints, so their keys are what scripts rely on. The data itself is made in
`control` and `projections`; nothing here makes or changes any.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

Moment = Annotated[str, Meta(description="a time, as 2026-03-01T12:00:00.000Z")]
ExecutionId = Annotated[str, Meta(pattern="^[1-9][0-9]{0,18}$", description="a number, as text")]
UsedBy = Annotated[list[str], Meta(description="paths whose newest version declares it, the first 100 that are seen")]
Uses = Annotated[int, Meta(description="how many such paths there are")]
Status = Literal["running", "waiting", "incident", "success", "failed", "cancelled"]


class ExecutionRow(TypedDict):
    """One line of the list of executions."""

    execution_id: ExecutionId
    path: str
    version: int
    status: Status
    created_at: Moment
    duration_ms: int | None
    parent_execution_id: ExecutionId | None


class ExecutionPage(TypedDict):
    """A page of the list, newest first."""

    executions: list[ExecutionRow]
    next: Annotated[str | None, Meta(description="the cursor of the next page; null: this is the last")]


class StepRow(TypedDict):
    step: str
    runs: int
    status: str


class Summary(TypedDict):
    """What `noetl run` prints of an execution."""

    execution_id: ExecutionId
    status: Status
    output: dict[str, Any] | None
    ctx: dict[str, Any]
    error: dict[str, Any] | None
    steps: list[StepRow]
    duration_ms: int | None


class UnservedRow(TypedDict):
    """Jobs of a pool that nobody polls."""

    pool: str
    jobs: int
    reason: str


class ForkedFrom(TypedDict):
    """The execution that this one does again."""

    execution_id: ExecutionId
    seq: Annotated[int, Meta(description="how many of its events this one begins with; 0: it began anew")]


class Shown(TypedDict):
    """What `noetl show` prints of an execution: its step runs, its children, what it waits for."""

    execution_id: ExecutionId
    path: str
    version: int
    status: Status
    created_at: Moment | None
    ended_at: Moment | None
    duration_ms: int | None
    parent_execution_id: ExecutionId | None
    forked_from: Annotated[ForkedFrom | None, Meta(description="of a rerun: what it does again")]
    events: int
    error: dict[str, Any] | None
    output: dict[str, Any] | None
    ctx: dict[str, Any]
    runs: list[dict[str, Any]]
    omitted_runs: int
    children: list[dict[str, Any]]
    waiting: list[dict[str, Any]]
    unserved: Annotated[list[UnservedRow], Meta(description="jobs that wait where no worker is")]


class StartedRow(TypedDict):
    """An execution that was asked for."""

    execution_id: ExecutionId
    status: Status
    path: str
    version: int
    is_new: Annotated[bool, Meta(description="false: it was started before, under the same Idempotency-Key")]


class StatusRow(TypedDict):
    execution_id: ExecutionId
    status: Status


class EventDocument(TypedDict):
    """One event of a log, as EV-01 and EV-02 have it."""

    event_id: str
    execution_id: ExecutionId
    timestamp: Moment
    source: str
    name: str
    entity_type: str
    entity_id: str
    status: str | None
    payload: dict[str, Any]
    step: NotRequired[str]
    step_run_id: NotRequired[str]
    iteration_id: NotRequired[str]
    task_run_id: NotRequired[str]
    task_label: NotRequired[str]
    attempt: NotRequired[int]


class EventPage(TypedDict):
    """A page of a log, oldest first."""

    events: list[EventDocument]
    next: Annotated[int | None, Meta(description="`after` of the next page; null: the log ends here, for now")]


class StateDocument(TypedDict):
    """The state of an execution after one of its events; it has more fields, which the engine may add to."""

    execution_id: ExecutionId
    seq: int
    status: Status


class VerifyCheck(TypedDict):
    name: str
    ok: bool
    detail: str


class Verified(TypedDict):
    """Whether a log gives the state that was recorded, and keeps the invariants."""

    execution_id: ExecutionId
    status: Status
    events: int
    is_equal: bool
    checks: list[VerifyCheck]


class CatalogRow(TypedDict):
    """One version of a playbook."""

    path: str
    version: int
    sha: str
    name: str
    label: str
    is_legacy: bool
    is_upstream: bool
    created_at: Moment


class CatalogPage(TypedDict):
    playbooks: list[CatalogRow]
    next: Annotated[str | None, Meta(description="the cursor of the next page; null: this is the last")]


class CatalogText(CatalogRow):
    """One version of a playbook, with its text."""

    text: str


class Difference(TypedDict):
    """Two versions of a playbook."""

    path: str
    old: int
    new: int
    diff: Annotated[str, Meta(description="as `diff -u` prints it; empty: the texts are the same")]


class FindingRow(TypedDict):
    """One fault of a playbook, as `noetl check --format json` prints it."""

    code: str
    rule: str
    severity: Literal["error", "warning", "info"]
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    why: str
    fix: str
    fixable: bool


class CheckReport(TypedDict):
    """What is wrong with a playbook."""

    is_valid: bool
    is_cut: Annotated[bool, Meta(description="there are more findings than these")]
    findings: list[FindingRow]


class CredentialRow(TypedDict):
    """A stored credential: all that anybody ever sees of it."""

    name: str
    kind: str
    version: int
    origin: str
    fields: list[str]
    created_at: Moment
    updated_at: Moment


class UsedCredential(CredentialRow):
    """A stored credential, and who uses it."""

    is_stored: Literal[True]
    used_by: UsedBy
    uses: Uses


class MissingCredential(TypedDict):
    """A credential that playbooks declare and nobody stored; a variable of whoever runs it may still have it."""

    name: str
    kind: str
    provider: Annotated[str | None, Meta(description="that the playbook names for it, and that is asked instead")]
    is_stored: Literal[False]
    used_by: UsedBy
    uses: Uses


class Credentials(TypedDict):
    credentials: list[UsedCredential]
    missing: list[MissingCredential]


class Proof(TypedDict):
    """Whether a credential works."""

    name: str
    kind: str
    origin: str
    is_ok: bool
    tried: list[str]
    error: str | None
    is_unreachable: bool


class PoolRow(TypedDict):
    """What waits and runs in a pool."""

    pool: str
    ready: int
    leased: int
    parked: int
    oldest_wait_seconds: float
    workers: int
    reason: Annotated[str | None, Meta(description="why jobs wait, where nobody takes them")]


class Pools(TypedDict):
    pools: list[PoolRow]


class WorkerRow(TypedDict):
    """A worker that was seen."""

    worker: str
    pool: str
    slots: int
    host: str
    pid: int
    version: str
    kinds: list[str]
    jobs: int
    seen_at: Moment


class Workers(TypedDict):
    workers: list[WorkerRow]


class HealthCheck(TypedDict):
    name: str
    is_ok: bool
    detail: str
    seconds: float


class Health(TypedDict):
    """Whether a server works, part by part."""

    is_ok: bool
    version: str
    now: Annotated[Moment, Meta(description="by the server's clock")]
    checks: list[HealthCheck]


class Alive(TypedDict):
    status: Literal["ok"]
