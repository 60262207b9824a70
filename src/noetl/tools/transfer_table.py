"""Rows into a table of PostgreSQL: COPY, in transactions of a chunk each.

    append    COPY into the table
    upsert    COPY into a temporary table, then INSERT … ON CONFLICT; of rows with one key the last one counts
    replace   COPY into a table beside it, and when all are there, delete and insert in one transaction

Names of tables and columns are quoted, never part of the text as they come.
"""

from __future__ import annotations

import hashlib

from psycopg import AsyncConnection, AsyncCursor, sql

from noetl.tools.copy_text import Special
from noetl.tools.postgres_copy import table_name
from noetl.tools.postgres_failures import Failed
from noetl.tools.transfer_plan import Plan

STAGE = "noetl_stage"
COLUMNS_OF = """
SELECT a.attname, t.typcategory
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped"""
INSERT_NEW = """
INSERT INTO {table} ({columns})
SELECT DISTINCT ON ({key}) {columns} FROM {stage} ORDER BY {key}, ctid DESC
ON CONFLICT ({key}) DO NOTHING"""
UPSERT = INSERT_NEW.replace("NOTHING", "UPDATE SET {changes}")

Connection = AsyncConnection[tuple[object, ...]]


class Table:
    """The target of one transfer."""

    def __init__(self, connection: Connection, plan: Plan, key: str) -> None:
        self._connection = connection
        self._plan = plan
        self.name = sql.Identifier(*table_name(plan.target["table"], "target.table").parts)
        self._stage = sql.Identifier(f"{STAGE}_{hashlib.sha256(key.encode()).hexdigest()[:16]}")
        self.special = Special()
        self._names: tuple[str, ...] = ()

    async def prepare(self) -> None:
        """Look whether the table is there, and what its columns are."""
        found = await self._connection.execute(COLUMNS_OF, (self.name.as_string(None),))
        types = {str(name): category for name, category in await found.fetchall()}
        if not types:
            raise Failed("not_found", f"there is no table {self._plan.target['table']}, or this user may not see it")
        self._known = types
        self.special = Special(
            arrays=frozenset(name for name, category in types.items() if category == "A"),
            booleans=frozenset(name for name, category in types.items() if category == "B"),
        )

    def take(self, names: tuple[str, ...]) -> None:
        """The columns that come, by their names in the target."""
        unknown = [name for name in (*names, *self._plan.key) if name not in self._known]
        if unknown:
            listed = ", ".join(self._known)[:500]
            raise Failed("type", f'{self._plan.target["table"]} has no column "{unknown[0][:80]}"; it has: {listed}')
        missing = [name for name in self._plan.key if name not in names]
        if missing:
            raise Failed("type", f'the rows have no column "{missing[0]}", which is in key')
        self._names = names

    async def begin_chunk(self, *, is_first: bool) -> sql.Composed:
        """Inside the chunk's transaction, before its rows: the COPY that takes them."""
        if self._plan.mode == "append":
            return self._copy(self.name)
        if self._plan.mode == "upsert":
            await self._execute(
                "CREATE TEMPORARY TABLE {stage} ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA"
            )
        elif is_first:
            await self._execute("DROP TABLE IF EXISTS {stage}")
            # not UNLOGGED: a crash of the server would empty it, and the ledger still say that its rows are there
            await self._execute("CREATE TABLE {stage} AS SELECT {columns} FROM {table} WITH NO DATA")
        return self._copy(self._stage)

    async def end_chunk(self) -> None:
        """Inside the chunk's transaction, after its rows."""
        if self._plan.mode != "upsert":
            return
        await self._execute(UPSERT if set(self._names) - set(self._plan.key) else INSERT_NEW)

    async def finish(self) -> None:
        """All rows are here, inside the last transaction."""
        if self._plan.mode == "replace":
            await self._execute("DELETE FROM {table}")
            await self._execute("INSERT INTO {table} ({columns}) SELECT {columns} FROM {stage}")
            await self._execute("DROP TABLE {stage}")

    async def finish_empty(self) -> None:
        """No row came at all."""
        if self._plan.mode == "replace":
            await self._execute("DELETE FROM {table}")

    def _copy(self, into: sql.Identifier) -> sql.Composed:
        return sql.SQL("COPY {} ({}) FROM STDIN").format(into, _joined(self._names))

    async def _execute(self, text: str) -> AsyncCursor[tuple[object, ...]]:
        changes = sql.SQL(", ").join(
            sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name))
            for name in self._names
            if name not in self._plan.key
        )
        composed = sql.SQL(text).format(
            table=self.name,
            stage=self._stage,
            columns=_joined(self._names),
            key=_joined(self._plan.key),
            changes=changes,
        )
        return await self._connection.execute(composed)


def _joined(names: tuple[str, ...]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))
