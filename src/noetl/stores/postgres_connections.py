"""The connections that a store asks with: a few, shared by all that ask, each for one statement at a time.

One that broke while it was idle is seen without asking the server, and replaced: a restarted server costs nobody more
than what was under way. A connection that anything went wrong with is closed, never used again. Pumps have connections
of their own (`postgres_transaction.py`), so that no statement here waits behind a batch.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from noetl.errors import StoreUnusable, Unreachable
from noetl.stores.postgres_database import Connection, Database, answered, connected, reconnected

CONNECTIONS_MAX = 8
WAIT_SECONDS_MAX = 30.0  # for a connection that others have
Row = tuple[Any, ...]
Values = Sequence[object] | Mapping[str, object]


class Connections:
    """See above."""

    def __init__(self, database: Database, first: Connection) -> None:
        self.database = database
        self._slots = asyncio.Semaphore(CONNECTIONS_MAX)
        self._idle: list[Connection] = [first]
        self._is_closed = False

    @classmethod
    async def open(cls, database: Database) -> Connections:
        """Connect once, so that what is wrong is said at once. Raises Unreachable, StoreUnusable."""
        return cls(database, await connected(database))

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection of one's own, for as long as this lasts. Raises Unreachable."""
        await self._take_slot()
        try:
            connection = await self._free() or await reconnected(self.database)
            try:
                async with answered(self.database.name):
                    yield connection
            except BaseException:
                await connection.close()
                raise
            if self._is_closed:
                await connection.close()
            else:
                self._idle.append(connection)
        finally:
            self._slots.release()

    async def rows(self, statement: bytes, values: Values = ()) -> list[Row]:
        """The rows of one statement, which is a transaction of its own."""
        async with self.connection() as connection:
            cursor = await connection.execute(statement, values, binary=True)
            return await cursor.fetchall()

    async def change(self, statement: bytes, values: Values = ()) -> int:
        """How many rows a statement changed; it is a transaction of its own."""
        async with self.connection() as connection:
            return (await connection.execute(statement, values)).rowcount

    async def close(self) -> None:
        """Close what is idle now; what is in use is closed when it comes back."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().close()

    async def _take_slot(self) -> None:
        if self._is_closed:
            raise StoreUnusable(f"the store {self.database.name} is closed")
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await self._slots.acquire()
        except TimeoutError:
            raise Unreachable(
                f"all {CONNECTIONS_MAX} connections to {self.database.name} were busy for {WAIT_SECONDS_MAX:g} s"
            ) from None

    async def _free(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not has_ended(connection):
                return connection
            await connection.close()
        return None


def has_ended(connection: Connection) -> bool:
    """Whether an idle connection is of no more use: the last word of a server is why it ends it."""
    if connection.closed:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.pgconn.socket, selectors.EVENT_READ)
        return bool(selector.select(0))
