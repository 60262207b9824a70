"""A SQLite store: whether it can be read, its schema, who uses it, how large its log before the next checkpoint is."""

from __future__ import annotations

from pathlib import Path

from noetl.checkup.findings import Findings, judged, ok
from noetl.config import Settings
from noetl.errors import StoreUnusable
from noetl.stores.lock import UNKNOWN_HOLDER, holder_of
from noetl.stores.sqlite import SqliteStore
from noetl.stores.sqlite_database import SCHEMA

STORE = "store"
WAL_BYTES_MAX = 256 * 1024 * 1024
MEBIBYTE = 1024 * 1024


async def sqlite(settings: Settings) -> Findings:
    path = settings.store_path
    if not path.is_file():
        yield ok(STORE, "sqlite", f"{settings.store_url} is not there yet; the first run or server makes it")
        return
    store = await SqliteStore.open(path, is_read_only=True)
    try:
        await store.executions(limit=1)
    finally:
        await store.close()
    yield ok(STORE, "sqlite", f"{settings.store_url}, schema {SCHEMA}")
    yield ok(STORE, "used by", holder(path))
    size = wal_bytes(path)
    yield judged(
        STORE,
        "write-ahead log",
        f"{size // MEBIBYTE} MiB",
        is_ok=size <= WAL_BYTES_MAX,
        fix="a reader that does not end holds it back: end long `noetl events --follow`, or restart the server",
    )


def holder(path: Path) -> str:
    lock = path.with_name(f"{path.name}.lock")
    if not lock.exists() or not lock.stat().st_size:
        return "nobody at the moment"
    found = holder_of(lock)
    return "nobody at the moment" if found == UNKNOWN_HOLDER else found


def wal_bytes(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError as fault:
        if isinstance(fault, FileNotFoundError):
            return 0
        raise StoreUnusable(f"the files of {path} cannot be looked at: {fault.strerror}") from fault
