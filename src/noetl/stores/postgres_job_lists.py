"""The jobs of a PostgreSQL store, for people: state by state, each in its order, and no more than asked for."""

from __future__ import annotations

from collections.abc import Sequence

from noetl.stores.job_lists import LEASED, PARKED, READY, ListedJob, StepRun, WantedJobs
from noetl.stores.postgres_connections import Connections
from noetl.stores.postgres_listing import values_on, within
from noetl.stores.postgres_rows import Row
from noetl.stores.postgres_values import Bigints

LIST = b"""
SELECT j.execution_id, j.run, j.iter, e.path, j.pool, j.priority, j.worker, j.deliveries, j.ready_at - now_seconds(),
       j.lease_until - now_seconds(), j.state = 2
FROM job j JOIN execution e ON e.id = j.execution_id WHERE """
STATES = {
    LEASED: b"j.state = 1",
    READY: b"j.state = 0 AND j.ready_at <= now_seconds()",
    PARKED: b"(j.state = 2 OR j.state = 0 AND j.ready_at > now_seconds())",
}
ORDERS = {
    LEASED: b" ORDER BY j.lease_until, j.execution_id, j.run, j.iter LIMIT %(limit)s",
    READY: b" ORDER BY j.pool, j.priority, j.ready_at, j.execution_id, j.run, j.iter LIMIT %(limit)s",
    PARKED: b" ORDER BY j.state, j.ready_at, j.execution_id, j.run, j.iter LIMIT %(limit)s",
}
# The first event of a run names its step: a step's scheduling, or the beginning of an inner loop.
RUN_STEPS = b"""
SELECT execution_id, run, body ->> 'step' FROM event
WHERE execution_id = ANY (%(executions)s) AND run = ANY (%(runs)s) AND name IN ('step.scheduled', 'loop.started')
"""


class PostgresJobLists:
    """See `noetl.stores.shared.SharedStore`; whoever inherits it has the connections."""

    _connections: Connections

    async def listed_jobs(self, limit: int, wanted: WantedJobs) -> list[ListedJob]:
        found: list[ListedJob] = []
        for state in wanted.states:
            left = limit - len(found)
            values = {"pool": wanted.pool, "worker": wanted.worker, "limit": left, **values_on(wanted.paths)}
            rows = await self._connections.rows(statement_of(state, wanted), values) if left else []
            found += [_job(state, row) for row in rows]
        return found

    async def run_steps(self, runs: Sequence[StepRun]) -> dict[StepRun, str]:
        if not runs:
            return {}
        executions, numbers = Bigints({one for one, _ in runs}), Bigints({run for _, run in runs})
        rows = await self._connections.rows(RUN_STEPS, {"executions": executions, "runs": numbers})
        found = {(execution_id, run): step for execution_id, run, step in rows}
        return {one: found[one] for one in runs if one in found}


def statement_of(state: str, wanted: WantedJobs) -> bytes:
    conditions = [STATES[state], within(wanted.paths)]
    conditions += [b"j.pool = %(pool)s"] if wanted.pool else []
    conditions += [b"j.worker = %(worker)s"] if wanted.worker else []
    return LIST + b" AND ".join(conditions) + ORDERS[state]


def _job(state: str, row: Row) -> ListedJob:
    return ListedJob(
        key=(row[0], row[1], row[2]),
        path=row[3],
        pool=row[4],
        priority=row[5],
        state=state,
        worker=row[6] if state == LEASED else "",
        deliveries=row[7],
        ready_seconds=row[8],
        lease_seconds=row[9] if state == LEASED else 0.0,
        is_for_child=row[10],
    )
