"""What a server looks at when somebody scrapes it: what nobody tells it, because it is simply there.

Comes in: ways to look, handed in by the role that wires. Goes out: numbers by pool. Nothing here is remembered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from noetl.identity.roster import Roster, Seen
from noetl.stores.shared import PoolRow


class PoolWorkers(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of one pool that were seen lately."""

    pool: str
    workers: int
    slots: int
    oldest_heartbeat_seconds: float


async def nobody() -> list[PoolWorkers]:
    return []


async def workers_by_pool(roster: Roster) -> list[PoolWorkers]:
    """Those of a roster that may be thought to be there."""
    pools: dict[str, list[Seen]] = {}
    for seen in await roster.list():
        if roster.is_alive(seen):
            pools.setdefault(seen.profile.pool, []).append(seen)
    now = roster.clock.now()
    return [
        PoolWorkers(
            pool=pool,
            workers=len(there),
            slots=sum(seen.profile.slots for seen in there),
            oldest_heartbeat_seconds=max(0.0, now - min(seen.seen_at for seen in there)),
        )
        for pool, there in sorted(pools.items())
    ]


async def no_pools() -> list[PoolRow]:
    return []


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at when somebody scrapes."""

    live_executions: Callable[[], int] = lambda: 0  # in this server's memory
    waiting_polls: Callable[[], int] = lambda: 0
    pools: Callable[[], Awaitable[Sequence[PoolRow]]] = no_pools
    workers: Callable[[], Awaitable[Sequence[PoolWorkers]]] = nobody
