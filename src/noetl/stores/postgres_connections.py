"""The connections that a store asks with: a few, shared by all that ask, each for one question at a time.

One that broke while it was idle is seen without asking the server, and replaced: a restarted server costs nobody more
than what was under way. A connection that anything went wrong with is closed, never used again. Pumps have connections
of their own (`postgres_transaction.py`), so that no statement here waits behind a batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noetl.errors import StoreUnusable, Unreachable
from noetl.stores.postgres_database import Connection, Database, answered, connected, faults, reconnected
from noetl.stores.postgres_line import Line, Row, Values

CONNECTIONS_MAX = 8
WAIT_SECONDS_MAX = 30.0  # for a connection that others have


class Connections:
    """See above."""

    def __init__(self, database: Database, first: Line) -> None:
        self.database = database
        self._slots = asyncio.Semaphore(CONNECTIONS_MAX)
        self._idle: list[Line] = [first]
        self._is_closed = False

    @classmethod
    async def open(cls, database: Database) -> Connections:
        """Connect once, so that what is wrong is said at once. Raises Unreachable, StoreUnusable."""
        return cls(database, Line(await connected(database)))

    @asynccontextmanager
    async def line(self) -> AsyncIterator[Line]:
        """A line of one's own, for as long as this lasts. Raises Unreachable."""
        await self._take_slot()
        try:
            line = await self._free() or Line(await reconnected(self.database))
            try:
                with faults(self.database.name):
                    yield line
            except BaseException:
                await line.close()
                raise
            if self._is_closed:
                await line.close()
            else:
                self._idle.append(line)
        finally:
            self._slots.release()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection of one's own with the driver's ways, for what is rare. Raises Unreachable."""
        async with self.line() as line, answered(self.database.name):
            yield line.lend()
            line.take_back()

    async def rows(self, statement: bytes, values: Values = ()) -> list[Row]:
        """The rows of one statement, which is a transaction of its own."""
        async with self.line() as line:
            (found,) = await line.ask((statement, values))
            return found

    async def change(self, statement: bytes, values: Values = ()) -> int:
        """How many rows a statement changed; it is a transaction of its own."""
        async with self.line() as line:
            return await line.change(statement, values)

    async def close(self) -> None:
        """Close what is idle now; what is in use is closed when it comes back."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().close()

    async def _take_slot(self) -> None:
        if self._is_closed:
            raise StoreUnusable(f"the store {self.database.name} is closed")
        if not self._slots.locked():  # free, and nobody is before us
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await self._slots.acquire()
        except TimeoutError:
            raise Unreachable(
                f"all {CONNECTIONS_MAX} connections to {self.database.name} were busy for {WAIT_SECONDS_MAX:g} s"
            ) from None

    async def _free(self) -> Line | None:
        while self._idle:
            line = self._idle.pop()
            if not line.has_ended:
                return line
            await line.close()
        return None
