"""The jobs of a PostgreSQL store, for those who hand them out: claimed, held, given back, lost (protocol §6).

Each is one statement and one transaction, and passes over rows that somebody else has locked. Jobs of a local loop go
to the worker that holds the loop (`holding`), each under a number of its own: a number that the whole loop shares would
be given twice after a failover that lost the claim and not the holding. A holding that lapsed is as good as none.

Where jobs are looked up by key, states are parameters and not numbers in the text: otherwise the planner may prefer the
index of all leased jobs, which is small when it looks and large when the statement runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from noetl.engine.commands import Key
from noetl.stores.postgres_connections import Connections
from noetl.stores.postgres_rows import Row
from noetl.stores.postgres_values import Bigints
from noetl.stores.postgres_writes import key_columns
from noetl.stores.shared import (
    BACKOFF_SECONDS,
    BACKOFF_SECONDS_MAX,
    LEASED,
    NAMED_AGAIN_SECONDS,
    READY,
    Claimed,
    Expiry,
    JobRow,
    PoolRow,
)

STATES = {"ready": READY, "leased": LEASED}

CLAIM = b"""
WITH picked AS MATERIALIZED (
    SELECT j.execution_id, j.run, j.iter, j.grp, j.priority, j.ready_at FROM job j
    WHERE j.pool = %(pool)s AND j.state = 0 AND j.ready_at <= now_seconds()
      AND (j.grp = 0 OR NOT EXISTS (
          SELECT FROM holding h
          WHERE h.execution_id = j.execution_id AND h.grp = j.grp
            AND h.worker <> %(worker)s AND h.until >= now_seconds()
      ))
    ORDER BY j.priority, j.ready_at LIMIT %(count)s FOR UPDATE OF j SKIP LOCKED
), offered AS (
    SELECT *, (%(leases)s)[row_number() OVER (ORDER BY priority, ready_at)] AS fresh FROM picked
), held AS (
    INSERT INTO holding AS h (execution_id, grp, worker, until)
    SELECT execution_id, grp, %(worker)s, now_seconds() + %(ttl)s FROM offered WHERE grp <> 0
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (execution_id, grp) DO UPDATE SET worker = excluded.worker, until = excluded.until
    WHERE h.worker = excluded.worker OR h.until < now_seconds()
    RETURNING execution_id, grp
)
UPDATE job j
SET state = 1, lease = o.fresh, deliveries = j.deliveries + 1, last_report = 0,
    worker = %(worker)s, lease_until = now_seconds() + %(ttl)s
FROM offered o LEFT JOIN held ON held.execution_id = o.execution_id AND held.grp = o.grp
WHERE j.execution_id = o.execution_id AND j.run = o.run AND j.iter = o.iter AND (o.grp = 0 OR held.grp IS NOT NULL)
RETURNING j.execution_id, j.run, j.iter, j.lease, j.deliveries, j.priority, o.ready_at
"""
# A job that is ready again, but was not claimed yet, is leased again: its worker was only out of reach. One of a local
# loop is not, since another worker may hold the loop by now.
EXTEND = b"""
WITH told AS MATERIALIZED (
    SELECT * FROM unnest(%(executions)s, %(runs)s, %(iters)s, %(leases)s) AS d (execution_id, run, iter, lease)
), standing AS MATERIALIZED (
    SELECT execution_id, run, iter, lease FROM told JOIN job j USING (execution_id, run, iter, lease)
    WHERE j.worker = %(worker)s
), mine AS MATERIALIZED (
    SELECT j.execution_id, j.run, j.iter, j.grp FROM told JOIN job j USING (execution_id, run, iter, lease)
    WHERE j.worker = %(worker)s AND (j.state = %(leased)s OR j.state = %(ready)s AND j.grp = 0)
    FOR UPDATE OF j SKIP LOCKED
), extended AS (
    UPDATE job j SET state = 1, lease_until = now_seconds() + %(ttl)s FROM mine
    WHERE j.execution_id = mine.execution_id AND j.run = mine.run AND j.iter = mine.iter
), loops AS MATERIALIZED (
    SELECT h.execution_id, h.grp FROM holding h
    WHERE h.worker = %(worker)s AND (h.execution_id, h.grp) IN (SELECT execution_id, grp FROM mine WHERE grp <> 0)
    FOR UPDATE SKIP LOCKED
), kept AS (
    UPDATE holding h SET until = now_seconds() + %(ttl)s FROM loops
    WHERE h.execution_id = loops.execution_id AND h.grp = loops.grp
)
SELECT execution_id, run, iter, lease FROM told EXCEPT SELECT execution_id, run, iter, lease FROM standing
"""
RELEASE = b"""
WITH mine AS MATERIALIZED (
    SELECT j.execution_id, j.run, j.iter, j.grp
    FROM unnest(%s, %s, %s, %s) AS d (execution_id, run, iter, lease) JOIN job j USING (execution_id, run, iter, lease)
    WHERE j.worker = %s AND j.state = %s
    FOR UPDATE OF j SKIP LOCKED
), released AS (
    UPDATE job j
    SET state = 0, ready_at = now_seconds(), worker = '', deliveries = greatest(j.deliveries - 1, 0) FROM mine
    WHERE j.execution_id = mine.execution_id AND j.run = mine.run AND j.iter = mine.iter
    RETURNING 1
), loops AS MATERIALIZED (
    SELECT h.execution_id, h.grp FROM holding h
    WHERE (h.execution_id, h.grp) IN (SELECT execution_id, grp FROM mine WHERE grp <> 0)
    FOR UPDATE SKIP LOCKED
), dropped AS (
    DELETE FROM holding h USING loops WHERE h.execution_id = loops.execution_id AND h.grp = loops.grp
)
SELECT count(*) FROM released
"""
# One that was lost too often stays as it is, so that nobody gets it once more before it is ended.
EXPIRE = b"""
WITH late AS MATERIALIZED (
    SELECT execution_id, run, iter, grp, deliveries >= %(max)s AS is_lost FROM job
    WHERE state = 1 AND lease_until < now_seconds() AND (deliveries < %(max)s OR ready_at <= now_seconds())
    ORDER BY lease_until LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), ended AS (
    UPDATE job j
    SET state = late.is_lost::integer,
        ready_at = now_seconds() + CASE WHEN late.is_lost THEN %(again)s
                                        ELSE least(%(backoff)s * 2 ^ (j.deliveries - 1), %(backoff_max)s) END
    FROM late WHERE j.execution_id = late.execution_id AND j.run = late.run AND j.iter = late.iter
    RETURNING j.execution_id, j.run, j.iter, j.lease, late.is_lost
), loops AS MATERIALIZED (
    SELECT h.execution_id, h.grp FROM holding h
    WHERE h.until < now_seconds() OR (h.execution_id, h.grp) IN (SELECT execution_id, grp FROM late WHERE grp <> 0)
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), dropped AS (
    DELETE FROM holding h USING loops WHERE h.execution_id = loops.execution_id AND h.grp = loops.grp
)
SELECT * FROM ended
"""
HOLDS = b"""
SELECT 1 FROM job WHERE execution_id = %s AND run = %s AND iter = %s AND lease = %s AND worker = %s AND state = %s
"""
HAS_READY = b"SELECT 1 FROM job WHERE pool = %s AND state = 0 AND ready_at <= now_seconds() LIMIT 1"
HOLDER = b"SELECT worker FROM job WHERE execution_id = %s AND run = %s AND iter = %s AND lease = %s AND worker <> ''"
JOBS = b"""
SELECT execution_id, run, iter, pool, state, worker, deliveries, ready_at, lease_until, coalesce(child_key, '')
FROM job WHERE execution_id = %s ORDER BY run, iter LIMIT %s
"""
POOLS = b"""
SELECT pool,
       count(*) FILTER (WHERE state = 0 AND ready_at <= now_seconds()),
       count(*) FILTER (WHERE state = 1),
       count(*) FILTER (WHERE state = 2 OR state = 0 AND ready_at > now_seconds()),
       coalesce(now_seconds() - min(ready_at) FILTER (WHERE state = 0 AND ready_at <= now_seconds()), 0)
FROM job GROUP BY pool ORDER BY pool
"""


class PostgresJobs:
    """See `noetl.stores.shared.SharedStore`; whoever inherits it has the connections."""

    _connections: Connections

    async def claim(self, worker: str, pool: str, leases: Sequence[int], lease_seconds: float) -> list[Claimed]:
        values = {"pool": pool, "worker": worker, "leases": Bigints(leases), "count": len(leases), "ttl": lease_seconds}
        found = await self._connections.rows(CLAIM, values)
        found.sort(key=lambda row: (row[5], row[6], row[:3]))
        return [Claimed(key=_key(row), lease=row[3], deliveries=row[4]) for row in found]

    async def has_ready(self, pool: str) -> bool:
        return bool(await self._connections.rows(HAS_READY, [pool]))

    async def extend(self, worker: str, held: Sequence[tuple[Key, int]], lease_seconds: float) -> list[Key]:
        if not held:
            return []
        executions, runs, iters = key_columns([key for key, _ in held])
        leases = Bigints(lease for _, lease in held)
        values = {"executions": executions, "runs": runs, "iters": iters, "leases": leases}
        found = await self._connections.rows(EXTEND, {**values, **STATES, "worker": worker, "ttl": lease_seconds})
        return [_key(row) for row in found]

    async def release(self, worker: str, held: Sequence[tuple[Key, int]]) -> int:
        if not held:
            return 0
        values = [*key_columns([key for key, _ in held]), Bigints(lease for _, lease in held), worker, LEASED]
        ((count,),) = await self._connections.rows(RELEASE, values)
        return int(count)

    async def expire(self, limit: int, deliveries_max: int) -> tuple[int, list[Expiry]]:
        backoff = {"backoff": BACKOFF_SECONDS, "backoff_max": BACKOFF_SECONDS_MAX, "again": NAMED_AGAIN_SECONDS}
        found = await self._connections.rows(EXPIRE, {"limit": limit, "max": deliveries_max, **backoff})
        lost = [Expiry(key=_key(row), lease=row[3]) for row in found if row[4]]
        return len(found) - len(lost), lost

    async def holds(self, worker: str, key: Key, lease: int) -> bool:
        return bool(await self._connections.rows(HOLDS, [*key, lease, worker, LEASED]))

    async def holder(self, key: Key, lease: int) -> str | None:
        found = await self._connections.rows(HOLDER, [*key, lease])
        return str(found[0][0]) if found else None

    async def jobs(self, execution_id: int, limit: int = 1000) -> list[JobRow]:
        return [_job(row) for row in await self._connections.rows(JOBS, (execution_id, limit))]

    async def pools(self) -> list[PoolRow]:
        return [
            PoolRow(pool=row[0], ready=row[1], leased=row[2], parked=row[3], oldest_wait_seconds=row[4])
            for row in await self._connections.rows(POOLS)
        ]


def _key(row: Row) -> Key:
    return row[0], row[1], row[2]


def _job(row: Row) -> JobRow:
    return JobRow(
        key=_key(row),
        pool=row[3],
        state=row[4],
        worker=row[5],
        deliveries=row[6],
        ready_at=row[7],
        lease_until=row[8],
        child_key=row[9],
    )
