"""Playbooks with their last runs: a line for each path, in its newest version."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl.api.catalog import TAG
from noetl.api.cursors import Cursor, cursor_to, place_in
from noetl.api.house_documents import RecentPage
from noetl.api.listing import Text
from noetl.api.operations import Call, Operation
from noetl.control import reading
from noetl.control.filters import paths_seen
from noetl.engine.events import timestamp
from noetl.identity.roles import VIEWER
from noetl.stores.contract import Execution, Title

KIND = "recent"
PLAYBOOKS_MAX, RUNS_MAX = 200, 100


class RecentQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=PLAYBOOKS_MAX, description="at most so many playbooks")] = 50
    cursor: Cursor | None = None
    runs: Annotated[int, Meta(ge=0, le=RUNS_MAX, description="at most so many runs of each")] = 20
    q: Annotated[Text, Meta(description="this text in the path, whatever the case of its letters")] | None = None


async def list_recent_playbooks(call: Call) -> dict[str, Any]:
    query, store = call.query, call.parts.store
    place = place_in(KIND, query.cursor) if query.cursor else [""]
    after = str(place[0]) if isinstance(place, list) and place else ""
    titles = await store.titles(query.limit + 1, after, paths_seen(call.identity.path_prefix), query.q or "")
    shown = titles[: query.limit]
    runs = await store.recent_executions([title.path for title in shown], query.runs) if query.runs else {}
    more = cursor_to(KIND, [shown[-1].path]) if len(titles) > len(shown) else None
    return {"playbooks": [recent_row(title, runs.get(title.path, [])) for title in shown], "next": more}


def recent_row(title: Title, runs: list[Execution]) -> dict[str, Any]:
    row = {**msgspec.structs.asdict(title), "created_at": timestamp(title.created_at)}
    return {**row, "versions": title.version, "runs": [reading.listed_row(run) for run in runs]}


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/catalog/recent",
        role=VIEWER,
        summary="List playbooks by path, each in its newest version and with its last runs",
        handler=list_recent_playbooks,
        tag=TAG,
        query=RecentQuery,
        answers={200: RecentPage},
    ),
)
