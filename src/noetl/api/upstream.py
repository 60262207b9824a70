"""The paths that clients of the public NoETL server call, answered where the meaning is the same (UP-10).

They are other words for operations of /api/v1 and need the same roles: nothing can be done here that cannot be done
there.
"""

from __future__ import annotations

from typing import Any

from noetl.api import upstream_catalog, upstream_credentials
from noetl.api import upstream_shapes as shapes
from noetl.api.documents import Alive
from noetl.api.health import is_alive
from noetl.api.operations import Call
from noetl.api.sight import execution_of, playbook_of
from noetl.api.upstream_catalog import name_of
from noetl.api.upstream_shapes import upstream_operation
from noetl.control import reading
from noetl.control.filters import Filters, wanted_of
from noetl.control.requests import RunRequest
from noetl.engine.events import timestamp
from noetl.identity.roles import RUNNER, VIEWER
from noetl.projections.runs import SUCCESS
from noetl.stores.contract import FAILED, LIVE, Execution

EVENTS_MAX = 1000
WORDS = {"success": "COMPLETED", "failed": "FAILED", "cancelled": "CANCELLED"}  # all else is RUNNING


async def execute_playbook(call: Call) -> dict[str, Any]:
    body: shapes.Execute = call.body
    path, version = name_of(body.path, body.version, body.catalog_id)
    await playbook_of(call, path, version)
    request = RunRequest(path=path, version=version, payload=body.given, trace_id=call.trace_id)
    started = await call.parts.desk.start(request)
    return execution_row(await reading.row_of(call.parts.store, started.execution_id))


async def run_playbook(call: Call) -> dict[str, Any]:
    return await execute_playbook(call)


def word_of(status: str) -> str:
    return WORDS.get(status, "RUNNING")


async def list_executions_upstream(call: Call) -> list[dict[str, Any]]:
    query: shapes.ExecutionsQuery = call.query
    wanted = wanted_of(Filters(path=query.path), call.identity.path_prefix)
    rows = await call.parts.store.executions(query.limit, wanted=wanted) if wanted else []
    return [execution_row(row) for row in rows]


def execution_row(row: Execution) -> dict[str, Any]:
    return {
        "execution_id": str(row.id),
        "path": row.path,
        "version": row.version,
        "status": word_of(row.status),
        "start_time": timestamp(row.created_at),
        "end_time": None if row.ended_at is None else timestamp(row.ended_at),
        "duration_seconds": None if row.ended_at is None else row.ended_at - row.created_at,
        "parent_execution_id": None if row.parent_id is None else str(row.parent_id),
    }


async def show_execution_upstream(call: Call) -> dict[str, Any]:
    row = await execution_of(call)
    return execution_row(row) | {"events": await event_rows(call, row.id)}


async def list_events_upstream(call: Call) -> dict[str, Any]:
    return {"events": await event_rows(call, (await execution_of(call)).id)}


async def event_rows(call: Call, execution_id: int) -> list[dict[str, Any]]:
    """The first EVENTS_MAX events; whoever needs more takes the pages of /api/v1."""
    found: list[dict[str, Any]] = []
    async for event in reading.envelopes(call.parts.store, execution_id, 0):
        found.append(event_row(event))
        if len(found) >= EVENTS_MAX:
            break
    return found


def event_row(event: dict[str, Any]) -> dict[str, Any]:
    return {
        "execution_id": event["execution_id"],
        "event_id": int(event["event_id"].rpartition("-")[2]),
        "event_type": event["name"],
        "node_name": event.get("step"),
        "status": event["status"],
        "timestamp": event["timestamp"],
    }


async def show_status_upstream(call: Call) -> dict[str, Any]:
    row = await execution_of(call)
    progress = await reading.progress_of(call.parts.store, row.id)
    steps = list(progress.steps)
    error = progress.error or {}
    return {
        "execution_id": str(row.id),
        "status": word_of(row.status),
        "completed": row.status not in LIVE,
        "failed": row.status == FAILED,
        "current_step": next((step.step for step in steps if step.status == "running"), None),
        "completed_steps": [step.step for step in steps if step.status == SUCCESS],
        "error": error.get("message"),
    }


async def cancel_upstream(call: Call) -> dict[str, Any]:
    row = await execution_of(call)
    found = await call.parts.desk.cancel(row.id, (call.body.reason or "")[:1000])
    return {"execution_id": found["execution_id"], "status": word_of(found["status"])}


async def is_alive_upstream(call: Call) -> dict[str, Any]:
    return await is_alive(call)


ONE = "/executions/{execution_id}"
START: dict[str, Any] = {"body": shapes.Execute, "refusals": (404, 422)}
OPERATIONS = (
    upstream_operation("GET", "/health", VIEWER, "Say that the server answers", is_alive_upstream, Alive),
    upstream_operation(
        "POST", "/execute", RUNNER, "Start a registered playbook", execute_playbook, shapes.ExecutionUpstream, **START
    ),
    upstream_operation(
        "POST", "/run/playbook", RUNNER, "Start a registered playbook", run_playbook, shapes.ExecutionUpstream, **START
    ),
    upstream_operation(
        "GET",
        "/executions",
        VIEWER,
        "List executions",
        list_executions_upstream,
        list[shapes.ExecutionUpstream],
        query=shapes.ExecutionsQuery,
    ),
    upstream_operation("GET", ONE, VIEWER, "Show an execution", show_execution_upstream, shapes.ExecutionUpstream),
    upstream_operation(
        "GET", f"{ONE}/status", VIEWER, "Say how far an execution is", show_status_upstream, shapes.StatusUpstream
    ),
    upstream_operation(
        "GET", f"{ONE}/events", VIEWER, "List the first events", list_events_upstream, shapes.EventsUpstream
    ),
    upstream_operation(
        "POST",
        f"{ONE}/cancel",
        RUNNER,
        "Cancel an execution",
        cancel_upstream,
        shapes.CancelledUpstream,
        body=shapes.CancelUpstream,
        refusals=(409,),
    ),
    *upstream_catalog.OPERATIONS,
    *upstream_credentials.OPERATIONS,
)
