"""Executions with jobs, for tests of stores that several servers share."""

from __future__ import annotations

import asyncio
from typing import Any

from noetl.engine.commands import Key
from noetl.engine.events import StepDone, StepStarted, TaskWaiting
from noetl.stores.contract import Append, Batch, Execution
from noetl.stores.shared import Claimed, Fence, NewJob, QueueChanges, Revoked, SharedStore

POOL, WORKER, OTHER = "default", "worker-1", "worker-2"
TTL_SECONDS, LAPSED_SECONDS = 30.0, -1.0  # of leases that stand, and of leases that have run out as they are given
WAIT_SECONDS_MAX, LOOK_SECONDS = 10.0, 0.02


def job(key: Key, **fields: Any) -> NewJob:
    return NewJob(**{"key": key, "pool": POOL, **fields})


def fence(key: Key, lease: int, n: int, does: str) -> Fence:
    return Fence(key=key, lease=lease, n=n, does=does)


def done(key: Key, lease: int) -> StepDone:
    """What a final report ends with."""
    return StepDone(ts=1000.0, run=key[1], iter=key[2], lease=lease, step="a", output={"status": "ok"})


def waiting(key: Key, lease: int) -> TaskWaiting:
    """What a park ends with."""
    return TaskWaiting(ts=1000.0, run=key[1], iter=key[2], lease=lease, task="call", until=2000.0)


async def start(store: SharedStore, *added: tuple[int, dict[str, Any]], **row: Any) -> tuple[int, list[Key]]:
    """A new execution with one event and these jobs, each given by its run and fields."""
    execution_id = await store.reserve_ids(1)
    execution = Execution(**{"id": execution_id, "sha": "5ha", "path": "orders", "version": 1, **row})
    first = Append(
        execution_id=execution_id, first_seq=1, events=[StepStarted(ts=1.0, run=1, step="a")], status=execution.status
    )
    jobs = [job((execution_id, run, fields.pop("iter", -1)), **fields) for run, fields in added]
    changes = QueueChanges(added=jobs)
    await committed(store, Batch(executions=[execution], appends=[first]), changes=changes)
    return execution_id, [one.key for one in jobs]


async def committed(
    store: SharedStore,
    batch: Batch | None = None,
    *,
    fences: list[Fence] | None = None,
    changes: QueueChanges | None = None,
    tag: int = 7,
) -> tuple[dict[tuple[Key, int], str], list[Revoked]]:
    """One transaction, from begin to commit: the words it gave, and what it took away."""
    transaction = await store.transaction()
    fences = fences or []
    try:
        _, words = await transaction.begin(sorted({one.key[0] for one in fences}), fences)
        return words, await transaction.commit(batch or Batch(), tag, changes or QueueChanges())
    finally:
        await transaction.close()


async def word(store: SharedStore, one: Fence, batch: Batch | None = None, changes: QueueChanges | None = None) -> str:
    """What a report is answered."""
    words, _ = await committed(store, batch, fences=[one], changes=changes)
    return words[one.key, one.lease]


async def claim(store: SharedStore, worker: str, *leases: int, ttl: float = TTL_SECONDS) -> list[Claimed]:
    return await store.claim(worker, POOL, leases, ttl)


async def claimed_soon(store: SharedStore, worker: str, *leases: int, ttl: float = TTL_SECONDS) -> list[Claimed]:
    """A claim of jobs that are ready again after a short while."""
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not (found := await claim(store, worker, *leases, ttl=ttl)):
            await asyncio.sleep(LOOK_SECONDS)
    return found
