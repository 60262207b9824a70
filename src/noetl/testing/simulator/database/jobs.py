"""The jobs of a simulated database, for those who hand them out: claimed, held, given back, lost (protocol §6).

Each call is one transaction, and passes over rows that a pump's transaction has locked. Where PostgreSQL leaves an
order open, the lower key comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from noetl.engine.commands import Key
from noetl.stores.shared import (
    BACKOFF_SECONDS,
    BACKOFF_SECONDS_MAX,
    LEASED,
    NAMED_AGAIN_SECONDS,
    PARKED,
    READY,
    Claimed,
    Expiry,
    JobRow,
    PoolRow,
)
from noetl.testing.simulator.database.calls import Caller
from noetl.testing.simulator.database.tables import Holding, Job

Group = tuple[int, int]  # execution, and the run of a local loop


class DatabaseJobs(Caller):
    """See `noetl.stores.shared.SharedStore`."""

    async def claim(self, worker: str, pool: str, leases: Sequence[int], lease_seconds: float) -> list[Claimed]:
        def claim() -> list[Claimed]:
            claims = self._claimed(worker, pool, leases, lease_seconds)
            for one in claims:
                self._database.tell_lease(one.key, one.lease, worker)
            return claims

        return await self._write("claim", claim)

    async def has_ready(self, pool: str) -> bool:
        return await self._read("has_ready", lambda: any(job.pool == pool for job in self._ready(self._now())))

    async def extend(self, worker: str, held: Sequence[tuple[Key, int]], lease_seconds: float) -> list[Key]:
        if not held:
            return []
        return await self._write("extend", lambda: self._extended(worker, held, lease_seconds))

    async def release(self, worker: str, held: Sequence[tuple[Key, int]]) -> int:
        if not held:
            return 0
        return await self._write("release", lambda: self._released(worker, held))

    async def expire(self, limit: int, deliveries_max: int) -> tuple[int, list[Expiry]]:
        return await self._write("expire", lambda: self._expired(limit, deliveries_max))

    async def holds(self, worker: str, key: Key, lease: int) -> bool:
        def is_held() -> bool:
            job = self._tables.jobs.get(key)
            return job is not None and (job.lease, job.worker, job.state) == (lease, worker, LEASED)

        return await self._read("holds", is_held)

    async def holder(self, key: Key, lease: int) -> str | None:
        def found() -> str | None:
            job = self._tables.jobs.get(key)
            return (job.worker or None) if job is not None and job.lease == lease else None

        return await self._read("holder", found)

    async def jobs(self, execution_id: int, limit: int = 1000) -> list[JobRow]:
        def found() -> list[JobRow]:
            jobs = self._tables.jobs
            return [_row(jobs[key]) for key in sorted(key for key in jobs if key[0] == execution_id)[:limit]]

        return await self._read("jobs", found)

    async def pools(self) -> list[PoolRow]:
        def found() -> list[PoolRow]:
            by_pool: dict[str, list[Job]] = {}
            for job in self._tables.jobs.values():
                by_pool.setdefault(job.pool, []).append(job)
            return [_pool(pool, by_pool[pool], self._now()) for pool in sorted(by_pool)]

        return await self._read("pools", found)

    # --- claims ------------------------------------------------------------------------------------------------------

    def _ready(self, now: float) -> list[Job]:
        return [job for job in self._tables.jobs.values() if job.state == READY and job.ready_at <= now]

    def _claimed(self, worker: str, pool: str, leases: Sequence[int], lease_seconds: float) -> list[Claimed]:
        now, is_locked = self._now(), self._database.locks.is_locked
        free = [
            job
            for job in self._ready(now)
            if job.pool == pool and not is_locked(job.key) and self._is_free_for(worker, job, now)
        ]
        picked = sorted(free, key=lambda job: (job.priority, job.ready_at, job.key))[: len(leases)]
        self._hold_loops(worker, picked, now + lease_seconds)
        claimed = []
        for job, fresh in zip(picked, leases, strict=False):
            after = replace(
                job,
                state=LEASED,
                lease=fresh,
                deliveries=job.deliveries + 1,
                last_report=0,
                worker=worker,
                lease_until=now + lease_seconds,
            )
            self._tables.put(self._tables.jobs, job.key, after)
            claimed.append(Claimed(key=job.key, lease=after.lease, deliveries=after.deliveries))
        return claimed

    def _is_free_for(self, worker: str, job: Job, now: float) -> bool:
        """A local loop is somebody's until that has lapsed."""
        held = self._tables.holdings.get(_group(job)) if job.group else None
        return held is None or held.worker == worker or held.until < now

    def _hold_loops(self, worker: str, picked: Sequence[Job], until: float) -> None:
        for group in {_group(job): None for job in picked if job.group}:
            self._tables.put(self._tables.holdings, group, Holding(worker=worker, until=until))

    # --- heartbeats --------------------------------------------------------------------------------------------------

    def _extended(self, worker: str, held: Sequence[tuple[Key, int]], lease_seconds: float) -> list[Key]:
        tables, until = self._tables, self._now() + lease_seconds
        gone: dict[tuple[Key, int], None] = {}
        for key, lease in held:
            job = tables.jobs.get(key)
            if job is None or job.lease != lease or job.worker != worker:
                gone[key, lease] = None
            elif self._is_extended(job):
                tables.put(tables.jobs, key, replace(job, state=LEASED, lease_until=until))
                self._database.tell_extended(key, lease)
                holding = tables.holdings.get(_group(job)) if job.group else None
                if holding is not None and holding.worker == worker:
                    tables.put(tables.holdings, _group(job), replace(holding, until=until))
        return [key for key, _ in gone]

    def _is_extended(self, job: Job) -> bool:
        """One that is ready again, but was not claimed yet, too; not of a local loop, which another may have by now."""
        is_standing = job.state == LEASED or (job.state == READY and not job.group)
        return is_standing and not self._database.locks.is_locked(job.key)

    def _released(self, worker: str, held: Sequence[tuple[Key, int]]) -> int:
        tables, now = self._tables, self._now()
        count = 0
        for key, lease in held:
            job = tables.jobs.get(key)
            if job is None or (job.lease, job.worker, job.state) != (lease, worker, LEASED):
                continue
            if not self._database.locks.is_locked(key):
                deliveries = max(job.deliveries - 1, 0)
                tables.put(tables.jobs, key, replace(job, state=READY, ready_at=now, worker="", deliveries=deliveries))
                self._drop_holding(_group(job))
                self._database.tell_released(key)
                count += 1
        return count

    def _drop_holding(self, group: Group) -> None:
        if group in self._tables.holdings:
            self._tables.remove(self._tables.holdings, group)

    # --- lost workers ------------------------------------------------------------------------------------------------

    def _expired(self, limit: int, deliveries_max: int) -> tuple[int, list[Expiry]]:
        """One that was lost too often stays leased, so that nobody gets it once more before it is ended."""
        tables, now, is_locked = self._tables, self._now(), self._database.locks.is_locked
        late = [
            job
            for job in tables.jobs.values()
            if job.state == LEASED
            and job.lease_until < now
            and (job.deliveries < deliveries_max or job.ready_at <= now)
            and not is_locked(job.key)
        ]
        late = sorted(late, key=lambda job: (job.lease_until, job.key))[:limit]
        lost = []
        for job in late:
            if job.deliveries >= deliveries_max:
                after = replace(job, ready_at=now + NAMED_AGAIN_SECONDS)
                lost.append(Expiry(key=job.key, lease=job.lease))
            else:
                pause_seconds = min(BACKOFF_SECONDS * 2.0 ** (job.deliveries - 1), BACKOFF_SECONDS_MAX)
                after = replace(job, state=READY, ready_at=now + pause_seconds)
            tables.put(tables.jobs, job.key, after)
        self._drop_lapsed_holdings(late, now, limit)
        return len(late) - len(lost), lost

    def _drop_lapsed_holdings(self, late: Sequence[Job], now: float, limit: int) -> None:
        groups = {_group(job) for job in late if job.group}
        lapsed = [group for group, held in self._tables.holdings.items() if held.until < now or group in groups]
        for group in sorted(lapsed)[:limit]:
            self._drop_holding(group)


def _group(job: Job) -> Group:
    return job.key[0], job.group


def _row(job: Job) -> JobRow:
    return JobRow(
        key=job.key,
        pool=job.pool,
        state=job.state,
        worker=job.worker,
        deliveries=job.deliveries,
        ready_at=job.ready_at,
        lease_until=job.lease_until,
        child_key=job.child_key,
    )


def _pool(name: str, jobs: Sequence[Job], now: float) -> PoolRow:
    waits = [now - job.ready_at for job in jobs if job.state == READY and job.ready_at <= now]
    return PoolRow(
        pool=name,
        ready=len(waits),
        leased=sum(job.state == LEASED for job in jobs),
        parked=sum(job.state == PARKED or (job.state == READY and job.ready_at > now) for job in jobs),
        oldest_wait_seconds=max(waits, default=0.0),
    )
