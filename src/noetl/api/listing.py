"""The list of executions: which of them, newest first, page by page. Only those that the token is for."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl.api.catalog import Path
from noetl.api.cursors import Cursor, Limit, cursor_to, place_in
from noetl.api.documents import ExecutionPage
from noetl.api.operations import Call, Operation
from noetl.api.problems import Refusal
from noetl.api.sight import visible_execution
from noetl.control import reading
from noetl.control.filters import Filters, paths_seen, wanted_of
from noetl.identity.roles import VIEWER

TAG = "executions"
STATUS = "(?:running|waiting|incident|success|failed|cancelled)"
Time = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})$",
        description="as 2026-03-01T12:00:00Z",
    ),
]
Id = Annotated[str, Meta(pattern="^[1-9][0-9]{0,18}$", description="an execution's id")]
Text = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")]
Statuses = Annotated[
    str, Meta(pattern=f"^{STATUS}(?:,{STATUS}){{0,5}}$", description="one status, or several with commas: any of them")
]


class ListQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: Statuses | None = None
    path: Annotated[Path, Meta(description="a playbook's path; with * at its end, all that begin so")] | None = None
    q: Annotated[Text, Meta(description="this text in the path in any case, or the beginning of the id")] | None = None
    id: (
        Annotated[Id, Meta(description="the execution of this id; if there is none, those whose id begins so")] | None
    ) = None
    since: Annotated[Time | None, Meta(description="created then or later")] = None
    until: Annotated[Time | None, Meta(description="created then or before")] = None
    parent: Id | None = None
    is_root: Annotated[bool, Meta(description="true: those that no other called; false: those that one did")] | None = (
        None
    )
    limit: Limit = 100
    cursor: Cursor | None = None


async def list_executions(call: Call) -> dict[str, Any]:
    query: ListQuery = call.query
    if query.id is not None:
        return await named(call, query, query.id)
    filters = Filters(
        status=query.status,
        path=query.path,
        q=query.q,
        since=seconds_of(query.since),
        until=seconds_of(query.until),
        parent_id=None if query.parent is None else (await visible_execution(call, query.parent)).id,
        is_root=query.is_root,
    )
    place = place_in(TAG, query.cursor) if query.cursor else None
    before = place if isinstance(place, int) else None
    wanted = wanted_of(filters, call.identity.path_prefix)
    rows = await call.parts.store.executions(query.limit + 1, before, wanted) if wanted else []
    shown = rows[: query.limit]
    more = cursor_to(TAG, shown[-1].id) if len(rows) > len(shown) else None
    return {"executions": [reading.listed_row(row) for row in shown], "next": more}


async def named(call: Call, query: ListQuery, digits: str) -> dict[str, Any]:
    """All else that a list could be asked for has no place beside an id: it is one page, and short."""
    if query != ListQuery(id=digits, limit=query.limit):
        raise Refusal(400, "bad-query", 'the query: "id" names executions by itself; leave the other filters out')
    paths = paths_seen(call.identity.path_prefix)
    return {"executions": await reading.named(call.parts.store, digits, query.limit, paths), "next": None}


def seconds_of(moment: str | None) -> float | None:
    if moment is None:
        return None
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        raise Refusal(400, "bad-query", "the query: there is no such time; write it as 2026-03-01T12:00:00Z") from None


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
)
