"""What an execution said: lines that its tasks printed and facts in words, in pages and as a live stream."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from noetl.api.cursors import Limit
from noetl.api.events import is_over, last_event_id, streamed
from noetl.api.executions import ONE
from noetl.api.history_documents import Level, LogPage
from noetl.api.operations import EVENT_STREAM, Call, Media, Operation
from noetl.api.sight import execution_of
from noetl.api.timelines import TAG, After, Index, RunNumber
from noetl.identity.roles import VIEWER
from noetl.projections.lines import Sought

Name = Annotated[str, Meta(min_length=1, max_length=255)]
Text = Annotated[str, Meta(min_length=1, max_length=200)]


class LogStreamQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which lines; all that are given must hold."""

    step: Annotated[Name | None, Meta(description="only lines of this step")] = None
    run: RunNumber | None = None
    iteration: Index | None = None
    task: Annotated[Name | None, Meta(description="only lines of this task")] = None
    level: Annotated[Level | None, Meta(description="this level and those above it")] = None
    q: Annotated[Text | None, Meta(description="text that stands in the line, in whatever letters")] = None
    after: After | None = None


class LogQuery(LogStreamQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Limit = 500


async def list_lines(call: Call) -> dict[str, Any]:
    query: LogQuery = call.query
    row = await execution_of(call)
    return await call.parts.lines.page(row, sought(query), query.after or 0, query.limit)


async def stream_lines(call: Call) -> Response:
    query: LogStreamQuery = call.query
    row = await execution_of(call)
    after = last_event_id(call) if query.after is None else query.after
    if is_over(row) and after >= row.head:
        return Response(status_code=204)
    return streamed(call.parts.lines.stream(row, sought(query), after), call)


def sought(query: LogStreamQuery) -> Sought:
    return Sought(
        step=query.step,
        run=query.run,
        iteration=query.iteration,
        task=query.task,
        level=query.level,
        text=query.q,
    )


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{ONE}/logs",
        role=VIEWER,
        summary="List what tasks printed and what happened, as lines",
        handler=list_lines,
        tag=TAG,
        query=LogQuery,
        answers={200: LogPage},
    ),
    Operation(
        method="GET",
        path=f"{ONE}/logs/stream",
        role=VIEWER,
        summary="Follow the lines of an execution until it ends",
        handler=stream_lines,
        tag=TAG,
        query=LogStreamQuery,
        headers={"Last-Event-ID": "the last id that arrived; `after` wins over it"},
        answers={
            200: Media(EVENT_STREAM, "events `line`, whose data is a line; the last of an event's lines has its seq"),
            204: None,
        },
        is_stream=True,
    ),
)
