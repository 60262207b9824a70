"""Schedules: apply, list, look at, pause, resume, run now, remove. One is seen by who sees its playbook."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from noetl.api.documents import ExecutionId, Moment
from noetl.api.executions import Nothing
from noetl.api.operations import JSON, YAML, Call, Operation, Reply
from noetl.api.problems import Refusal
from noetl.api.sight import who
from noetl.api.start_documents import (
    TEXT_BYTES_MAX,
    Begun,
    Given,
    ListQuery,
    demand_place,
    given_text,
    path_name,
    visible_name,
    visible_page,
)
from noetl.identity.audit import audit
from noetl.identity.roles import AUTHOR, RUNNER, VIEWER
from noetl.starting.schedules import Schedules
from noetl.starting.texts import schedule_in

KIND, TAG = "schedule", "schedules"
ALL, ONE = "/api/v1/schedules", "/api/v1/schedules/{name}"
NEXT_MAX = 100
KEY_CHARACTERS_MAX = 100
KEY = "Idempotency-Key"


class Counts(TypedDict):
    started: int
    skipped: int
    missed: int
    failed: int


class ScheduleRow(TypedDict):
    """A schedule, and how it stands."""

    name: str
    description: str
    labels: dict[str, Any]
    path: str
    version: int | None
    payload: dict[str, Any]
    cron: str | None
    every_seconds: int | None
    timezone: str
    overlap: Literal["skip", "queue", "allow", "cancel"]
    catch_up: Literal["none", "last", "all"]
    catch_up_max: int
    jitter_seconds: float
    start_at: str | None
    end_at: str | None
    state: Literal["active", "waiting", "paused", "ended"]
    next_at: Moment | None
    waiting: int
    last_execution_id: ExecutionId | None
    last_error: str
    last_skipped_at: Moment | None
    last_missed_at: Moment | None
    counts: Counts
    applied_at: Moment
    is_changed: NotRequired[bool]
    notes: NotRequired[list[str]]


class FiringRow(TypedDict):
    """What became of one due time."""

    due_at: Moment
    at: Moment
    outcome: Literal["started", "skipped", "failed"]
    execution_id: ExecutionId | None
    why: str


class ScheduleShown(ScheduleRow):
    next: Annotated[list[str], Meta(description="due times to come, in the schedule's time zone")]
    recent: Annotated[list[FiringRow], Meta(description="newest first")]


class SchedulePage(TypedDict):
    schedules: list[ScheduleRow]
    next: Annotated[str | None, Meta(description="the cursor of the next page; null: this is the last")]


class ShowQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1, le=NEXT_MAX, description="how many due times to come")] = 5


def schedules_of(call: Call) -> Schedules:
    if call.parts.schedules is None:
        raise Refusal(503, "no-schedules", "this server has no schedules")
    return call.parts.schedules


async def visible(call: Call) -> str:
    return await visible_name(call, KIND, schedules_of(call))


async def apply_schedule(call: Call) -> dict[str, Any]:
    schedules, name = schedules_of(call), path_name(call, KIND)
    data, file_name = given_text(call)
    document = await asyncio.to_thread(schedule_in, data, file_name, name, call.parts.catalog.kinds)
    await demand_place(call, schedules, name, document)
    applied = await schedules.apply(document)
    audit("schedule_applied", who(call), schedule=name)
    return applied


async def list_schedules(call: Call) -> dict[str, Any]:
    return await visible_page(call, TAG, schedules_of(call))


async def show_schedule(call: Call) -> dict[str, Any]:
    return await schedules_of(call).shown(await visible(call), call.query.count)


async def remove_schedule(call: Call) -> None:
    name = await visible(call)
    await schedules_of(call).remove(name)
    audit("schedule_removed", who(call), schedule=name)


async def pause_schedule(call: Call) -> dict[str, Any]:
    return await schedules_of(call).pause(await visible(call))


async def resume_schedule(call: Call) -> dict[str, Any]:
    return await schedules_of(call).resume(await visible(call))


async def run_schedule_now(call: Call) -> Reply:
    key = call.request.headers.get(KEY)
    if key is not None and not 0 < len(key) <= KEY_CHARACTERS_MAX:
        raise Refusal(400, "bad-key", f"{KEY} has 1 to {KEY_CHARACTERS_MAX} characters")
    begun = await schedules_of(call).run_now(call.parts.desk, await visible(call), key)
    body = {"execution_id": str(begun.execution_id), "is_new": begun.is_new}
    where = {"Location": f"/api/v1/executions/{begun.execution_id}"}
    return Reply(status=201 if begun.is_new else 200, body=body, headers=where)


OPERATIONS = (
    Operation(
        method="GET",
        path=ALL,
        role=VIEWER,
        summary="List schedules by name",
        handler=list_schedules,
        tag=TAG,
        query=ListQuery,
        answers={200: SchedulePage},
    ),
    Operation(
        method="GET",
        path=ONE,
        role=VIEWER,
        summary="Show a schedule: how it stands, when it is due next, what became of the last times",
        handler=show_schedule,
        tag=TAG,
        query=ShowQuery,
        answers={200: ScheduleShown},
        refusals=(404,),
    ),
    Operation(
        method="PUT",
        path=ONE,
        role=AUTHOR,
        summary="Apply a Schedule document in place of the one of its name; the same again changes nothing",
        handler=apply_schedule,
        tag=TAG,
        body=Given,
        body_media=(JSON, YAML),
        body_bytes_max=2 * TEXT_BYTES_MAX,
        answers={200: ScheduleRow},
        refusals=(404, 422),
    ),
    Operation(
        method="DELETE",
        path=ONE,
        role=AUTHOR,
        summary="Remove a schedule; what it started goes on",
        handler=remove_schedule,
        tag=TAG,
        answers={204: None},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/pause",
        role=RUNNER,
        summary="Let a schedule rest: what comes due meanwhile is not made up for",
        handler=pause_schedule,
        tag=TAG,
        body=Nothing,
        answers={200: ScheduleRow},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/resume",
        role=RUNNER,
        summary="Let a paused schedule go on with its next due time",
        handler=resume_schedule,
        tag=TAG,
        body=Nothing,
        answers={200: ScheduleRow},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/run",
        role=RUNNER,
        summary="Start its playbook with its payload now, whatever it waits for",
        handler=run_schedule_now,
        tag=TAG,
        body=Nothing,
        answers={201: Begun, 200: Begun},
        refusals=(404, 422),
        headers={KEY: "one execution per key, ever: the same key again answers with the one there is"},
    ),
)
