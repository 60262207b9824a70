"""The documents about the house as a whole: who asks, how things stand, what waits where, what a bulk did.

Kept apart from `documents`, which are those of one execution or one playbook.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from noetl.api.documents import CatalogRow, ExecutionId, ExecutionRow, Moment


class IdentityShown(TypedDict):
    """Whoever asks, and what they ask."""

    name: Annotated[str, Meta(description="the label of the token")]
    role: Literal["viewer", "runner", "author", "admin"]
    path_prefix: Annotated[str, Meta(description="playbooks at this path and below are all there is; empty: all")]
    version: str
    is_embedded: Annotated[bool, Meta(description="one process with its own store and worker")]
    store: Literal["sqlite", "postgresql"]
    now: Annotated[Moment, Meta(description="by the server's clock")]


class HourRow(TypedDict):
    """Executions that ended within one hour."""

    at: Annotated[Moment, Meta(description="when the hour began")]
    success: int
    failed: int
    cancelled: int


class ComingSchedule(TypedDict):
    """A schedule that is due soon."""

    name: str
    path: str
    next_at: Moment
    state: Literal["active", "waiting"]


class Overview(TypedDict):
    """How things stand: what is under way now, and what ended within the last 24 hours."""

    running: int
    waiting: int
    incident: int
    success_day: int
    failed_day: int
    cancelled_day: int
    hours: Annotated[list[HourRow], Meta(description="24 of them, oldest first; the last one is not over")]
    schedules: Annotated[list[ComingSchedule], Meta(description="at most 10, soonest first")]


class RecentRow(CatalogRow):
    """A playbook in its newest version, with its last runs."""

    versions: Annotated[int, Meta(description="how many there are")]
    runs: Annotated[list[ExecutionRow], Meta(description="of all versions, newest first")]


class RecentPage(TypedDict):
    playbooks: list[RecentRow]
    next: Annotated[str | None, Meta(description="the cursor of the next page; null: this is the last")]


class QueuedJob(TypedDict):
    """A job: a step run, or an iteration of one, that a worker is to do or does."""

    execution_id: ExecutionId
    path: str
    step: Annotated[str | None, Meta(description="null: it ended meanwhile")]
    run: int
    iteration: int | None
    pool: str
    priority: Annotated[int, Meta(description="lower ones first")]
    state: Literal["ready", "leased", "parked"]
    worker: Annotated[str | None, Meta(description="who holds it")]
    age_seconds: Annotated[float, Meta(description="since it was last ready to be taken")]
    due_in_seconds: Annotated[float | None, Meta(description="of a parked one that waits for a time, not for a child")]
    lease_age_seconds: Annotated[float | None, Meta(description="since its worker was last heard of it")]
    lease_left_seconds: Annotated[float | None, Meta(description="until it goes to another, if nothing is heard")]
    deliveries: int


class Jobs(TypedDict):
    jobs: Annotated[list[QueuedJob], Meta(description="leased ones first, then ready ones, then parked ones")]
    is_cut: Annotated[bool, Meta(description="there are more than these")]


class BulkRow(TypedDict):
    """What became of one of several executions."""

    execution_id: ExecutionId
    is_ok: bool
    new_execution_id: Annotated[ExecutionId | None, Meta(description="of a rerun")]
    error: Annotated[str | None, Meta(description="why not")]


class BulkReport(TypedDict):
    results: Annotated[list[BulkRow], Meta(description="in the order in which they were asked for")]
