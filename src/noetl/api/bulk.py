"""Several executions at once: each is asked for by itself, and what becomes of one does not touch the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from noetl.api.executions import TAG
from noetl.api.house_documents import BulkReport
from noetl.api.listing import Id
from noetl.api.operations import Call, Operation
from noetl.api.problems import problem_of
from noetl.api.sight import visible_execution
from noetl.api.starting import IDEMPOTENCY, idempotency_key
from noetl.control.requests import RerunRequest
from noetl.control.rerun import rerun
from noetl.errors import NoetlError, WrongState
from noetl.identity.roles import RUNNER
from noetl.stores.contract import LIVE, Execution

EXECUTIONS_MAX = 200
SECONDS_MAX = 45.0  # after that the rest is left, so that there is an answer in time


class Bulk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do, to which."""

    action: Literal["cancel", "rerun", "resume"]
    execution_ids: Annotated[list[Id], Meta(min_length=1, max_length=EXECUTIONS_MAX)]
    reason: Annotated[str, Meta(max_length=1000, description="of a cancel")] = ""
    from_failed: Annotated[bool, Meta(description="rerun from the step that failed, not from the beginning")] = False


async def act_on_executions(call: Call) -> dict[str, Any]:
    body, clock = call.body, call.parts.clock
    ends_at = clock.monotonic() + SECONDS_MAX
    results = []
    for execution_id in dict.fromkeys(body.execution_ids):
        if clock.monotonic() < ends_at:
            results.append(await acted_on(call, execution_id))
        else:
            results.append(result_row(execution_id, error="there was no time left for this one; ask again"))
    return {"results": results}


async def acted_on(call: Call, execution_id: str) -> dict[str, Any]:
    """What became of one; what is refused is said, and the next one has its turn."""
    try:
        row = await visible_execution(call, execution_id)
        return result_row(execution_id, new=await ACTIONS[call.body.action](call, row))
    except NoetlError as error:
        return result_row(execution_id, error=problem_of(error, call.trace_id).detail)


def result_row(execution_id: str, new: int | None = None, error: str | None = None) -> dict[str, Any]:
    return {
        "execution_id": execution_id,
        "is_ok": error is None,
        "new_execution_id": None if new is None else str(new),
        "error": error,
    }


async def cancel(call: Call, row: Execution) -> None:
    await call.parts.desk.cancel(row.id, call.body.reason)


async def resume(call: Call, row: Execution) -> None:
    if row.status not in LIVE:
        raise WrongState(f"execution {row.id} has ended ({row.status}); rerun makes a new one of it")
    await call.parts.desk.resume(row.id)


async def begin_again(call: Call, row: Execution) -> int:
    key = idempotency_key(call)
    request = RerunRequest(
        execution_id=row.id,
        is_from_failed=call.body.from_failed,
        request_key=None if key is None else f"{key}/{row.id}",
    )
    return (await rerun(call.parts.desk, call.parts.read_result, request)).execution_id


ACTIONS: dict[str, Callable[[Call, Execution], Awaitable[int | None]]] = {
    "cancel": cancel,
    "resume": resume,
    "rerun": begin_again,
}


OPERATIONS = (
    Operation(
        method="POST",
        path="/api/v1/executions/bulk",
        role=RUNNER,
        summary="Cancel, rerun or resume several executions, each by itself",
        handler=act_on_executions,
        tag=TAG,
        body=Bulk,
        headers={name: f"{purpose}, of each execution that is run again" for name, purpose in IDEMPOTENCY.items()},
        answers={200: BulkReport},
    ),
)
