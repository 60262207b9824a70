"""Triggers, and the hooks that set them off: a hook needs no bearer token, it shows its trigger's own secret."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from noetl.api.documents import ExecutionId, Moment
from noetl.api.operations import ANY, HOOK, HOOK_PATHS, JSON, TEXT, YAML, Call, Operation, Reply
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
from noetl.identity.roles import AUTHOR, VIEWER
from noetl.starting.hooks import BODY_BYTES_MAX
from noetl.starting.texts import trigger_in
from noetl.starting.triggers import Triggers

KIND, TAG = "trigger", "triggers"
ALL, ONE = "/api/v1/triggers", "/api/v1/triggers/{name}"


class TriggerCounts(TypedDict):
    started: int
    repeated: int
    refused: int


class TriggerRow(TypedDict):
    """A trigger, and what came of its messages; counts are a few seconds late."""

    name: str
    description: str
    labels: dict[str, Any]
    path: str
    version: int | None
    payload: dict[str, Any]
    event_key: str
    webhook: dict[str, Any] | None
    nats: dict[str, Any] | None
    dedupe: dict[str, Any] | None
    rate_per_minute: int
    is_paused: bool
    hook: Annotated[str | None, Meta(description="where requests go")]
    counts: TriggerCounts
    last_started_at: Moment | None
    last_execution_id: ExecutionId | None
    last_error: str
    last_error_at: Moment | None
    applied_at: Moment
    is_changed: NotRequired[bool]
    notes: NotRequired[list[str]]


class TriggerPage(TypedDict):
    triggers: list[TriggerRow]
    next: Annotated[str | None, Meta(description="the cursor of the next page; null: this is the last")]


def triggers_of(call: Call) -> Triggers:
    if call.parts.triggers is None:
        raise Refusal(503, "no-triggers", "this server has no triggers")
    return call.parts.triggers


async def visible(call: Call) -> str:
    return await visible_name(call, KIND, triggers_of(call))


async def apply_trigger(call: Call) -> dict[str, Any]:
    triggers, name = triggers_of(call), path_name(call, KIND)
    data, file_name = given_text(call)
    document = await asyncio.to_thread(trigger_in, data, file_name, name, call.parts.catalog.kinds)
    await demand_place(call, triggers, name, document)
    applied = await triggers.apply(document)
    audit("trigger_applied", who(call), trigger=name)
    return applied


async def list_triggers(call: Call) -> dict[str, Any]:
    return await visible_page(call, TAG, triggers_of(call))


async def show_trigger(call: Call) -> dict[str, Any]:
    return await triggers_of(call).shown(await visible(call))


async def remove_trigger(call: Call) -> None:
    name = await visible(call)
    await triggers_of(call).remove(name)
    audit("trigger_removed", who(call), trigger=name)


async def receive_hook(call: Call) -> Reply:
    if call.parts.hooks is None:
        raise Refusal(503, "no-triggers", "this server has no triggers")

    def header(name: str) -> str | None:
        values = call.request.headers.getlist(name)
        return values[0] if len(values) == 1 else None

    begun = await call.parts.hooks.receive(call.path["name"], header, call.raw)
    return Reply(status=202, body={"execution_id": str(begun.execution_id), "is_new": begun.is_new})


OPERATIONS = (
    Operation(
        method="GET",
        path=ALL,
        role=VIEWER,
        summary="List triggers by name",
        handler=list_triggers,
        tag=TAG,
        query=ListQuery,
        answers={200: TriggerPage},
    ),
    Operation(
        method="GET",
        path=ONE,
        role=VIEWER,
        summary="Show a trigger, and what came of its messages",
        handler=show_trigger,
        tag=TAG,
        answers={200: TriggerRow},
        refusals=(404,),
    ),
    Operation(
        method="PUT",
        path=ONE,
        role=AUTHOR,
        summary="Apply a Trigger document in place of the one of its name; the same again changes nothing",
        handler=apply_trigger,
        tag=TAG,
        body=Given,
        body_media=(JSON, YAML),
        body_bytes_max=2 * TEXT_BYTES_MAX,
        answers={200: TriggerRow},
        refusals=(404, 422),
    ),
    Operation(
        method="DELETE",
        path=ONE,
        role=AUTHOR,
        summary="Remove a trigger; what it started goes on",
        handler=remove_trigger,
        tag=TAG,
        answers={204: None},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path=HOOK_PATHS[0],
        role=HOOK,
        summary="Set a trigger off",
        description="The request shows by a token or a signature that it may, as the trigger's document says.",
        handler=receive_hook,
        tag=TAG,
        body_media=(JSON, TEXT, ANY),
        body_bytes_max=BODY_BYTES_MAX,
        answers={202: Begun},
        refusals=(401, 404, 409, 413, 422),
    ),
)
