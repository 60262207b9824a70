"""How a client of a simulated database calls it: over the line, as one statement, and over the line again.

A statement that only reads sees what is committed. One that writes is a transaction of its own; where PostgreSQL would
wait for locked executions, so does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from noetl.errors import StoreUnusable
from noetl.testing.simulator.database.locks import Rows

if TYPE_CHECKING:
    from noetl.testing.simulator.database.database import Database

BEFORE, AFTER = "before", "after"  # a call is applied
T = TypeVar("T")


class Caller:
    """One node's way to the database."""

    def __init__(self, database: Database, node_name: str) -> None:
        self.name = database.name
        self._database = database
        self._tables = database.tables
        self._node_name = node_name
        self._is_closed = False

    async def close(self) -> None:
        self._is_closed = True

    def _now(self) -> float:
        """By the database's clock."""
        return self._database.clock.now()

    async def _sent(self, call: str) -> None:
        if self._is_closed:
            raise StoreUnusable(f"the store {self.name} is closed")
        await self._database.trip(self._node_name, call, BEFORE)

    async def _answered(self, call: str) -> None:
        await self._database.trip(self._node_name, call, AFTER)

    async def _read(self, call: str, work: Callable[[], T]) -> T:
        await self._sent(call)
        found = work()
        await self._answered(call)
        return found

    async def _write(self, call: str, work: Callable[[], T]) -> T:
        """It passes over rows that somebody has locked."""
        await self._sent(call)
        self._database.end_idle()
        done = self._tables.transact(work)
        await self._answered(call)
        return done

    async def _write_locked(self, call: str, rows: Rows, work: Callable[[], T]) -> T:
        """It waits for these rows, which are those that it finds when it begins."""
        await self._sent(call)
        session = self._database.open(self._node_name)

        def apply() -> T:
            try:
                return self._tables.transact(work)
            finally:
                self._database.end(session)

        try:
            done = await self._database.locked(session, [rows], apply)
        finally:
            self._database.end(session)
        await self._answered(call)
        return done
