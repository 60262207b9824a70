"""One execution: look at it, act on it. Each answer is the document that the command line prints."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl.api.documents import (
    Shown,
    StateDocument,
    StatusRow,
    Summary,
    Verified,
)
from noetl.api.operations import Call, Operation
from noetl.api.sight import execution_of
from noetl.control import reading, replaying
from noetl.control.verify import verify
from noetl.identity.roles import RUNNER, VIEWER
from noetl.projections.summary import summary
from noetl.stores.contract import LIVE

TAG = "executions"
SEQ_MAX = 2**31 - 1
Seq = Annotated[int, Meta(ge=1, le=SEQ_MAX, description="number of an event")]


class StateQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    at: Seq | None = None


class Cancel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(max_length=1000)] = ""


class Signal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    set: Annotated[dict[str, Any], Meta(min_length=1, max_length=100, description="ctx.name: value")]


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty document."""


# --- looking ---------------------------------------------------------------------------------------------------------


async def show_execution(call: Call) -> dict[str, Any]:
    row = await execution_of(call)
    unserved = await call.parts.workforce.unserved(row.id) if row.status in LIVE else []
    ledger = await call.parts.projected.ledger(row)
    return reading.shown(row.id, ledger.progress, ledger.timeline, unserved)


async def summarize_execution(call: Call) -> dict[str, Any]:
    row = await execution_of(call)
    loaded = await call.parts.catalog.loaded(row.sha, [])
    ledger = await call.parts.projected.ledger(row)
    return summary(row.id, ledger.progress, list(loaded.playbook.steps))


async def show_state(call: Call) -> dict[str, Any]:
    query: StateQuery = call.query
    return await replaying.state_at(call.parts.store, (await execution_of(call)).id, query.at)


async def verify_execution(call: Call) -> dict[str, Any]:
    return await verify(call.parts.store, (await execution_of(call)).id)


# --- acting ----------------------------------------------------------------------------------------------------------


async def cancel_execution(call: Call) -> dict[str, Any]:
    body: Cancel = call.body
    return await call.parts.desk.cancel((await execution_of(call)).id, body.reason)


async def signal_execution(call: Call) -> dict[str, Any]:
    body: Signal = call.body
    return await call.parts.desk.signal((await execution_of(call)).id, body.set)


async def resume_execution(call: Call) -> dict[str, Any]:
    return await call.parts.desk.resume((await execution_of(call)).id)


ONE = "/api/v1/executions/{execution_id}"
OPERATIONS = (
    Operation(
        method="GET",
        path=ONE,
        role=VIEWER,
        summary="Show an execution: its step runs, children and what it waits for",
        handler=show_execution,
        tag=TAG,
        answers={200: Shown},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path=f"{ONE}/summary",
        role=VIEWER,
        summary="Sum an execution up, as `noetl run --format json` does",
        handler=summarize_execution,
        tag=TAG,
        answers={200: Summary},
        refusals=(404, 422),
    ),
    Operation(
        method="GET",
        path=f"{ONE}/state",
        role=VIEWER,
        summary="Show the state after any event",
        handler=show_state,
        tag=TAG,
        query=StateQuery,
        answers={200: StateDocument},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path=f"{ONE}/verify",
        role=VIEWER,
        summary="Audit the log of an execution",
        handler=verify_execution,
        tag=TAG,
        answers={200: Verified},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/cancel",
        role=RUNNER,
        summary="Cancel an execution",
        handler=cancel_execution,
        tag=TAG,
        body=Cancel,
        answers={200: StatusRow},
        refusals=(404, 409),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/signal",
        role=RUNNER,
        summary="Write to the ctx of an execution that waits",
        handler=signal_execution,
        tag=TAG,
        body=Signal,
        answers={200: StatusRow},
        refusals=(404, 409, 422),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/resume",
        role=RUNNER,
        summary="Take an execution up where its log ends",
        handler=resume_execution,
        tag=TAG,
        body=Nothing,
        answers={200: StatusRow},
        refusals=(404, 409),
    ),
)
