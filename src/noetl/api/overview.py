"""What the first page asks: who asks, of which server, and how things stand. Each sees what their token is for."""

from __future__ import annotations

from typing import Any

from noetl import __version__
from noetl.api.house_documents import IdentityShown, Overview
from noetl.api.operations import Call, Operation
from noetl.control.filters import paths_seen
from noetl.control.tallies import Hour
from noetl.engine.events import timestamp
from noetl.identity.roles import VIEWER

TAG = "overview"
SCHEDULES_MAX = 10
LIVE = ("running", "waiting", "incident")
ENDED = ("success", "failed", "cancelled")
COMING = ("name", "path", "next_at", "state")


async def show_identity(call: Call) -> dict[str, Any]:
    identity, settings = call.identity, call.parts.settings
    return {
        "name": identity.name,
        "role": identity.role,
        "path_prefix": identity.path_prefix,
        "version": __version__,
        "is_embedded": not settings.is_shared,
        "store": "postgresql" if settings.is_shared else "sqlite",
        "now": timestamp(call.parts.clock.now()),
    }


async def show_overview(call: Call) -> dict[str, Any]:
    tallies, paths = call.parts.tallies, paths_seen(call.identity.path_prefix)
    live, hours = await tallies.live(paths), await tallies.day(paths)
    return {
        **{status: live.get(status, 0) for status in LIVE},
        **{f"{status}_day": sum(hour.ended.get(status, 0) for hour in hours) for status in ENDED},
        "hours": [hour_row(hour) for hour in hours],
        "schedules": await coming(call),
    }


def hour_row(hour: Hour) -> dict[str, Any]:
    return {"at": timestamp(hour.began_at), **{status: hour.ended.get(status, 0) for status in ENDED}}


async def coming(call: Call) -> list[dict[str, Any]]:
    """The schedules that are due soonest."""
    if call.parts.schedules is None:
        return []
    rows = await call.parts.schedules.coming(SCHEDULES_MAX, call.identity.sees)
    return [{name: row[name] for name in COMING} for row in rows]


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/identity",
        role=VIEWER,
        summary="Say who asks, with which role, and what the server is",
        handler=show_identity,
        tag=TAG,
        answers={200: IdentityShown},
    ),
    Operation(
        method="GET",
        path="/api/v1/overview",
        role=VIEWER,
        summary="Show how things stand: what is under way, what ended in the last 24 hours, what is due next",
        handler=show_overview,
        tag=TAG,
        answers={200: Overview},
    ),
)
