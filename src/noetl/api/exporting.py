"""An execution as a file: exported whole, and brought to a server to be looked at."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from noetl.api.executions import ONE
from noetl.api.history_documents import ViewingRow
from noetl.api.operations import Call, Media, Operation
from noetl.api.problems import Refusal
from noetl.api.sight import execution_of, owner_of
from noetl.api.timelines import TAG
from noetl.control.brought import FILE_BYTES_MAX, Damaged
from noetl.control.exported import exported, file_name
from noetl.control.exported_payloads import PAYLOADS_BYTES_MAX, Payloads
from noetl.control.viewings import viewing_of
from noetl.engine.events import timestamp
from noetl.identity.roles import VIEWER

NDJSON = "application/x-ndjson"
BRINGING = "bring payloads along, as many as this has room for; without it none"
BRINGING_MAX = 2  # at once: each holds its file in memory twice


class ExportQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    payload_bytes_max: Annotated[int, Meta(ge=0, le=PAYLOADS_BYTES_MAX, description=BRINGING)] | None = None


async def export_execution(call: Call) -> Response:
    query: ExportQuery = call.query
    row = await execution_of(call)
    bytes_max = query.payload_bytes_max
    payloads = None if bytes_max is None else Payloads(row.id, call.parts.read_result, bytes_max)
    pieces = exported(call.parts.store, row.id, call.parts.clock.now(), payloads)
    headers = {"Content-Disposition": f'attachment; filename="{file_name(row)}"'}
    return StreamingResponse(pieces, 200, headers, NDJSON)


async def bring_viewing(call: Call) -> dict[str, Any]:
    parts = call.parts
    try:
        viewing = await asyncio.to_thread(viewing_of, call.raw, owner_of(call), parts.catalog.kinds, parts.clock)
    except Damaged as fault:
        raise Refusal(422, "damaged-export", str(fault)) from None
    parts.viewings.hold(viewing)
    return {
        "execution_id": str(viewing.execution_id),
        "path": viewing.row.path,
        "events": viewing.row.head,
        "expires_at": timestamp(viewing.expires_at),
    }


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{ONE}/export",
        role=VIEWER,
        summary="Export an execution: its row, its playbooks, its whole log and its payloads, as one file",
        handler=export_execution,
        tag=TAG,
        query=ExportQuery,
        answers={200: Media(NDJSON, "a header, then one event a line, as stored; then payloads, if asked for")},
    ),
    Operation(
        method="POST",
        path="/api/v1/viewings",
        role=VIEWER,
        summary="Bring an exported execution, to look at it for an hour",
        handler=bring_viewing,
        tag=TAG,
        body_media=(NDJSON,),
        body_bytes_max=FILE_BYTES_MAX,
        at_once_max=BRINGING_MAX,
        answers={201: ViewingRow},
        refusals=(422,),
    ),
)
