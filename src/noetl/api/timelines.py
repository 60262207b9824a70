"""An execution over time: its step runs, the iterations of a loop, the attempts of tasks. Pages of rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from noetl.api.cursors import Limit
from noetl.api.executions import ONE, SEQ_MAX
from noetl.api.history_documents import AttemptPage, IterationPage, TimelinePage
from noetl.api.operations import Call, Operation
from noetl.api.problems import Refusal
from noetl.api.sight import execution_of
from noetl.identity.roles import VIEWER
from noetl.projections import pages

TAG = "history"
After = Annotated[int, Meta(ge=0, le=SEQ_MAX, description="`next` of the page before")]
RunNumber = Annotated[int, Meta(ge=1, le=SEQ_MAX, description="the number of a run: of a step, or of an inner loop")]
Index = Annotated[int, Meta(ge=0, le=SEQ_MAX, description="an iteration, from 0")]


class TimelineQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    after: After = 0
    limit: Limit = 500


class IterationQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    run: RunNumber
    status: Literal["done", "failed", "cancelled", "in_flight", "not_started"] | None = None
    after: After = 0
    limit: Limit = 500


class AttemptQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    run: RunNumber | None = None
    iteration: Index | None = None
    after: After = 0
    limit: Limit = 500


async def show_timeline(call: Call) -> dict[str, Any]:
    query: TimelineQuery = call.query
    ledger = await call.parts.projected.ledger(await execution_of(call))
    return pages.timeline_page(ledger, query.after, query.limit)


async def list_iterations(call: Call) -> dict[str, Any]:
    query: IterationQuery = call.query
    ledger = await call.parts.projected.ledger(await execution_of(call))
    found = pages.iteration_page(ledger, query.run, query.status, query.after, query.limit)
    if found is None:
        raise Refusal(404, "no-loop", f"run {query.run} of this execution is no loop, or has not begun one yet")
    return found


async def list_attempts(call: Call) -> dict[str, Any]:
    query: AttemptQuery = call.query
    ledger = await call.parts.projected.ledger(await execution_of(call))
    return pages.attempt_page(ledger, query.run, query.iteration, query.after, query.limit)


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{ONE}/timeline",
        role=VIEWER,
        summary="Show the step runs of an execution over time, with the critical path",
        handler=show_timeline,
        tag=TAG,
        query=TimelineQuery,
        answers={200: TimelinePage},
    ),
    Operation(
        method="GET",
        path=f"{ONE}/iterations",
        role=VIEWER,
        summary="List the iterations of a loop, by index",
        handler=list_iterations,
        tag=TAG,
        query=IterationQuery,
        answers={200: IterationPage},
    ),
    Operation(
        method="GET",
        path=f"{ONE}/attempts",
        role=VIEWER,
        summary="List the attempts of tasks, of one run or iteration or of all",
        handler=list_attempts,
        tag=TAG,
        query=AttemptQuery,
        answers={200: AttemptPage},
    ),
)
