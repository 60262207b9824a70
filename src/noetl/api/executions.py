"""Executions: list, look at, act on. Each answer is the document that the command line prints."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl.api.catalog import Path
from noetl.api.cursors import Cursor, Limit, cursor_to, place_in
from noetl.api.documents import (
    ExecutionPage,
    Shown,
    StateDocument,
    Status,
    StatusRow,
    Summary,
    Verified,
)
from noetl.api.operations import Call, Operation
from noetl.api.problems import Refusal
from noetl.api.sight import execution_of, visible_execution
from noetl.control import reading, replaying
from noetl.control.verify import verify
from noetl.identity.roles import RUNNER, VIEWER
from noetl.stores.contract import LIVE, Execution

TAG = "executions"
READS_MAX = 10  # pages of the store that one page is picked from, where a token sees few of them
SEQ_MAX = 2**31 - 1
Seq = Annotated[int, Meta(ge=1, le=SEQ_MAX, description="number of an event")]
Time = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})$",
        description="as 2026-03-01T12:00:00Z",
    ),
]
Id = Annotated[str, Meta(pattern="^[1-9][0-9]{0,18}$", description="an execution's id")]


class ListQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: Status | None = None
    path: Path | None = None
    since: Annotated[Time | None, Meta(description="created then or later")] = None
    until: Annotated[Time | None, Meta(description="created then or before")] = None
    parent: Id | None = None
    limit: Limit = 100
    cursor: Cursor | None = None


class StateQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    at: Seq | None = None


class Cancel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(max_length=1000)] = ""


class Signal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    set: Annotated[dict[str, Any], Meta(min_length=1, max_length=100, description="ctx.name: value")]


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty document."""


# --- looking ---------------------------------------------------------------------------------------------------------


async def list_executions(call: Call) -> dict[str, Any]:
    query: ListQuery = call.query
    parent = None if query.parent is None else (await visible_execution(call, query.parent)).id
    place = place_in(TAG, query.cursor) if query.cursor else None
    before = place if isinstance(place, int) else None
    rows: list[Execution] = []
    for _ in range(READS_MAX):
        page = await call.parts.store.executions(
            query.limit + 1,
            before,
            query.status,
            query.path,
            seconds_of(query.since),
            seconds_of(query.until),
            parent,
        )
        rows += [row for row in page if call.identity.sees(row.path)]
        before = page[-1].id if page else before
        if len(rows) > query.limit or len(page) <= query.limit:
            is_more = len(rows) > query.limit
            break
    else:
        is_more = True
    last = rows[query.limit - 1].id if len(rows) > query.limit else before
    shown = [reading.listed_row(row) for row in rows[: query.limit]]
    return {"executions": shown, "next": cursor_to(TAG, last) if is_more and last is not None else None}


def seconds_of(moment: str | None) -> float | None:
    if moment is None:
        return None
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        raise Refusal(400, "bad-query", "the query: there is no such time; write it as 2026-03-01T12:00:00Z") from None


async def show_execution(call: Call) -> dict[str, Any]:
    row = await execution_of(call)
    unserved = await call.parts.workforce.unserved(row.id) if row.status in LIVE else []
    return await reading.show(call.parts.store, row.id, unserved)


async def summarize_execution(call: Call) -> dict[str, Any]:
    row = await execution_of(call)
    loaded = await call.parts.catalog.loaded(row.sha, [])
    return await reading.summary(call.parts.store, row.id, list(loaded.playbook.steps))


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
        path="/api/v1/executions",
        role=VIEWER,
        summary="List executions, newest first",
        handler=list_executions,
        tag=TAG,
        query=ListQuery,
        answers={200: ExecutionPage},
        refusals=(404,),
    ),
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
