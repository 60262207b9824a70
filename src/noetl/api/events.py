"""Logs: pages of events, and live streams of them as server-sent events.

A stream of one execution carries `id: <seq>`, so a client that comes back with `Last-Event-ID` misses nothing and gets
nothing twice; it ends with `playbook.processed`, and asked for once more it answers 204, at which browsers stop coming
back. The stream of all executions begins with the newest rows and goes on with each that changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from noetl.api.cursors import Limit
from noetl.api.documents import EventPage
from noetl.api.executions import ONE, SEQ_MAX
from noetl.api.identity import is_still_known
from noetl.api.operations import EVENT_STREAM, Call, Media, Operation
from noetl.api.problems import Refusal
from noetl.api.sight import execution_of
from noetl.control import reading
from noetl.control.listening import Item
from noetl.identity.roles import VIEWER
from noetl.ids import is_viewing
from noetl.stores.contract import LIVE, Execution

TAG = "events"
HEARTBEAT_SECONDS = 15.0
RETRY_MS = 2000
OPENING = f"retry: {RETRY_MS}\n\n".encode()
HEARTBEAT = b": still here\n\n"
REVOKED = b": the token of this stream is not known any more\n\n"
After = Annotated[int, Meta(ge=0, le=SEQ_MAX, description="only events after this one")]


class PageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    after: After = 0
    limit: Limit = 500


class StreamQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    after: After | None = None


async def list_events(call: Call) -> dict[str, Any]:
    query: PageQuery = call.query
    row = await execution_of(call)
    made = await call.parts.projected.envelopes(row, query.after)
    found = await reading.envelope_page(call.parts.store, made, query.after, query.limit + 1)
    is_more = len(found) > query.limit
    return {"events": found[: query.limit], "next": query.after + query.limit if is_more else None}


async def stream_events(call: Call) -> Response:
    query: StreamQuery = call.query
    row = await execution_of(call)
    after = last_event_id(call) if query.after is None else query.after
    if is_over(row) and after >= row.head:
        return Response(status_code=204)
    names = await call.parts.projected.envelopes(row, after)
    return streamed(call.parts.watching.events(row.id, after, names), call)


def is_over(row: Execution) -> bool:
    """Whether nothing can follow: it has ended, or it is one that was exported, as it stood then."""
    return row.status not in LIVE or is_viewing(row.id)


def last_event_id(call: Call) -> int:
    """Where a client that comes back was."""
    given = call.request.headers.get("last-event-id", "0")
    if not given.isascii() or not given.isdecimal() or len(given) > len(str(SEQ_MAX)):
        raise Refusal(400, "bad-last-event-id", "Last-Event-ID is the id of an event of this stream, a number")
    return int(given)


async def stream_executions(call: Call) -> Response:
    return streamed(call.parts.watching.statuses.rows(), call)


def streamed(items: AsyncIterator[Item | str], call: Call) -> Response:
    return StreamingResponse(frames(items, call), media_type=EVENT_STREAM)


async def frames(items: AsyncIterator[Item | str], call: Call) -> AsyncIterator[bytes]:
    """What is told, as server-sent events; a comment now and then, so that both sides notice a broken connection.

    A stream does not outlive its token for longer than HEARTBEAT_SECONDS.
    """
    yield OPENING
    coming = asyncio.ensure_future(anext(items))
    asked_at = call.parts.clock.monotonic()
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=HEARTBEAT_SECONDS)
            if call.parts.clock.monotonic() - asked_at >= HEARTBEAT_SECONDS:
                if not await is_still_known(call.parts.authority, call.request):
                    yield REVOKED
                    return
                asked_at = call.parts.clock.monotonic()
            if not done:
                yield HEARTBEAT
                continue
            try:
                told = coming.result()
            except StopAsyncIteration:
                return
            if isinstance(told, str):
                yield f": {told}\n\n".encode()
                return
            if not told.path or call.identity.sees(told.path):
                yield frame(told)
            coming = asyncio.ensure_future(anext(items))
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
        await items.aclose()  # type: ignore[attr-defined]  # it is a generator


def frame(item: Item) -> bytes:
    place = f"id: {item.seq}\n" if item.seq else ""
    return b"%sevent: %s\ndata: %s\n\n" % (place.encode(), item.name.encode(), item.data)


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/executions/stream",
        role=VIEWER,
        summary="Follow all executions: the newest rows, then each whose status changes",
        handler=stream_executions,
        tag=TAG,
        answers={200: Media(EVENT_STREAM, "events `execution`, whose data is a row of the list")},
        is_stream=True,
    ),
    Operation(
        method="GET",
        path=f"{ONE}/events",
        role=VIEWER,
        summary="List the events of an execution",
        handler=list_events,
        tag=TAG,
        query=PageQuery,
        answers={200: EventPage},
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path=f"{ONE}/events/stream",
        role=VIEWER,
        summary="Follow the events of an execution until it ends",
        handler=stream_events,
        tag=TAG,
        query=StreamQuery,
        headers={"Last-Event-ID": "the last event that arrived; `after` wins over it"},
        answers={
            200: Media(EVENT_STREAM, "each event under its name, with its seq as id; data is the event's document"),
            204: None,
        },
        refusals=(404,),
        is_stream=True,
    ),
)
