"""The store of a cluster: executions, logs, catalog, records and jobs in one PostgreSQL database.

Any number of servers use it side by side. What must be decided alone is decided in a transaction of a pump, under row
locks (`postgres_transaction.py`); everything here is a single statement on one of a few shared connections. If one of
them breaks, whoever waited is told that the store cannot be reached, and the next statement connects anew.

The log is read in pages, each a statement of its own. Events never change, so pages fit together.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

from noetl.clock import Clock, SystemClock
from noetl.config import LEASE_SECONDS
from noetl.engine.events import Event, LoopIterationDone
from noetl.errors import Unreachable
from noetl.stores import postgres_rows as rows
from noetl.stores.contract import Batch, Entry, Execution, Snapshot
from noetl.stores.postgres_connections import Connections
from noetl.stores.postgres_database import database_of
from noetl.stores.postgres_export import PostgresExport
from noetl.stores.postgres_job_lists import PostgresJobLists
from noetl.stores.postgres_jobs import PostgresJobs
from noetl.stores.postgres_listing import PostgresListing
from noetl.stores.postgres_records import PostgresRecords
from noetl.stores.postgres_schema import prepare
from noetl.stores.postgres_sweep import PostgresSweep
from noetl.stores.postgres_transaction import PostgresTransaction
from noetl.stores.postgres_values import Bigints
from noetl.stores.postgres_writes import write
from noetl.stores.shared import Head, QueueChanges

TAG_BITS = 63
ITERATIONS_PER_PAGE = 500
REGISTERING_MAX = 100  # attempts, each of which somebody else's success made fail
CLOCK_READINGS = 3
SYSTEM_CLOCK = SystemClock()


class PostgresStore(PostgresListing, PostgresJobLists, PostgresJobs, PostgresSweep, PostgresRecords, PostgresExport):
    """See `noetl.stores.shared.SharedStore`."""

    def __init__(self, connections: Connections, lease_seconds: float, clock: Clock) -> None:
        self.name = connections.database.name
        self._connections = connections
        self._lease_seconds = lease_seconds
        self._clock = clock

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        is_migrating: bool = True,
        lease_seconds: float = LEASE_SECONDS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Self:
        """Connect, and bring the schema up to date. `lease_seconds`: of jobs that a commit hands out or hears of.

        Raises Unreachable, StoreTooNew, StoreUnusable.
        """
        connections = await Connections.open(database_of(url))
        try:
            async with connections.connection() as connection:
                await prepare(connection, connections.database.name, is_migrating=is_migrating)
        except BaseException:
            await connections.close()
            raise
        return cls(connections, lease_seconds, clock)

    async def transaction(self) -> PostgresTransaction:
        return PostgresTransaction(self._connections.database, self._lease_seconds)

    async def close(self) -> None:
        await self._connections.close()

    # --- writing -----------------------------------------------------------------------------------------------------

    async def reserve_ids(self, count: int) -> int:
        ((last,),) = await self._connections.rows(rows.RESERVE_IDS, (count,))
        return int(last) - count + 1

    async def commit(self, batch: Batch) -> None:
        """Write a batch that no report is part of."""
        async with self._connections.line() as line:
            await write(line, batch, secrets.randbits(TAG_BITS), QueueChanges(), self._lease_seconds)

    async def register(self, entry: Entry) -> Entry:
        for _ in range(REGISTERING_MAX):
            if found := await self._connections.rows(rows.ENTRY_BY_CONTENT, (entry.sha, entry.path)):
                return rows.entry(found[0])
            if made := await self._connections.rows(rows.INSERT_ENTRY, rows.of_entry(entry)):
                return rows.entry(made[0])
        raise Unreachable(f"others register versions of {entry.path} in {self.name} all the time; try again")

    # --- reading -----------------------------------------------------------------------------------------------------

    async def execution(self, execution_id: int) -> Execution | None:
        return rows.first(rows.execution, await self._connections.rows(rows.EXECUTION, (execution_id,)))

    async def execution_by_request(self, request_key: str) -> Execution | None:
        return rows.first(rows.execution, await self._connections.rows(rows.EXECUTION_BY_REQUEST, (request_key,)))

    async def execution_by_parent(self, parent_key: str) -> Execution | None:
        return rows.first(rows.execution, await self._connections.rows(rows.EXECUTION_BY_PARENT, (parent_key,)))

    async def children(self, execution_id: int) -> list[Execution]:
        return [rows.execution(row) for row in await self._connections.rows(rows.CHILDREN, (execution_id,))]

    async def heads(self, ids: Sequence[int]) -> dict[int, Head]:
        found = await self._connections.rows(rows.HEADS, (Bigints(ids),))
        return {row[0]: rows.head(row) for row in found}

    async def tag_at(self, execution_id: int, seq: int) -> int | None:
        found = await self._connections.rows(rows.TAG_AT, (execution_id, seq))
        return int(found[0][0]) if found else None

    async def events(self, execution_id: int, after: int = 0, limit: int = 1000) -> list[tuple[int, Event]]:
        found = await self._connections.rows(rows.EVENTS, (execution_id, after, limit))
        return [(seq, rows.event(body, execution_id, seq)) for seq, body in found]

    async def iteration_outputs(self, execution_id: int, run: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        index, seq = -1, 0
        place = (execution_id, run)
        while page := await self._connections.rows(rows.ITERATIONS, (*place, index, seq, ITERATIONS_PER_PAGE)):
            for index, seq, body in page:
                event = rows.event(body, execution_id, seq)
                if isinstance(event, LoopIterationDone):
                    yield index, event.output

    async def snapshot(self, execution_id: int) -> Snapshot | None:
        return rows.first(rows.snapshot, await self._connections.rows(rows.SNAPSHOT, (execution_id,)))

    async def entry(self, path: str, version: int | None = None) -> Entry | None:
        if version is None:
            return rows.first(rows.entry, await self._connections.rows(rows.ENTRY_NEWEST, (path,)))
        return rows.first(rows.entry, await self._connections.rows(rows.ENTRY, (path, version)))

    async def entry_by_sha(self, sha: str) -> Entry | None:
        return rows.first(rows.entry, await self._connections.rows(rows.ENTRY_BY_SHA, (sha,)))

    async def entries(self) -> list[Entry]:
        return [rows.entry(row) for row in await self._connections.rows(rows.ENTRIES)]

    async def clock_ahead_seconds(self) -> float:
        """Measured a few times: the quickest answer says most."""
        readings = []
        async with self._connections.line() as line:
            for _ in range(CLOCK_READINGS):
                asked_at = self._clock.monotonic()
                (((there,),),) = await line.ask((rows.CLOCK, ()))
                trip_seconds = self._clock.monotonic() - asked_at
                readings.append((trip_seconds, there - (asked_at + trip_seconds / 2)))
        return float(min(readings)[1])
