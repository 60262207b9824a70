"""Jobs that wait for nobody: ready, in a pool that no worker polls.

Comes in: how many jobs are ready in each pool, and who was seen. Goes out: those of pools without a worker, with the
reason, in words. For people alone: a job waits without a limit, and the first worker of its pool takes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from noetl.config import POOL
from noetl.identity.roster import Roster
from noetl.stores.shared import READY, SharedStore


class Unserved(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of one pool, and why nobody takes them."""

    pool: str
    jobs: int
    reason: str


def reason_of(pool: str, ready: int, workers: int) -> str | None:
    """Why jobs wait where nobody takes them; None: somebody does, or none waits."""
    if not ready or workers:
        return None
    jobs = "1 job waits" if ready == 1 else f"{ready} jobs wait"
    if not POOL.fullmatch(pool):
        return (
            f'{jobs} and no worker can join the pool "{pool}", whose name is not of letters, digits, - and _: cancel '
            "the execution and correct `spec.pool` in the playbook"
        )
    return (
        f'{jobs} and no worker polls the pool "{pool}": start one with '
        f"`noetl worker start --pool {pool}`, or correct `spec.pool` in the playbook"
    )


def unserved_of(ready: Mapping[str, int], workers: Mapping[str, int]) -> list[Unserved]:
    """By pool: how many are ready, and how many workers poll it."""
    reasons = {pool: reason_of(pool, count, workers.get(pool, 0)) for pool, count in sorted(ready.items())}
    return [Unserved(pool=pool, jobs=ready[pool], reason=reason) for pool, reason in reasons.items() if reason]


async def unserved(store: SharedStore, roster: Roster, execution_id: int) -> list[Unserved]:
    """Of one execution, where servers share a store."""
    ready = Counter(job.pool for job in await store.jobs(execution_id) if job.state == READY)
    if not ready:
        return []  # most often: the workers need not be looked at
    return unserved_of(ready, Counter(seen.profile.pool for seen in await roster.list() if roster.is_alive(seen)))
