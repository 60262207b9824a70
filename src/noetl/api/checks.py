"""Whether the parts of a server work: store, queue, workers. Each says what it is, or what to do about it."""

from __future__ import annotations

from noetl.api.parts import Check, Workforce
from noetl.clock import Clock
from noetl.control.unserved import reason_of
from noetl.errors import NoetlError
from noetl.stores.contract import Store

REASONS_MAX = 3
STORE, QUEUE, WORKERS = "store", "queue", "workers"
HERE = "jobs are handed out within this process"
NO_NATS = (
    "NATS is not reached now, so workers get no jobs and send no reports: start it, or correct queue.url "
    "(NOETL_QUEUE_URL); it is tried again all the time"
)
NO_WORKER = (
    "no worker is there, so nothing runs: start one with `noetl worker start`, or the server without --no-workers"
)


async def store_check(store: Store, clock: Clock) -> Check:
    """Whether the store answers, and how fast."""
    began = clock.monotonic()
    try:
        await store.executions(1)
    except NoetlError as error:
        return Check(name=STORE, is_ok=False, detail=str(error), seconds=clock.monotonic() - began)
    return Check(name=STORE, is_ok=True, detail=store.name, seconds=clock.monotonic() - began)


def queue_check(*, is_up: bool | None) -> Check:
    """None: there is none between server and workers."""
    if is_up is None:
        return Check(name=QUEUE, is_ok=True, detail=HERE)
    return Check(name=QUEUE, is_ok=is_up, detail="NATS" if is_up else NO_NATS)


async def workers_check(workforce: Workforce, clock: Clock) -> Check:
    """Whether somebody takes the jobs of each pool."""
    began = clock.monotonic()
    try:
        count, pools = await workforce.present(), await workforce.pools()
    except NoetlError as error:
        return Check(name=WORKERS, is_ok=False, detail=str(error), seconds=clock.monotonic() - began)
    reasons = [reason for pool in pools if (reason := reason_of(pool.pool, pool.ready, pool.workers))]
    fault = NO_WORKER if not count else "; ".join(reasons[:REASONS_MAX])
    said = "1 worker is there" if count == 1 else f"{count} workers are there"
    return Check(name=WORKERS, is_ok=not fault, detail=fault or said, seconds=clock.monotonic() - began)
