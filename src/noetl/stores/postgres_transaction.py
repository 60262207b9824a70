"""The transactions of one pump, on a connection of its own.

    begin   one round trip: begin, lock, fence                         (postgres_fences.py)
    commit  two for a common batch: write, then COMMIT                 (postgres_writes.py)

Whatever goes wrong leaves nothing behind: the connection is rolled back, or closed and made anew by the next `begin`.
If COMMIT itself is not answered, nobody knows whether it stands; that is told as Unreachable, and asking again is safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import psycopg
from psycopg.pq import TransactionStatus

from noetl.engine.commands import Key
from noetl.errors import Unreachable
from noetl.stores import postgres_fences, postgres_writes
from noetl.stores.contract import Batch
from noetl.stores.postgres_connections import has_ended
from noetl.stores.postgres_database import Connection, Database, answered, reconnected
from noetl.stores.shared import ACCEPTED, Expiry, Fence, Head, QueueChanges, Revoked


class PostgresTransaction:
    """See `noetl.stores.shared.Transaction`."""

    def __init__(self, database: Database, lease_seconds: float) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._connection: Connection | None = None
        self._own: set[tuple[Key, int]] = set()  # what the reports of this batch are about

    async def begin(
        self, ids: Sequence[int], fences: Sequence[Fence], expiries: Sequence[Expiry] = ()
    ) -> tuple[dict[int, Head], dict[tuple[Key, int], str]]:
        connection = await self._idle_connection()
        try:
            async with answered(self._database.name):
                heads, words = await postgres_fences.begin(connection, ids, fences, expiries, self._lease_seconds)
        except BaseException:
            await self._drop()
            raise
        self._own = {place for place, word in words.items() if word == ACCEPTED}
        return heads, words

    async def commit(self, batch: Batch, tag: int, changes: QueueChanges) -> list[Revoked]:
        connection = self._connection
        if connection is None:
            raise Unreachable(f"the transaction with {self._database.name} was lost before its commit")
        try:
            async with answered(self._database.name):
                revoked = await postgres_writes.write(connection, batch, tag, changes, self._lease_seconds)
                await connection.execute(b"COMMIT", prepare=False)
        except Exception:
            await self.rollback()
            raise
        except BaseException:
            await self._drop()
            raise
        return [one for one in revoked if (one.key, one.lease) not in self._own]

    async def rollback(self) -> None:
        """End what is under way, if anything is; what cannot be rolled back is dropped, and the server forgets it."""
        connection = self._connection
        if connection is None or connection.info.transaction_status == TransactionStatus.IDLE:
            return
        try:
            with suppress(Unreachable):
                async with answered(self._database.name):
                    await connection.execute(b"ROLLBACK", prepare=False)
                return
        except BaseException:
            await self._drop()
            raise
        await self._drop()

    async def close(self) -> None:
        await self._drop()

    async def _idle_connection(self) -> Connection:
        await self.rollback()
        if self._connection is not None and has_ended(self._connection):
            await self._drop()
        if self._connection is None:
            self._connection = await reconnected(self._database)
        return self._connection

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()
