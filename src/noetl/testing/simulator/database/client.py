"""A server's store on a simulated database: the whole contract of `noetl.stores.shared.SharedStore`.

Events are encoded when they come in and decoded when they are read, so that nothing that only works with the very same
object can pass here and fail elsewhere. Every list comes in one order, whatever order things happened to be kept in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from noetl.clock import Clock
from noetl.engine.events import Event, LoopIterationDone, decode
from noetl.stores.contract import Batch, Execution, Snapshot
from noetl.stores.memory_listing import by_id_of, ended_counts, ended_of, live_counts, recent_of
from noetl.stores.shared import Head, QueueChanges
from noetl.stores.wanted import ALL, ANY_PATH, Paths, Wanted
from noetl.testing.simulator.database.fences import existing, head_of
from noetl.testing.simulator.database.job_lists import DatabaseJobLists
from noetl.testing.simulator.database.jobs import DatabaseJobs
from noetl.testing.simulator.database.locks import Session
from noetl.testing.simulator.database.records import DatabaseCatalog, DatabaseRecords
from noetl.testing.simulator.database.sweep import DatabaseSweep
from noetl.testing.simulator.database.transaction import DatabaseTransaction
from noetl.testing.simulator.database.writes import Writing, written_rows

if TYPE_CHECKING:
    from noetl.testing.simulator.database.database import Database

ITERATIONS_PER_PAGE = 500
CLOCK_READINGS = 3


class DatabaseClient(DatabaseJobs, DatabaseJobLists, DatabaseSweep, DatabaseRecords, DatabaseCatalog):
    """See above."""

    def __init__(self, database: Database, node_name: str, clock: Clock, lease_seconds: float) -> None:
        super().__init__(database, node_name)
        self._clock = clock
        self._lease_seconds = lease_seconds

    async def transaction(self) -> DatabaseTransaction:
        return DatabaseTransaction(self._database, self._node_name, self._lease_seconds)

    async def clock_ahead_seconds(self) -> float:
        """Measured a few times: the quickest answer says most."""
        readings = []
        for _ in range(CLOCK_READINGS):
            asked_at = self._clock.monotonic()
            there = await self._read("clock", self._now)
            answered_at = self._clock.monotonic()
            readings.append((answered_at - asked_at, there - (asked_at + answered_at) / 2))
        return min(readings)[1]

    # --- writing -----------------------------------------------------------------------------------------------------

    async def reserve_ids(self, count: int) -> int:
        def reserved() -> int:
            last = self._tables.meta["execution_id"]
            self._tables.put(self._tables.meta, "execution_id", last + count)
            return last + 1

        return await self._write("reserve_ids", reserved)

    async def commit(self, batch: Batch) -> None:
        """Write a batch that no report is part of."""

        def work() -> None:
            writing = Writing(self._tables, self._database.new_tag(), self._now(), self._lease_seconds)
            writing.write(Session(self._node_name), batch, QueueChanges())

        await self._write_locked("commit_batch", partial(written_rows, self._tables, batch, QueueChanges()), work)

    # --- reading -----------------------------------------------------------------------------------------------------

    async def execution(self, execution_id: int) -> Execution | None:
        return await self._read("execution", lambda: self._execution(execution_id))

    async def execution_by_request(self, request_key: str) -> Execution | None:
        return await self._read("execution_by_request", lambda: self._execution_under("request", request_key))

    async def execution_by_parent(self, parent_key: str) -> Execution | None:
        return await self._read("execution_by_parent", lambda: self._execution_under("parent", parent_key))

    async def executions(self, limit: int = 100, before: int | None = None, wanted: Wanted = ALL) -> list[Execution]:
        def found() -> list[Execution]:
            rows = self._by_age()[::-1]
            if before is not None:
                page = [row.id for row in rows]
                rows = rows[page.index(before) + 1 :] if before in page else []
            return [row for row in rows if wanted.fits(row)][:limit]

        return await self._read("executions", found)

    async def executions_by_id(self, digits: str, limit: int, paths: Paths = ANY_PATH) -> list[Execution]:
        def found() -> list[Execution]:
            return by_id_of(sorted(self._by_age(), key=lambda row: -row.id), digits, limit, paths)

        return await self._read("executions_by_id", found)

    async def recent_executions(self, paths: Sequence[str], limit: int) -> dict[str, list[Execution]]:
        return await self._read("recent_executions", lambda: recent_of(self._by_age()[::-1], paths, limit))

    async def ended_executions(self, since: float, limit: int = 100) -> list[Execution]:
        return await self._read("ended_executions", lambda: ended_of(self._by_age(), since, limit))

    async def count_live(self, paths: Paths = ANY_PATH) -> dict[str, int]:
        return await self._read("count_live", lambda: live_counts(self._by_age(), paths))

    async def count_ended(self, since: float, paths: Paths = ANY_PATH) -> dict[tuple[int, str], int]:
        return await self._read("count_ended", lambda: ended_counts(self._by_age(), since, paths))

    async def children(self, execution_id: int) -> list[Execution]:
        return await self._read("children", lambda: [row for row in self._by_age() if row.parent_id == execution_id])

    async def heads(self, ids: Sequence[int]) -> dict[int, Head]:
        def found() -> dict[int, Head]:
            return {one: head_of(self._tables.executions[one]) for one in existing(self._tables, ids)}

        return await self._read("heads", found)

    async def tag_at(self, execution_id: int, seq: int) -> int | None:
        def found() -> int | None:
            log = self._tables.logs.get(execution_id, [])
            return log[seq - 1][1] if 0 < seq <= len(log) else None

        return await self._read("tag_at", found)

    async def events(self, execution_id: int, after: int = 0, limit: int = 1000) -> list[tuple[int, Event]]:
        def found() -> list[tuple[bytes, int]]:
            return self._tables.logs.get(execution_id, [])[after : after + limit]

        rows = await self._read("events", found)
        return [(seq, decode(body)) for seq, (body, _) in enumerate(rows, after + 1)]

    async def iteration_outputs(self, execution_id: int, run: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        place = (-1, 0)
        while page := await self._read("iteration_outputs", partial(self._iterations, execution_id, run, place)):
            for index, seq, body in page:
                event = decode(body)
                if isinstance(event, LoopIterationDone):
                    yield index, event.output
                place = (index, seq)

    async def snapshot(self, execution_id: int) -> Snapshot | None:
        return await self._read("snapshot", lambda: self._tables.snapshots.get(execution_id))

    # --- rows --------------------------------------------------------------------------------------------------------

    def _execution(self, execution_id: int) -> Execution | None:
        row = self._tables.executions.get(execution_id)
        return row.execution if row is not None else None

    def _execution_under(self, kind: str, key: str) -> Execution | None:
        return self._execution(self._tables.ids.get((kind, key), 0))

    def _by_age(self) -> list[Execution]:
        rows = [row.execution for row in self._tables.executions.values()]
        return sorted(rows, key=lambda row: (row.created_at, row.id))

    def _iterations(self, execution_id: int, run: int, after: tuple[int, int]) -> list[tuple[int, int, bytes]]:
        log = self._tables.logs.get(execution_id, [])
        found = sorted(one for one in self._tables.iterations.get((execution_id, run), []) if one > after)
        return [(index, seq, log[seq - 1][0]) for index, seq in found[:ITERATIONS_PER_PAGE]]
