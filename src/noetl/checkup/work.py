"""The work: executions that stand still, jobs that nobody takes, workers that were seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from noetl import __version__
from noetl.checkup.findings import Findings, judged, warn
from noetl.checkup.servers import workers_finding
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.errors import MissingLibrary, StoreTooNew, StoreUnusable, Unreachable
from noetl.identity.roster import Roster, Seen
from noetl.stores.contract import INCIDENT, Store
from noetl.stores.wanted import Wanted

WORK = "work"
SHOWN_MAX = 5
LOOKED_AT_MAX = 1000
WAIT_SECONDS_MAX = 60.0


async def work(settings: Settings) -> Findings:
    store = await opened(settings)
    if store is None:
        return
    try:
        stuck = [str(row.id) for row in await store.executions(LOOKED_AT_MAX, wanted=Wanted(statuses=(INCIDENT,)))]
        yield judged(
            WORK,
            "incidents",
            named(stuck, "execution"),
            is_ok=not stuck,
            fix="noetl show ID says why each stands still; noetl resume ID takes it up again",
        )
        if settings.is_shared:
            async for finding in shared(store):
                yield finding
    finally:
        await store.close()


async def opened(settings: Settings) -> Any:
    """The store to look into; None: there is none yet."""
    try:
        if settings.is_shared:
            from noetl.stores.opening import open_postgres

            return await open_postgres(settings.store_url, is_migrating=False)
        from noetl.stores.sqlite import SqliteStore

        if not settings.store_path.is_file():
            return None
        return await SqliteStore.open(settings.store_path, is_read_only=True)
    except (StoreUnusable, StoreTooNew, Unreachable, MissingLibrary):
        return None  # what is wrong with it is a finding of the store's own


async def shared(store: Any) -> Findings:
    """What several servers leave to each other: followed up by nobody, waiting for nobody."""
    left = [str(row.id) for row in await store.abandoned(LOOKED_AT_MAX)]
    overdue = [str(number) for number in await store.overdue(LOOKED_AT_MAX)]
    fix = "a server takes them up within seconds: if they stay, none runs or none can commit; look at its log"
    yield judged(WORK, "abandoned", named(left, "execution"), is_ok=not left, fix=fix)
    yield judged(WORK, "overdue", named(overdue, "execution"), is_ok=not overdue, fix=fix)
    seen = await living_workers(store)
    yield workers_finding(WORK, count_of(seen), {one.profile.version for one in seen}, __version__)
    polling = {one.profile.pool for one in seen}
    for pool in await store.pools():
        says = f"{pool.ready} ready, {pool.leased} at work, {pool.parked} parked"
        if pool.ready and pool.pool not in polling:
            fix = f"start a worker: noetl worker start --pool {pool.pool}; or correct spec.pool in the playbook"
            yield warn(WORK, f"pool {pool.pool}", f"{says}; no worker polls it", fix)
        else:
            waits = f", the oldest for {pool.oldest_wait_seconds:.0f} s" if pool.ready else ""
            fix = f"more is asked of the pool than it can do: noetl worker scale N --pool {pool.pool}"
            is_ok = pool.oldest_wait_seconds <= WAIT_SECONDS_MAX
            yield judged(WORK, f"pool {pool.pool}", says + waits, is_ok=is_ok, fix=fix)


async def living_workers(store: Store) -> list[Seen]:
    roster = Roster(store, SystemClock())
    return [one for one in await roster.list() if roster.is_alive(one)]


def count_of(seen: Sequence[Seen]) -> str:
    pools = Counter(one.profile.pool for one in seen)
    return ", ".join(f"{pool}: {count}" for pool, count in sorted(pools.items())) or "none was seen in the last minute"


def named(ids: Sequence[str], word: str) -> str:
    if not ids:
        return "none"
    more = f" and {len(ids) - SHOWN_MAX} more" if len(ids) > SHOWN_MAX else ""
    return f"{word}{'s' if len(ids) > 1 else ''} {', '.join(ids[:SHOWN_MAX])}{more}"
