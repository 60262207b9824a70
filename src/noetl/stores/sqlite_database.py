"""SQLite itself: connections with their settings, the schema brought up to date, faults told apart.

In: the path of a database. Out: a writer or a reader connection, or an error that says what to do. The log's tables are
the business of `sqlite.py`; here they are only made.

One connection writes and checkpoints. A commit is on disk when it returns (WAL, synchronous=FULL). Readers are opened
read-only, in this process or another one. They work while a writer runs and after one died: the first to come then
repairs the WAL's index in the `-shm` file. Where a reader may not write that file (a read-only disk, the folder of
another user), a database whose WAL is empty can still be read as it is.

No file of the database may be opened by other means while a connection is open: POSIX drops every lock that a process
has on a file when any of its descriptors of that file is closed.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noetl.errors import DiskFull, NoetlError, StoreBusy, StoreTooNew, StoreUnusable
from noetl.stores.disk import is_out_of_room

SCHEMA = 4  # the newest migration
SQLITE_MIN = (3, 35, 0)  # RETURNING
MIGRATIONS = Path(__file__).parent / "sql"
BUSY_MILLISECONDS_MAX = 5000
CACHE_KIBIBYTES_MAX = 8 * 1024
WAL_KEPT_BYTES_MAX = 64 * 1024 * 1024

WRITER_SETTINGS = (
    f"busy_timeout={BUSY_MILLISECONDS_MAX}",
    "synchronous=FULL",
    "wal_autocheckpoint=0",  # the store does it, after the answer and off the loop
    f"journal_size_limit={WAL_KEPT_BYTES_MAX}",
    f"cache_size=-{CACHE_KIBIBYTES_MAX}",
    *(("fullfsync=1", "checkpoint_fullfsync=1") if sys.platform == "darwin" else ()),
)
READER_SETTINGS = (f"busy_timeout={BUSY_MILLISECONDS_MAX}", "query_only=1")
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
FORBIDDEN = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
OCCUPIED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def store_name(path: Path) -> str:
    """As people know it, and as --store takes it."""
    return f"sqlite:///{path}"


def require_sqlite(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Refuse a SQLite library that is too old for the statements used here."""
    if version < SQLITE_MIN:
        wanted, found = (".".join(map(str, numbers)) for numbers in (SQLITE_MIN, version))
        raise StoreUnusable(
            f"NoETL needs SQLite {wanted} or newer, but this Python has {found}. "
            "Use a Python that brings a newer one, as those of uv and python.org do"
        )


def open_writer(path: Path) -> sqlite3.Connection:
    """The connection that writes, on a database with the newest schema."""
    connection = _connect(path, "mode=rw")
    try:
        with sqlite_faults(path):
            _configure(connection, WRITER_SETTINGS)
            found = _known_schema(connection, path)
            _turn_on_wal(connection, path)
            _migrate(connection, found)
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads."""
    if not path.is_file():
        raise StoreUnusable(f"there is no store {store_name(path)}: nothing has run there yet")
    connection = _connect(path, "mode=ro")
    try:
        with sqlite_faults(path):
            _configure(connection, READER_SETTINGS)
            try:
                found = _known_schema(connection, path)
            except sqlite3.OperationalError as fault:
                if not (_primary(fault) in FORBIDDEN and _has_empty_wal(path)):
                    raise
                connection.close()
                connection = _connect(path, "mode=ro&immutable=1")
                found = _known_schema(connection, path)
        if found < SCHEMA:
            raise StoreUnusable(
                f"the store {store_name(path)} has schema {found}, and this NoETL reads {SCHEMA}: "
                "the next run with it brings it up to date"
            )
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """One transaction: it stands whole and on disk, or nothing of it does and the connection can go on."""
    with sqlite_faults(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite ends some failed transactions itself
                connection.execute("ROLLBACK")
            raise


@contextmanager
def sqlite_faults(path: Path) -> Iterator[None]:
    """What SQLite refuses, as an error that says what to do; a mistake in our own statements passes unchanged."""
    try:
        yield
    except sqlite3.Error as fault:
        known = _known(fault, path)
        if known is None:
            raise
        raise known from fault


def _known(fault: sqlite3.Error, path: Path) -> NoetlError | None:
    primary, name = _primary(fault), store_name(path)
    if primary == sqlite3.SQLITE_FULL:
        return DiskFull(name)
    if primary == sqlite3.SQLITE_IOERR:
        return DiskFull(name) if is_out_of_room(path.parent, _wal_bytes(path)) else _unusable(name, "the disk failed")
    if primary in DAMAGED:
        return _unusable(name, "it is not a SQLite database, or a damaged one")
    if primary in FORBIDDEN:
        return _unusable(name, "its files or their folder may not be written")
    if primary in OCCUPIED:
        return StoreBusy(name, "another program that has it open for writing")
    return None


def _unusable(name: str, why: str) -> StoreUnusable:
    return StoreUnusable(
        f"the store {name} cannot be used: {why}. Nothing was changed. Mend its permissions or its disk, bring it back "
        "from a backup, or choose another store with --store or NOETL_HOME"
    )


def _primary(fault: sqlite3.Error) -> int:
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF  # the rest of the number only refines it


def _connect(path: Path, options: str) -> sqlite3.Connection:
    # Any thread may use it, one at a time: large batches and checkpoints are written off the loop.
    address = f"{path.absolute().as_uri()}?{options}"
    with sqlite_faults(path):
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection


def _configure(connection: sqlite3.Connection, settings: tuple[str, ...]) -> None:
    for setting in settings:
        connection.execute(f"PRAGMA {setting}")


def _turn_on_wal(connection: sqlite3.Connection, path: Path) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise _unusable(store_name(path), "its file system has no shared memory, as network file systems have none")


def _known_schema(connection: sqlite3.Connection, path: Path) -> int:
    """The schema found, 0 for an empty database. Nothing is written before this has passed."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() if "meta" in tables else None
    if row is None:
        raise _unusable(store_name(path), "it is a SQLite database of another program")
    if row[0] > SCHEMA:
        raise StoreTooNew(store_name(path), row[0], SCHEMA)
    return int(row[0])


def _migrate(connection: sqlite3.Connection, found: int) -> None:
    """Run the migrations that are missing, all of them in one transaction."""
    if found == SCHEMA:
        return
    files = [MIGRATIONS / f"sqlite_{number:03}.sql" for number in range(found + 1, SCHEMA + 1)]
    script = "\n".join(file.read_text(encoding="utf-8") for file in files)
    ending = f"UPDATE meta SET value = {SCHEMA} WHERE key = 'schema';\nCOMMIT;"  # noqa: S608 - a number of ours
    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\n{ending}")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _has_empty_wal(path: Path) -> bool:
    return _wal_bytes(path) == 0


def _wal_bytes(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0
