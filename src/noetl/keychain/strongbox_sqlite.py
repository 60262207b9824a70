"""Sealed credentials in a SQLite file of their own, which only its owner may read.

A file of its own, because a run has the store locked while somebody sets a credential. Each call opens it, does its one
short transaction and closes it, in a thread. With a rollback journal and not a WAL: nothing here waits long enough to
need one, and after a commit no second file has old pages. `secure_delete` overwrites what a row leaves behind.

The file is never opened by other means than SQLite: POSIX drops all locks of a process on a file when any of its
descriptors of that file is closed.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from noetl.errors import KeychainBusy, KeychainUnusable
from noetl.keychain.strongbox import Changed, Row, Turn

FILE_NAME = "keychain.db"
PRIVATE_FILE = 0o600
SCHEMA = 1
APPLICATION_ID = 0x4E6F4B63  # NoKc: tells our file from another program's
BUSY_SECONDS_MAX = 10.0

_SETTINGS = ("journal_mode=DELETE", "synchronous=EXTRA", "secure_delete=ON", "trusted_schema=OFF")
_TABLE = """CREATE TABLE credential (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, version INTEGER NOT NULL, origin TEXT NOT NULL, fields TEXT NOT NULL,
    key_id TEXT NOT NULL, nonce BLOB NOT NULL, ciphertext BLOB NOT NULL,
    created_at REAL NOT NULL, updated_at REAL NOT NULL
)"""
_COLUMNS = Row.__struct_fields__
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM credential"  # noqa: S608 - names of ours
_PUT = f"INSERT OR REPLACE INTO credential ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class SqliteStrongbox:
    """See `noetl.keychain.strongbox.Strongbox`."""

    def __init__(self, path: Path, busy_seconds_max: float = BUSY_SECONDS_MAX) -> None:
        self._path = path
        self._busy_seconds_max = busy_seconds_max
        self.name = str(path)

    async def row(self, name: str) -> Row | None:
        return await asyncio.to_thread(self._read, lambda turn: turn.row(name), None)

    async def rows(self) -> list[Row]:
        return await asyncio.to_thread(self._read, lambda turn: turn.rows(), [])

    async def change(self, work: Callable[[Turn], Changed]) -> Changed:
        return await asyncio.to_thread(self._change, work)

    def _read(self, work: Callable[[_SqliteTurn], Changed], otherwise: Changed) -> Changed:
        if not self._path.exists():
            return otherwise
        with self._faults():
            try:
                return self._read_as("ro", work, otherwise)
            except sqlite3.OperationalError as fault:
                if fault.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                    raise
                return self._read_as("rw", work, otherwise)  # a change was cut short: only a writer can take it back

    def _read_as(self, mode: str, work: Callable[[_SqliteTurn], Changed], otherwise: Changed) -> Changed:
        with self._connected(mode) as connection:
            return work(_SqliteTurn(connection)) if self._has_table(connection) else otherwise

    def _change(self, work: Callable[[Turn], Changed]) -> Changed:
        with self._faults():
            _make_private_file(self._path)
            with self._connected("rw") as connection:
                for setting in _SETTINGS:
                    connection.execute(f"PRAGMA {setting}")
                with _transaction(connection):
                    if not self._has_table(connection):
                        _make_table(connection)
                    return work(_SqliteTurn(connection))

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        address = f"{self._path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=self._busy_seconds_max)
        try:
            yield connection
        finally:
            connection.close()

    def _has_table(self, connection: sqlite3.Connection) -> bool:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if application_id == APPLICATION_ID and schema == SCHEMA:
            return True
        if application_id == APPLICATION_ID:
            raise KeychainUnusable(
                f"the keychain {self.name} has schema {schema}, and this NoETL knows {SCHEMA}. Use that which wrote it"
            )
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            raise KeychainUnusable(f"{self.name} is a database of another program. Move it, or choose another home")
        return False

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What SQLite and the system refuse, as an error that says what to do."""
        try:
            yield
        except sqlite3.Error as fault:
            if getattr(fault, "sqlite_errorcode", 0) & 0xFF in _BUSY:
                raise KeychainBusy(self.name) from fault
            raise self._unusable(str(fault)) from fault
        except msgspec.MsgspecError as fault:
            raise self._unusable("a row in it is not as NoETL wrote it") from fault
        except OSError as fault:
            raise self._unusable(fault.strerror or type(fault).__name__) from fault

    def _unusable(self, reason: str) -> KeychainUnusable:
        return KeychainUnusable(
            f"the keychain {self.name} cannot be used: {reason}. Nothing was changed. Mend its permissions or disk, "
            "or bring it back from a backup"
        )


class _SqliteTurn:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def row(self, name: str) -> Row | None:
        found = self._connection.execute(f"{_SELECT} WHERE name = ?", (name,)).fetchone()
        return _row(found) if found else None

    def rows(self) -> list[Row]:
        return [_row(found) for found in self._connection.execute(f"{_SELECT} ORDER BY name")]

    def put(self, row: Row) -> None:
        values = msgspec.structs.asdict(row) | {"fields": msgspec.json.encode(row.fields).decode()}
        self._connection.execute(_PUT, tuple(values.values()))

    def remove(self, name: str) -> bool:
        return self._connection.execute("DELETE FROM credential WHERE name = ?", (name,)).rowcount > 0


def _row(found: tuple[object, ...]) -> Row:
    values = dict(zip(_COLUMNS, found, strict=True))
    fields = msgspec.json.decode(str(values["fields"]), type=tuple[str, ...])
    return msgspec.convert(values | {"fields": fields}, Row)


def _make_table(connection: sqlite3.Connection) -> None:
    connection.execute(_TABLE)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={SCHEMA}")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _make_private_file(path: Path) -> None:
    """An empty file, made elsewhere and linked into its place: it never exists with another mode."""
    if path.exists():
        return
    beside = path.with_name(f".{path.name}-{os.urandom(8).hex()}")
    os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    try:
        with suppress(FileExistsError):  # another process was here first
            path.hardlink_to(beside)
    finally:
        beside.unlink()
