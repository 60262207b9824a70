"""Results in PostgreSQL: a table of payloads, and one of their pieces, both made when first written to.

Rows and not large objects: rows are dumped, replicated, vacuumed and guarded like every other row, go with their
payload by a foreign key, and are not one space that the whole database shares. A piece has at most 1 MiB and is kept
as it is (EXTERNAL: compressing what mostly is compressed already costs more than it saves).

A payload comes in with one short transaction, since it is known whole by then. The row of the payload is the lock:
whoever stores or removes the same content at the same time waits for it, and then sees what became of it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from noetl.errors import ResultStoreRefused, ResultStoreUnreachable
from noetl.results.blobs import CHUNK_BYTES, Place
from noetl.results.by_content import ByContent, Found
from noetl.results.contract import Kept
from noetl.results.spool import Payload, pieces_of

CONNECTIONS_MAX = 4
CONNECT_SECONDS_MAX = 10
SILENCE_SECONDS_MAX = 60.0
APPLICATION_NAME = "noetl results"
ROWS_PER_STEP = 1000
FIELDS = {"host": "host", "port": "port", "user": "user", "password": "password", "database": "dbname"}
PASSED_ON = ("sslmode", "sslrootcert", "sslcert", "sslkey", "options")
REFUSED = ("28", "3D000", "42501")  # SQLSTATE: who are you, where to, and may you
# Before there is a connection there is no SQLSTATE either, only words.
REFUSED_WORDS = re.compile(r'authentication failed|password supplied|pg_hba\.conf|(role|database) ".*" (does|is) not ')
FULL = "53100"

TABLES = (
    "SELECT pg_advisory_xact_lock(hashtext({name}))",  # two that create at once would fail one another
    "CREATE TABLE IF NOT EXISTS {table} "
    "(sha256 text PRIMARY KEY, bytes bigint NOT NULL, stored_at double precision NOT NULL)",
    "CREATE TABLE IF NOT EXISTS {chunks} (sha256 text NOT NULL REFERENCES {table} ON DELETE CASCADE, "
    "number integer NOT NULL, data bytea NOT NULL, PRIMARY KEY (sha256, number))",
    "ALTER TABLE {chunks} ALTER COLUMN data SET STORAGE EXTERNAL",
)
KEEP = (
    "INSERT INTO {table} VALUES (%s, %s, extract(epoch FROM clock_timestamp())::double precision) "
    "ON CONFLICT (sha256) DO UPDATE SET bytes = excluded.bytes, stored_at = excluded.stored_at"
)
SIZE = (
    "SELECT coalesce(sum(octet_length(c.data)), 0)::bigint FROM {table} r LEFT JOIN {chunks} c USING (sha256) "
    "WHERE r.sha256 = %s GROUP BY r.sha256"
)
PIECE = "SELECT data FROM {chunks} WHERE sha256 = %s AND number = %s"
WALK = "SELECT sha256, bytes, stored_at FROM {table} WHERE sha256 > %s ORDER BY sha256 LIMIT %s"
Connection = psycopg.AsyncConnection[tuple[Any, ...]]


class PostgresResults(ByContent):
    """Results in PostgreSQL; see `noetl.results.contract.Results`."""

    def __init__(self, fields: Mapping[str, Any], table: str, place: Place) -> None:
        """`fields`: a postgres credential, or {url}; `table` may have its schema before a dot."""
        super().__init__(place)
        self._table = table
        words = table.split(".")
        self._names = {
            "table": sql.Identifier(*words),
            "chunks": sql.Identifier(*words[:-1], f"{words[-1]}_chunk"),
            "name": sql.Literal(table),
        }
        self._conninfo = conninfo_of(fields)
        self._slots = asyncio.Semaphore(CONNECTIONS_MAX)
        self._idle: list[Connection] = []
        self._is_closed = False
        self._has_tables = False
        self._turn = asyncio.Lock()

    async def put(self, payload: Payload) -> None:
        await self._make_tables()
        async with self._connected() as (connection, patience), connection.transaction():
            await connection.execute(self._query(KEEP), (payload.sha, payload.size))
            found = await (await connection.execute(self._query(SIZE), (payload.sha,))).fetchone()
            if found is not None and found[0] == payload.size:
                return
            await connection.execute(self._query("DELETE FROM {chunks} WHERE sha256 = %s"), (payload.sha,))
            number = 0
            async for piece in pieces_of(payload, CHUNK_BYTES):
                insert = self._query("INSERT INTO {chunks} VALUES (%s, %s, %b)")
                await connection.execute(insert, (payload.sha, number, piece))
                _renew(patience)
                number += 1

    async def find(self, sha: str) -> Found | None:
        row = await self._row(SIZE, (sha,))
        return None if row is None else Found(int(row[0]), self._pieces(sha))

    async def _pieces(self, sha: str) -> AsyncGenerator[bytes, None]:
        number = 0
        while (row := await self._row(PIECE, (sha, number))) is not None:
            number += 1
            yield bytes(row[0])

    async def walk(self) -> AsyncIterator[Kept]:
        last = ""
        while rows := await self._rows(WALK, (last, ROWS_PER_STEP)):
            for sha, size, stored_at in rows:
                yield Kept(locator=self.place.prefix + sha, bytes=size, stored_at=stored_at)
            last = rows[-1][0]

    async def discard(self, sha: str, stored_before: float) -> bool:
        query = "DELETE FROM {table} WHERE sha256 = %s AND stored_at < %s RETURNING 1"
        return bool(await self._rows(query, (sha, stored_before)))

    async def close(self) -> None:
        self._is_closed = True
        while self._idle:
            await self._idle.pop().close()

    # --- asking ------------------------------------------------------------------------------------------------------

    def _query(self, text: str) -> sql.Composed:
        return sql.SQL(text).format(**self._names)  # the texts are those above

    async def _row(self, text: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        rows = await self._rows(text, values)
        return rows[0] if rows else None

    async def _rows(self, text: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """The rows of one query; tables that nobody has written to yet have none."""
        try:
            async with self._connected() as (connection, _):
                cursor = await connection.execute(self._query(text), values, binary=True)
                return await cursor.fetchall()
        except psycopg.errors.UndefinedTable:
            return []

    async def _make_tables(self) -> None:
        async with self._turn:
            if self._has_tables:
                return
            async with self._connected() as (connection, _), connection.transaction():
                chunks = self._names["chunks"].as_string(connection)
                cursor = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", (chunks,))
                if (await cursor.fetchone()) != (True,):  # who may not create tables may use those there are
                    for text in TABLES:
                        await connection.execute(self._query(text))
            self._has_tables = True

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[Connection, asyncio.Timeout]]:
        """A connection of our own, for as long as this lasts; one that anything went wrong with is not used again.

        With it comes the patience that a server which has gone silent is met with; whoever hears of it may renew it.
        """
        with self._faults():
            async with self._slots, asyncio.timeout(SILENCE_SECONDS_MAX) as patience:
                connection = await self._free() or await psycopg.AsyncConnection.connect(
                    self._conninfo, autocommit=True
                )
                try:
                    yield connection, patience
                except BaseException:
                    await connection.close()
                    raise
                if self._is_closed:
                    await connection.close()
                else:
                    self._idle.append(connection)

    async def _free(self) -> Connection | None:
        """A connection that is open and nobody uses: the server may have gone and come back meanwhile."""
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.execute("")
            except psycopg.Error:
                await connection.close()
            except BaseException:
                await connection.close()
                raise
            else:
                return connection
        return None

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What PostgreSQL and the network refuse, as an error that says what to do; never with a password."""
        place = f"postgres {self._table}"
        try:
            yield
        except psycopg.errors.UndefinedTable:
            raise
        except TimeoutError as fault:
            raise ResultStoreUnreachable(place, f"it was silent for {SILENCE_SECONDS_MAX:g} s") from fault
        except psycopg.Error as fault:
            state = fault.sqlstate or ""
            if state.startswith(REFUSED) or (not state and REFUSED_WORDS.search(str(fault))):
                raise ResultStoreRefused(f"the result store {place} refused its credential: {fault}") from fault
            if state == FULL:
                raise ResultStoreUnreachable(place, "its disk is full") from fault
            raise ResultStoreUnreachable(place, str(fault).strip()) from fault


def conninfo_of(fields: Mapping[str, Any]) -> str:
    """What opens PostgreSQL, from a credential; off this machine TLS is demanded unless it says otherwise."""
    dsn = fields.get("dsn") or fields.get("url") or ""
    parts = {ours: fields[name] for name, ours in FIELDS.items() if fields.get(name)}
    parts |= {name: fields[name] for name in PASSED_ON if fields.get(name)}
    try:
        known: dict[str, Any] = dict(conninfo_to_dict(dsn, **parts))
    except psycopg.ProgrammingError:
        raise ResultStoreRefused("what opens the result store is no PostgreSQL address: wanted dsn, or host…") from None
    if "sslmode" not in known and not _is_here(str(known.get("host") or "")):
        known["sslmode"] = "verify-full"
        known.setdefault("sslrootcert", "system")
    known.setdefault("connect_timeout", CONNECT_SECONDS_MAX)
    known.setdefault("application_name", APPLICATION_NAME)
    return make_conninfo(**known)


def _renew(patience: asyncio.Timeout) -> None:
    patience.reschedule(asyncio.get_running_loop().time() + SILENCE_SECONDS_MAX)


def _is_here(hosts: str) -> bool:
    return all(host in ("", "localhost", "::1") or host.startswith(("/", "127.")) for host in hosts.split(","))
