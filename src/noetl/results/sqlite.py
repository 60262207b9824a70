"""Results in one SQLite file of their own, beside the store: one file to copy, and no service.

A payload is many rows of at most 1 MiB, so that none is ever in memory whole. It comes in with one transaction; what
another process writes meanwhile waits its turn. Reading asks for one row at a time and holds nothing open in between.
SQLite blocks, so all of it is done in threads: one that writes, and any for reading.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from noetl.errors import DiskFull, StoreUnusable
from noetl.results.blobs import CHUNK_BYTES, Place
from noetl.results.by_content import ByContent, Found
from noetl.results.contract import Kept
from noetl.results.spool import Payload, read_pieces

BUSY_SECONDS_MAX = 60.0
PAGES_FREED_MAX = 4096  # given back to the file system after each removal
ROWS_PER_STEP = 1000
Done = TypeVar("Done")
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
WRITING_PRAGMAS = ("PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
TABLES = (
    "CREATE TABLE IF NOT EXISTS result (sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL, stored_at REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS result_chunk (sha256 TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, "
    "UNIQUE (sha256, number))",
)
KEEP = "INSERT OR REPLACE INTO result VALUES (?, ?, ?)"
SIZE = "SELECT total(length(data)) FROM result_chunk WHERE sha256 = ?"
WALK = "SELECT sha256, bytes, stored_at FROM result WHERE sha256 > ? ORDER BY sha256 LIMIT ?"


class SqliteResults(ByContent):
    """Results in a SQLite file; see `noetl.results.contract.Results`."""

    def __init__(self, path: Path, place: Place) -> None:
        super().__init__(place)
        self._path = path
        self._writing = ThreadPoolExecutor(max_workers=1, thread_name_prefix="noetl-results")
        self._writer: sqlite3.Connection | None = None  # belongs to that thread
        self._is_closed = False

    async def put(self, payload: Payload) -> None:
        await self._written(self._put, payload)

    async def find(self, sha: str) -> Found | None:
        size = await asyncio.to_thread(self._size, sha)
        return None if size is None else Found(size, self._pieces(sha))

    async def _pieces(self, sha: str) -> AsyncGenerator[bytes, None]:
        number = 0
        while (piece := await asyncio.to_thread(self._piece, sha, number)) is not None:
            number += 1
            yield piece

    async def walk(self) -> AsyncIterator[Kept]:
        last = ""
        while rows := await asyncio.to_thread(self._rows, WALK, (last, ROWS_PER_STEP)):
            for sha, size, stored_at in rows:
                yield Kept(locator=self.place.prefix + sha, bytes=size, stored_at=stored_at)
            last = rows[-1][0]

    async def discard(self, sha: str, stored_before: float) -> bool:
        return await self._written(self._discard, sha, stored_before)

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await self._written(self._close)
            self._writing.shutdown()

    async def _written(self, deed: Callable[..., Done], *given: Any) -> Done:
        """Do something in the thread that writes; once begun it is done, whoever has stopped waiting for it."""
        return await asyncio.get_running_loop().run_in_executor(self._writing, deed, *given)

    # --- in the thread that writes -----------------------------------------------------------------------------------

    def _put(self, payload: Payload) -> None:
        with self._faults(), self._transaction() as writer:
            sha = payload.sha
            (length,) = writer.execute(SIZE, (sha,)).fetchone()
            known = writer.execute("SELECT 1 FROM result WHERE sha256 = ?", (sha,)).fetchone()
            writer.execute(KEEP, (sha, payload.size, time.time()))
            if known and int(length) == payload.size:
                return
            writer.execute("DELETE FROM result_chunk WHERE sha256 = ?", (sha,))
            for number, piece in enumerate(read_pieces(payload, CHUNK_BYTES)):
                writer.execute("INSERT INTO result_chunk VALUES (?, ?, ?)", (sha, number, piece))

    def _discard(self, sha: str, stored_before: float) -> bool:
        if not self._path.exists():
            return False
        with self._faults():
            with self._transaction() as writer:
                query = "DELETE FROM result WHERE sha256 = ? AND stored_at < ?"
                is_gone = writer.execute(query, (sha, stored_before)).rowcount > 0
                if is_gone:
                    writer.execute("DELETE FROM result_chunk WHERE sha256 = ?", (sha,))
            writer.executescript(f"PRAGMA incremental_vacuum({PAGES_FREED_MAX})")  # execute would free one page
        return is_gone

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        writer = self._opened()
        writer.execute("BEGIN IMMEDIATE")
        try:
            yield writer
            writer.execute("COMMIT")
        except BaseException:
            if writer.in_transaction:  # a full disk rolls it back by itself
                writer.execute("ROLLBACK")
            raise

    def _opened(self) -> sqlite3.Connection:
        if self._writer is None:
            self._path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
            self._writer = self._connected()
            for statement in (*WRITING_PRAGMAS, *TABLES):
                self._writer.execute(statement)
        return self._writer

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    # --- in any thread -----------------------------------------------------------------------------------------------

    def _size(self, sha: str) -> int | None:
        if not self._rows("SELECT 1 FROM result WHERE sha256 = ?", (sha,)):
            return None
        return int(self._rows(SIZE, (sha,))[0][0])

    def _piece(self, sha: str, number: int) -> bytes | None:
        rows = self._rows("SELECT data FROM result_chunk WHERE sha256 = ? AND number = ?", (sha, number))
        return rows[0][0] if rows else None

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Read beside whoever writes; a file that nobody has written to yet has nothing in it."""
        if not self._path.exists():
            return []
        with self._faults(), closing(self._connected()) as reader:
            if not reader.execute("SELECT 1 FROM sqlite_schema WHERE name = 'result_chunk'").fetchone():
                return []
            return reader.execute(query, values).fetchall()

    def _connected(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=BUSY_SECONDS_MAX, isolation_level=None)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What SQLite and the operating system refuse, as an error that says what to do."""
        try:
            yield
        except (sqlite3.Error, OSError) as fault:
            if getattr(fault, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise DiskFull(str(self._path)) from fault
            raise StoreUnusable(
                f"the results in {self._path} cannot be used: {fault}. It must be a SQLite file that this user may "
                "write to: mend it, or choose another store with results.stores"
            ) from fault
