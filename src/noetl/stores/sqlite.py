"""The embedded store: executions, logs, catalog and snapshots in one SQLite file.

One process writes (`lock.py`), through one connection; reads go through a second one, so that they never see a batch
that is still being written. A small commit runs on the event loop's own thread, because a trip to another thread costs
more than the commit; a large one, and the checkpoint that follows half a mebibyte of writing, run in a thread while
later commits wait for their turn. Readers in other processes open the same file with `is_read_only`.

The log is read in pages, each a statement of its own: a reader that stays in one transaction would keep the WAL from
ever starting anew. Events never change, so pages fit together.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from noetl.clock import Clock, SystemClock
from noetl.errors import DiskFull, StoreBusy, StoreUnusable
from noetl.stores import sqlite_blocks as blocks
from noetl.stores import sqlite_rows as rows
from noetl.stores.contract import Batch, Entry, Execution, HeadMoved, Snapshot
from noetl.stores.disk import disk_faults, free_bytes, identity, prepare_file, prepare_folder
from noetl.stores.lock import Lock, holder_of, take_lock
from noetl.stores.sqlite_database import (
    open_reader,
    open_writer,
    require_sqlite,
    sqlite_faults,
    store_name,
    transaction,
)
from noetl.stores.sqlite_listing import SqliteListing
from noetl.stores.sqlite_log import SqliteLog
from noetl.stores.sqlite_records import SqliteRecords

if TYPE_CHECKING:
    import asyncio

FREE_BYTES_MIN = 64 * 1024 * 1024  # below it nothing new is started: what runs needs the rest to come to its end
LOCK_RETRY_SECONDS = 0.05
EVENTS_ON_LOOP_MAX = 2000
# A WAL that starts anew writes over blocks that its file has already: a commit then takes 240 µs, and 420 µs while the
# file grows, since its new length must reach the disk too. A checkpoint of so little takes 700 µs, every forty commits.
CHECKPOINT_BYTES = 512 * 1024
SYSTEM_CLOCK = SystemClock()
FreeBytes = Callable[[Path], int]


class SqliteStore(SqliteLog, SqliteListing, SqliteRecords):
    """A store in one SQLite file; see `noetl.stores.contract.Store`."""

    def __init__(
        self,
        path: Path,
        *,
        reader: sqlite3.Connection,
        writer: sqlite3.Connection | None,
        lock: Lock | None,
        free_bytes_min: int,
        measure_free_bytes: FreeBytes,
    ) -> None:
        self.name = store_name(path)
        self._path = path
        self._reader = reader
        self._writer = writer
        self._lock = lock
        self._free_bytes_min = free_bytes_min
        self._measure_free_bytes = measure_free_bytes
        self._identity = identity(path)
        self._unchecked_bytes = 0  # written since the last checkpoint, estimated

    @cached_property
    def _turn(self) -> asyncio.Lock:
        """Of those who write. Imported here, since whoever only reads needs no event loop."""
        import asyncio

        return asyncio.Lock()

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        is_read_only: bool = False,
        wait_seconds: float = 0.0,
        free_bytes_min: int = FREE_BYTES_MIN,
        measure_free_bytes: FreeBytes = free_bytes,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Self:
        """Open a store, and make it if it is not there; `wait_seconds`: for the process that has it now.

        Raises StoreBusy, StoreTooNew, StoreUnusable, DiskFull.
        """
        require_sqlite()
        writer, lock = None, None
        try:
            if not is_read_only:
                lock = await _take_lock(path, wait_seconds, clock)
                with disk_faults(path):
                    prepare_file(path)
                writer = open_writer(path)
            return cls(
                path,
                reader=open_reader(path),
                writer=writer,
                lock=lock,
                free_bytes_min=free_bytes_min,
                measure_free_bytes=measure_free_bytes,
            )
        except BaseException:
            if writer is not None:
                writer.close()
            if lock is not None:
                lock.release()
            raise

    # --- writing -----------------------------------------------------------------------------------------------------

    async def reserve_ids(self, count: int) -> int:
        """The first of `count` execution ids; on disk before anyone uses one, so a crash wastes them at worst."""
        async with self._turn:
            writer = self._open_writer()
            with transaction(writer, self._path):
                (last,) = writer.execute(rows.RESERVE_IDS, (count,)).fetchone()
        return int(last) - count + 1

    async def commit(self, batch: Batch) -> None:
        """Write a batch, durably, or nothing of it. An id, request key or parent key that is taken is a HeadMoved."""
        self._refuse_starts_when_nearly_full(batch)
        await self._turn.acquire()
        if sum(len(append.events) for append in batch.appends) > EVENTS_ON_LOOP_MAX:
            import asyncio

            await asyncio.shield(self._end_turn_after(partial(self._write_large, batch)))
            return
        try:
            self._write(batch)
        except BaseException:
            self._turn.release()
            raise
        if self._unchecked_bytes < CHECKPOINT_BYTES:
            self._turn.release()
        else:
            self._end_turn_after(self._checkpoint)  # nobody waits for it: the batch stands

    async def register(self, entry: Entry) -> Entry:
        async with self._turn:
            writer = self._open_writer()
            with transaction(writer, self._path):
                if found := writer.execute(rows.ENTRY_BY_CONTENT, (entry.sha, entry.path)).fetchone():
                    return rows.entry(found)
                return rows.entry(writer.execute(rows.INSERT_ENTRY, rows.of_entry(entry)).fetchone())

    async def _change(self, statement: str, *values: object) -> int:
        async with self._turn:
            writer = self._open_writer()
            with transaction(writer, self._path):
                return writer.execute(statement, values).rowcount

    def free_bytes(self) -> int:
        """What may still be written to the disk of this store."""
        with disk_faults(self._path):
            return self._measure_free_bytes(self._path.parent)

    async def close(self) -> None:
        """Put the WAL into the database, close it and let the next process have it."""
        if self._writer is None:
            self._reader.close()
            return
        async with self._turn:
            self._reader.close()
            if self._writer is not None:
                self._checkpoint("TRUNCATE")
                self._writer.close()
                self._writer = None
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            raise StoreUnusable(f"the store {self.name} is closed, or open for reading only: nothing can be recorded")
        return self._writer

    def _refuse_starts_when_nearly_full(self, batch: Batch) -> None:
        if batch.executions and self.free_bytes() < self._free_bytes_min:
            raise DiskFull(self.name)

    def _write(self, batch: Batch) -> None:
        writer = self._open_writer()
        added = blocks.of_blocks(batch.appends)
        try:
            with transaction(writer, self._path):
                if batch.executions:
                    writer.executemany(rows.INSERT_EXECUTION, map(rows.of_execution, batch.executions))
                moved = writer.executemany(rows.MOVE_HEAD, map(rows.of_head, batch.appends)).rowcount
                if batch.appends and moved != len(batch.appends):
                    raise HeadMoved(f"{len(batch.appends) - moved} of the batch's logs end somewhere else")
                writer.executemany(rows.SET_STATUS, map(rows.of_status, batch.appends))
                writer.executemany(blocks.INSERT_BLOCK, added)
                if ended := blocks.of_iterations(batch.appends):
                    writer.executemany(blocks.INSERT_ITERATION, ended)
                if batch.snapshots:
                    writer.executemany(rows.INSERT_SNAPSHOT, map(rows.of_snapshot, batch.snapshots))
        except sqlite3.IntegrityError as fault:
            raise HeadMoved("an execution with that id, request key or parent key is there already") from fault
        self._refuse_when_moved()
        self._unchecked_bytes += rows.written_bytes(batch, added)

    def _refuse_when_moved(self) -> None:
        """SQLite goes on writing to a file that has lost its name; what is in it nobody will find again."""
        if identity(self._path) != self._identity:
            raise StoreUnusable(
                f"the store {self.name} was removed or replaced while this process used it, so what was recorded since "
                "is lost. Bring it back from a backup, or start anew; a store that is in use must stay where it is"
            )

    def _write_large(self, batch: Batch) -> None:
        self._write(batch)
        if self._unchecked_bytes >= CHECKPOINT_BYTES:
            self._checkpoint()

    def _end_turn_after(self, work: Callable[[], None]) -> asyncio.Future[None]:
        """Do it in a thread. The turn ends with the work, even if whoever waits for it is cancelled before."""
        import asyncio

        working = asyncio.get_running_loop().run_in_executor(None, work)
        working.add_done_callback(lambda _: self._turn.release())
        return working

    def _checkpoint(self, mode: str = "PASSIVE") -> None:
        """Copy the WAL into the database, as far as readers allow; what is left is copied the next time."""
        writer = self._open_writer()
        self._unchecked_bytes = 0
        try:
            if mode != "PASSIVE":
                writer.execute("PRAGMA busy_timeout=0")  # nor wait for readers
            writer.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        except sqlite3.Error as fault:  # nothing is lost: the WAL has it all
            import logging

            log = logging.getLogger(__name__)
            log.warning("checkpoint failed: %s", fault, extra={"action": "checkpoint_failed", "store": self.name})

    # --- reading -----------------------------------------------------------------------------------------------------

    async def execution(self, execution_id: int) -> Execution | None:
        return rows.first(rows.execution, self._read(rows.EXECUTION, execution_id))

    async def execution_by_request(self, request_key: str) -> Execution | None:
        return rows.first(rows.execution, self._read(rows.EXECUTION_BY_REQUEST, request_key))

    async def execution_by_parent(self, parent_key: str) -> Execution | None:
        return rows.first(rows.execution, self._read(rows.EXECUTION_BY_PARENT, parent_key))

    async def children(self, execution_id: int) -> list[Execution]:
        return list(map(rows.execution, self._read(rows.CHILDREN, execution_id)))

    async def snapshot(self, execution_id: int) -> Snapshot | None:
        return rows.first(rows.snapshot, self._read(rows.SNAPSHOT, execution_id))

    async def entry(self, path: str, version: int | None = None) -> Entry | None:
        if version is None:
            return rows.first(rows.entry, self._read(rows.ENTRY_NEWEST, path))
        return rows.first(rows.entry, self._read(rows.ENTRY, path, version))

    async def entry_by_sha(self, sha: str) -> Entry | None:
        return rows.first(rows.entry, self._read(rows.ENTRY_BY_SHA, sha))

    async def entries(self) -> list[Entry]:
        return list(map(rows.entry, self._read(rows.ENTRIES)))

    def _read(self, statement: str, *values: object) -> list[Any]:
        with sqlite_faults(self._path):
            return self._reader.execute(statement, values).fetchall()

    @contextmanager
    def _rows(self, statement: str, *values: object) -> Iterator[Iterator[Any]]:
        with sqlite_faults(self._path), closing(self._reader.execute(statement, values)) as found:
            yield found


async def _take_lock(path: Path, wait_seconds: float, clock: Clock) -> Lock:
    lock_path = path.with_name(f"{path.name}.lock")
    deadline = clock.monotonic() + wait_seconds
    with disk_faults(path):
        prepare_folder(path.parent)
        while (lock := take_lock(lock_path, clock.now())) is None:
            if clock.monotonic() >= deadline:
                raise StoreBusy(store_name(path), holder_of(lock_path))
            await clock.sleep(LOCK_RETRY_SECONDS)
    return lock
