"""Workers and pools: who is there, what waits, and why."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.api.documents import Pools, Workers
from noetl.api.operations import Call, Operation
from noetl.api.parts import Pool, SeenWorker
from noetl.control.identity import VIEWER
from noetl.engine.events import timestamp

TAG = "workers"


async def list_workers(call: Call) -> dict[str, Any]:
    force = call.parts.workforce
    return {"workers": [worker_row(worker) for worker in await force.workers()] if force else []}


def worker_row(worker: SeenWorker) -> dict[str, Any]:
    return {**msgspec.to_builtins(worker), "seen_at": timestamp(worker.seen_at)}


async def list_pools(call: Call) -> dict[str, Any]:
    force = call.parts.workforce
    return {"pools": [pool_row(pool) for pool in await force.pools()] if force else []}


def pool_row(pool: Pool) -> dict[str, Any]:
    return {**msgspec.to_builtins(pool), "reason": reason_of(pool)}


def reason_of(pool: Pool) -> str | None:
    """Why jobs wait where nobody takes them."""
    if not pool.ready or pool.workers:
        return None
    jobs = "1 job waits" if pool.ready == 1 else f"{pool.ready} jobs wait"
    return (
        f'{jobs} and no worker polls the pool "{pool.pool}": start one with '
        f"`noetl worker start --pool {pool.pool}`, or correct `spec.pool` in the playbook"
    )


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
