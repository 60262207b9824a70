"""What a sweep finds in a simulated database, and how far its logs were exported.

Looking locks nothing. What is marked is marked under the locks of executions, so it waits for a pump that has them;
taking over passes over those. Where PostgreSQL leaves an order open, the lower id comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from noetl.stores.contract import INCIDENT, LIVE, RUNNING, WAITING, Execution
from noetl.testing.simulator.database.calls import Caller
from noetl.testing.simulator.database.fences import existing
from noetl.testing.simulator.database.tables import ExecutionRow


class DatabaseSweep(Caller):
    """See `noetl.stores.shared.SharedStore`."""

    async def overdue(self, limit: int) -> list[int]:
        def found() -> list[int]:
            now = self._now()
            due = [(at, row.execution.id) for row in self._rows() if (at := row.deadline_at) is not None and at <= now]
            return [execution_id for _, execution_id in sorted(due)[:limit]]

        return await self._read("overdue", found)

    async def set_deadline(self, execution_id: int, deadline_at: float | None, head: int) -> None:
        def is_meant(row: ExecutionRow) -> bool:
            return row.execution.head == head and row.execution.status in LIVE

        def marked(row: ExecutionRow) -> ExecutionRow:
            return replace(row, deadline_at=deadline_at)

        await self._mark("set_deadline", [execution_id], is_meant, marked)

    async def abandoned(self, limit: int) -> list[Execution]:
        def found() -> list[Execution]:
            return [self._tables.executions[one].execution for one in self._abandoned()[:limit]]

        return await self._read("abandoned", found)

    async def take_over(self, limit: int, until: float) -> list[Execution]:
        def taken() -> list[Execution]:
            tables, is_locked = self._tables, self._database.locks.is_locked
            free = [one for one in self._abandoned() if not is_locked(one)][:limit]
            for execution_id in free:
                row = tables.executions[execution_id]
                tables.put(tables.executions, execution_id, replace(row, follow_until=until))
            return [tables.executions[one].execution for one in free]

        return await self._write("take_over", taken)

    async def following(self, execution_ids: Sequence[int], until: float) -> None:
        def marked(row: ExecutionRow) -> ExecutionRow:
            return replace(row, follow_until=until)

        await self._mark("following", execution_ids, always, marked)

    async def followed(self, execution_ids: Sequence[int], marked_until: float) -> None:
        def is_meant(row: ExecutionRow) -> bool:
            return row.follow_until is not None and row.follow_until <= marked_until

        def marked(row: ExecutionRow) -> ExecutionRow:
            return replace(row, follow_until=None)

        await self._mark("followed", execution_ids, is_meant, marked)

    async def orphans(self, limit: int, age_seconds: float) -> list[int]:
        def found() -> list[int]:
            made_before, waited_for = self._now() - age_seconds, self._waited_for()
            found = [
                (child.created_at, child.id)
                for child in (row.execution for row in self._rows())
                if child.parent_id is not None
                and child.status in LIVE
                and child.created_at < made_before
                and self._is_orphan(child, waited_for)
            ]
            return [execution_id for _, execution_id in sorted(found)[:limit]]

        return await self._read("orphans", found)

    async def stranded(self, limit: int, age_seconds: float) -> list[int]:
        def found() -> list[int]:
            made_before = self._now() - age_seconds
            with_jobs = {key[0] for key in self._tables.jobs}
            return sorted(
                row.execution.id
                for row in self._rows()
                if row.execution.status == RUNNING
                and row.follow_until is None
                and row.execution.created_at < made_before
                and row.execution.id not in with_jobs
            )[:limit]

        return await self._read("stranded", found)

    async def unheard(self, limit: int, age_seconds: float) -> list[Execution]:
        def found() -> list[Execution]:
            ended_before, waited_for = self._now() - age_seconds, self._waited_for()
            unheard = [
                child
                for child in (row.execution for row in self._rows())
                if child.parent_key in waited_for
                and child.status not in LIVE
                and child.ended_at is not None
                and child.ended_at < ended_before
            ]
            return sorted(unheard, key=lambda child: child.id)[:limit]

        return await self._read("unheard", found)

    # --- how far logs were exported ----------------------------------------------------------------------------------

    async def prepare_export(self) -> None:
        """There is no index to make."""

    async def behind(self, limit: int) -> list[tuple[int, int]]:
        def found() -> list[tuple[int, int]]:
            behind = [(row.execution.id, row.exported) for row in self._rows() if row.exported < row.execution.head]
            return sorted(behind)[:limit]

        return await self._read("behind", found)

    async def advance(self, cursors: Sequence[tuple[int, int]]) -> None:
        reached = dict(sorted(cursors))  # of two for one execution, the further one

        def marked(row: ExecutionRow) -> ExecutionRow:
            return replace(row, exported=max(row.exported, reached[row.execution.id]))

        await self._mark("advance", list(reached), always, marked)

    # --- marking and looking -----------------------------------------------------------------------------------------

    async def _mark(
        self,
        call: str,
        execution_ids: Sequence[int],
        is_meant: Callable[[ExecutionRow], bool],
        marked: Callable[[ExecutionRow], ExecutionRow],
    ) -> None:
        """Change those that are meant, before they are locked and still afterwards."""
        tables = self._tables
        wanted: list[int] = []

        def found() -> list[int]:
            wanted.extend(one for one in existing(tables, execution_ids) if is_meant(tables.executions[one]))
            return wanted

        def work() -> None:
            for execution_id in wanted:
                row = tables.executions[execution_id]
                if is_meant(row) and (after := marked(row)) != row:
                    tables.put(tables.executions, execution_id, after)

        await self._write_locked(call, found, work)

    def _rows(self) -> list[ExecutionRow]:
        return list(self._tables.executions.values())

    def _abandoned(self) -> list[int]:
        now = self._now()
        late = [(at, row.execution.id) for row in self._rows() if (at := row.follow_until) is not None and at <= now]
        return [execution_id for _, execution_id in sorted(late)]

    def _waited_for(self) -> frozenset[str]:
        return frozenset(job.child_key for job in self._tables.jobs.values() if job.child_key)

    def _is_orphan(self, child: Execution, waited_for: frozenset[str]) -> bool:
        caller = self._tables.executions.get(child.parent_id or 0)
        status = caller.execution.status if caller is not None else ""
        return child.parent_key not in waited_for if status in (RUNNING, WAITING) else status != INCIDENT


def always(_row: ExecutionRow) -> bool:
    return True
