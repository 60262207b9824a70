"""python -m bench.postgres_store: what a pump's transaction costs on PostgreSQL, beside the same rows by the driver.

A report is what a no-op iteration of a loop sends: its job ends, two events are appended, and the next job is made. The
yardstick writes the same rows with no fence, no lease and no contract around them: COPY for events and for jobs, one
UPDATE, one DELETE, and a COMMIT that is on disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import psycopg

from noetl.engine.events import NAMES, LoopIterationDone, TaskDone, encode
from noetl.stores.contract import Append, Batch, Execution
from noetl.stores.postgres import PostgresStore
from noetl.stores.postgres_transaction import PostgresTransaction
from noetl.stores.shared import FINAL, Fence, NewJob, QueueChanges
from noetl.testing.services import running_postgres

REPORTS_PER_COMMIT = (1, 10, 100)
EVENTS_PER_REPORT = 2
SECONDS = 3.0
WARM_UP_COMMITS = 20
ON_DISK = {"fsync": "on", "full_page_writes": "on"}
WORKER, POOL = "worker", "default"


class Round(NamedTuple):
    """One execution in the middle of a loop: where its log ends, and its first job in flight."""

    execution_id: int
    head: int
    first: int

    def after(self, reports: int) -> Round:
        return Round(self.execution_id, self.head + EVENTS_PER_REPORT * reports, self.first + reports)


class Ours:
    """The transaction of a pump."""

    def __init__(self, transaction: PostgresTransaction) -> None:
        self.transaction = transaction

    async def commit(self, now: Round, reports: int) -> None:
        execution_id, head, first = now
        done = range(first, first + reports)
        fences = [Fence(key=(execution_id, 1, index), lease=index + 1, n=1, does=FINAL) for index in done]
        await self.transaction.begin([execution_id], fences)
        events = [event for index in done for event in events_of(index)]
        append = Append(execution_id=execution_id, first_seq=head + 1, events=events, status="running")
        added = [job(execution_id, index + reports) for index in done]
        await self.transaction.commit(Batch(appends=[append]), head + 1, QueueChanges(added=added))


class Bare:
    """The same rows, and nothing else."""

    def __init__(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        self.connection = connection

    async def commit(self, now: Round, reports: int) -> None:
        execution_id, head, first = now
        done = range(first, first + reports)
        events = [event for index in done for event in events_of(index)]
        connection = self.connection
        await connection.execute("BEGIN")
        await connection.execute("SELECT head FROM execution WHERE id = %s FOR UPDATE", (execution_id,))
        await connection.execute(
            "DELETE FROM job WHERE execution_id = %s AND run = 1 AND iter = ANY (%s)", (execution_id, list(done))
        )
        copy_events = "COPY event (execution_id, seq, name, run, iter, lease, tag, body) FROM STDIN"
        async with connection.cursor().copy(copy_events) as copy:
            for seq, event in enumerate(events, head + 1):
                body = encode(event).decode()
                await copy.write_row((execution_id, seq, NAMES[type(event)], 1, event.iter, event.lease, head, body))
        copy_jobs = (
            "COPY job (execution_id, run, iter, pool, priority, state, grp, lease, deliveries, last_report, worker, "
            "lease_until, ready_at) FROM STDIN"
        )
        async with connection.cursor().copy(copy_jobs) as copy:
            for index in done:
                new = index + reports
                await copy.write_row((execution_id, 1, new, POOL, 0, 1, 0, new + 1, 1, 0, WORKER, 2e9, 1e9))
        await connection.execute(
            "UPDATE execution SET head = %s, tag = %s WHERE id = %s", (head + len(events), head, execution_id)
        )
        await connection.execute("COMMIT")


def events_of(index: int) -> list[TaskDone | LoopIterationDone]:
    output = {"status": "ok", "data": index, "meta": {"duration_ms": 1}}
    lease = index + 1
    return [
        TaskDone(ts=1.0, run=1, iter=index, task="noop", visit=1, attempt=1, lease=lease, do="continue", output=output),
        LoopIterationDone(ts=1.0, run=1, iter=index, lease=lease, output=output),
    ]


def job(execution_id: int, index: int) -> NewJob:
    return NewJob(key=(execution_id, 1, index), pool=POOL, lease=index + 1, worker=WORKER)


async def begin(store: PostgresStore, reports: int) -> Round:
    """An execution whose first jobs are leased."""
    execution_id = await store.reserve_ids(1)
    transaction = await store.transaction()
    await transaction.begin([], [])
    row = Execution(id=execution_id, sha="5ha", path="bench", version=1)
    added = [job(execution_id, index) for index in range(reports)]
    await transaction.commit(Batch(executions=[row]), 1, QueueChanges(added=added))
    await transaction.close()
    return Round(execution_id, 0, 0)


async def commits_per_second(commit: Callable[[Round, int], Awaitable[None]], now: Round, reports: int) -> float:
    for _ in range(WARM_UP_COMMITS):
        await commit(now, reports)
        now = now.after(reports)
    count, start = 0, time.perf_counter()
    while (seconds := time.perf_counter() - start) < SECONDS:
        await commit(now, reports)
        now = now.after(reports)
        count += 1
    return count / seconds


async def main() -> None:
    with running_postgres(ON_DISK) as url:
        store = await PostgresStore.open(url)
        transaction = await store.transaction()
        bare = await psycopg.AsyncConnection.connect(url, autocommit=True)
        print("reports/commit   ours: commits/s  reports/s  rows/s   driver alone: commits/s   ratio")
        for reports in REPORTS_PER_COMMIT:
            ours = await commits_per_second(Ours(transaction).commit, await begin(store, reports), reports)
            alone = await commits_per_second(Bare(bare).commit, await begin(store, reports), reports)
            rows = ours * reports * (EVENTS_PER_REPORT + 2)  # a job goes and a job comes
            print(
                f"{reports:14}   {ours:15.0f} {ours * reports:10.0f} {rows:7.0f}   {alone:23.0f}   {alone / ours:4.2f}x"
            )
        await bare.close()
        await transaction.close()
        await store.close()


if __name__ == "__main__":
    asyncio.run(main())
