"""The tables of a PostgreSQL store: found, made, brought up to date, or refused before anything is written.

Migrations are numbered files, forward only, run in one transaction under a lock, so servers that start at the same
time bring the schema up to date once. Everything is in the first schema of the search path, beside whatever else is
there; tables of another program that have our names are refused.
"""

from __future__ import annotations

from pathlib import Path

from psycopg import errors

from noetl.errors import StoreTooNew, StoreUnusable
from noetl.stores.postgres_database import Connection

SCHEMA = 3  # the newest migration
MIGRATIONS = Path(__file__).parent / "sql"
TABLES = ("meta", "catalog", "execution", "event", "snapshot", "job", "holding", "record")
LOCK = 0x6E6F6574  # of whoever migrates: "noet"
PLACE = "SELECT current_schema(), current_setting('server_encoding'), current_setting('search_path')"
FOUND_TABLES = (
    "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname = ANY (%s)"
)
FOUND_SCHEMA = "SELECT value FROM meta WHERE key = 'schema'"
# Others may be at it: they are waited for, and a migration takes as long as it takes.
PATIENCE = "SET LOCAL lock_timeout = '120s'; SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on"


async def prepare(connection: Connection, name: str, *, is_migrating: bool) -> None:
    """Leave the newest schema behind. Raises StoreTooNew, StoreUnusable."""
    await _require_place(connection, name)
    if await _known_schema(connection, name) == SCHEMA:
        return
    if not is_migrating:
        raise StoreUnusable(
            f"the store {name} has not the schema {SCHEMA} that this NoETL reads: "
            "the next server that starts with it brings it up to date"
        )
    try:
        async with connection.transaction():
            await connection.execute(PATIENCE, prepare=False)
            await connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))", (LOCK,))
            await _migrate(connection, await _known_schema(connection, name))  # another server may have done it
    except errors.InsufficientPrivilege as refused:
        reason = str(refused).partition("\n")[0]
        raise StoreUnusable(
            f"the tables of the store {name} cannot be made: {reason}. Grant CREATE on the schema to this role, or "
            "start one server with the role that owns it"
        ) from refused


async def _require_place(connection: Connection, name: str) -> None:
    row = await (await connection.execute(PLACE)).fetchone()
    schema, encoding, path = row or (None, "", "")
    if schema is None:
        raise StoreUnusable(
            f"the store {name} has none of the schemas of its search path ({path}): CREATE SCHEMA first"
        )
    if encoding != "UTF8":
        raise StoreUnusable(f"the store {name} needs a database in UTF8, and this one is in {encoding}: make another")


async def _known_schema(connection: Connection, name: str) -> int:
    """The schema found; 0: there is none yet."""
    found = {table for (table,) in await (await connection.execute(FOUND_TABLES, (list(TABLES),))).fetchall()}
    if not found:
        return 0
    row = None
    if "meta" in found:
        try:
            row = await (await connection.execute(FOUND_SCHEMA)).fetchone()
        except (errors.UndefinedColumn, errors.DatatypeMismatch, errors.UndefinedFunction):
            row = None
    if row is None or not isinstance(row[0], int):
        raise StoreUnusable(
            f"the store {name} cannot be used: it has tables of another program ({', '.join(sorted(found))}). Nothing "
            "was changed. Give NoETL a database of its own, or a schema: ?options=-csearch_path%3Dnoetl in the URL"
        )
    if row[0] > SCHEMA:
        raise StoreTooNew(name, row[0], SCHEMA)
    return row[0]


async def _migrate(connection: Connection, found: int) -> None:
    for number in range(found + 1, SCHEMA + 1):
        file = MIGRATIONS / f"postgres_{number:03}.sql"
        await connection.execute(file.read_bytes(), prepare=False)
    await connection.execute("UPDATE meta SET value = %s WHERE key = 'schema'", (SCHEMA,))
