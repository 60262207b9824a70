"""How far a transfer has come, kept in the target database itself: a chunk and its entry commit together, or neither.

The entry is named by the task run, which every attempt of it shares. A worker that comes back late finds that the
entry has moved on under it, and stops. The digest is of all rows moved so far: a source that gives others when it is
read again is found out before anything is written twice or left out.
"""

from __future__ import annotations

import msgspec
from psycopg import AsyncConnection
from psycopg.errors import InsufficientPrivilege

from noetl.tools.postgres_failures import Failed

KEEP_DAYS = 30  # of a transfer that is done: long after any attempt of its task

IS_THERE = "SELECT to_regclass('noetl_transfer') IS NOT NULL"
LOCK = "SELECT pg_advisory_xact_lock(hashtext('noetl_transfer'))"
CREATE = """
CREATE TABLE IF NOT EXISTS noetl_transfer (
    key text PRIMARY KEY,
    rows bigint NOT NULL,
    chunks integer NOT NULL,
    digest text NOT NULL,
    is_done boolean NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
)"""
FORGET = "DELETE FROM noetl_transfer WHERE is_done AND updated_at < now() - make_interval(days => %s)"
FIND = "SELECT rows, chunks, digest, is_done FROM noetl_transfer WHERE key = %s"
BEGIN = "INSERT INTO noetl_transfer VALUES (%s, 0, 0, '', false) ON CONFLICT (key) DO NOTHING"
MOVE = """
UPDATE noetl_transfer SET rows = %s, chunks = %s, digest = %s, is_done = %s, updated_at = now()
WHERE key = %s AND rows = %s AND chunks = %s AND NOT is_done"""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What has been moved."""

    rows: int = 0
    chunks: int = 0
    digest: str = ""
    is_done: bool = False


class Ledger:
    """The entry of one transfer."""

    def __init__(self, connection: AsyncConnection[tuple[object, ...]], key: str, entry: Entry) -> None:
        self._connection = connection
        self._key = key
        self.entry = entry

    @classmethod
    async def opened(cls, connection: AsyncConnection[tuple[object, ...]], key: str) -> Ledger:
        """The entry of this transfer, begun if it is new."""
        await _create(connection)
        async with connection.transaction():
            await connection.execute(FORGET, (KEEP_DAYS,))
            await connection.execute(BEGIN, (key,))
            row = await (await connection.execute(FIND, (key,))).fetchone()
        if row is None:
            raise Failed("db_conflict", "the entry of this transfer was removed while it began", retryable=True)
        return cls(connection, key, msgspec.convert(dict(zip(Entry.__struct_fields__, row, strict=True)), Entry))

    async def move(self, entry: Entry) -> None:
        """Write how far it is, inside the transaction that moves the rows."""
        before = self.entry
        done = await self._connection.execute(
            MOVE, (entry.rows, entry.chunks, entry.digest, entry.is_done, self._key, before.rows, before.chunks)
        )
        if done.rowcount != 1:
            raise Failed("db_conflict", "another worker goes on with this transfer", retryable=True)

    def moved(self, entry: Entry) -> None:
        """The transaction is committed."""
        self.entry = entry


async def _create(connection: AsyncConnection[tuple[object, ...]]) -> None:
    """Make the table, one at a time: two that do so at once collide although each asks whether it is there."""
    found = await (await connection.execute(IS_THERE)).fetchone()
    if found and found[0]:  # and this user needs no right to create it
        return
    try:
        async with connection.transaction():
            await connection.execute(LOCK)
            await connection.execute(CREATE)
    except InsufficientPrivilege:
        raise Failed(
            "auth",
            "this user may not create the table noetl_transfer, in which a restartable transfer keeps how far it is: "
            "grant CREATE on the schema once, or set spec.restartable: false",
        ) from None
