"""Workers and pools: who is there, what waits, and why."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.api.documents import Pools, Workers
from noetl.api.operations import Call, Operation
from noetl.api.parts import Pool, SeenWorker
from noetl.control.unserved import reason_of
from noetl.engine.events import timestamp
from noetl.identity.roles import VIEWER

TAG = "workers"


async def list_workers(call: Call) -> dict[str, Any]:
    return {"workers": [worker_row(worker) for worker in await call.parts.workforce.workers()]}


def worker_row(worker: SeenWorker) -> dict[str, Any]:
    return {**msgspec.to_builtins(worker), "seen_at": timestamp(worker.seen_at)}


async def list_pools(call: Call) -> dict[str, Any]:
    return {"pools": [pool_row(pool) for pool in await call.parts.workforce.pools()]}


def pool_row(pool: Pool) -> dict[str, Any]:
    return {**msgspec.to_builtins(pool), "reason": reason_of(pool.pool, pool.ready, pool.workers)}


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/workers",
        role=VIEWER,
        summary="List the workers that were seen",
        handler=list_workers,
        tag=TAG,
        answers={200: Workers},
    ),
    Operation(
        method="GET",
        path="/api/v1/pools",
        role=VIEWER,
        summary="List pools: what is ready, leased and parked, the oldest wait, and why jobs wait",
        handler=list_pools,
        tag=TAG,
        answers={200: Pools},
    ),
)
