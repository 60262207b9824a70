"""Jobs, one by one: what waits, who holds what, and for how long yet."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from noetl.api.house_documents import Jobs
from noetl.api.operations import Call, Operation
from noetl.api.parts import WantedJobs
from noetl.api.workers import TAG
from noetl.identity.roles import VIEWER

JOBS_MAX = 500
Word = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")]


class JobsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pool: Annotated[Word, Meta(description="only of this pool")] | None = None
    worker: Annotated[Word, Meta(description="only those that this worker holds")] | None = None
    state: Literal["ready", "leased", "parked"] | None = None
    limit: Annotated[int, Meta(ge=1, le=JOBS_MAX, description="at most so many")] = 200


async def list_jobs(call: Call) -> dict[str, Any]:
    query: JobsQuery = call.query
    wanted = WantedJobs(
        pool=query.pool or "",
        worker=query.worker or "",
        state=query.state or "",
        path_prefix=call.identity.path_prefix,
    )
    found = await call.parts.workforce.jobs(query.limit + 1, wanted)
    shown = [msgspec.structs.asdict(job) for job in found[: query.limit]]
    return {"jobs": shown, "is_cut": len(found) > query.limit}


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/jobs",
        role=VIEWER,
        summary="List jobs: what waits, who holds what, and for how long yet",
        handler=list_jobs,
        tag=TAG,
        query=JobsQuery,
        answers={200: Jobs},
    ),
)
