"""The statements of the SQLite store, and its rows to and from the contract's values; the log is in `sqlite_blocks.py`.

Columns are read by name, so a column that a later schema adds at the end disturbs nobody.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from noetl.stores.contract import Append, Batch, Entry, Execution, Snapshot

Row = tuple[Any, ...]
Value = TypeVar("Value")

PAGE_BYTES = 4096
PAGES_PER_COMMIT, PAGES_PER_APPEND = 2, 2  # what a commit and a log dirty besides the events themselves, about

RESERVE_IDS = "UPDATE meta SET value = value + ? WHERE key = 'execution_id' RETURNING value"

INSERT_EXECUTION = "INSERT INTO execution VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# The head apart from the rest: the status has an index, and rewriting it with every batch costs a page of WAL.
MOVE_HEAD = "UPDATE execution SET head = ? WHERE id = ? AND head = ?"
SET_STATUS = (
    "UPDATE execution SET status = ?, ended_at = ?, digest = ? "
    "WHERE id = ? AND (status, ended_at, digest) IS NOT (?, ?, ?)"
)
INSERT_SNAPSHOT = (
    "INSERT INTO snapshot VALUES (?, ?, ?, ?) ON CONFLICT (execution_id) DO UPDATE "
    "SET seq = excluded.seq, engine = excluded.engine, body = excluded.body WHERE excluded.seq >= seq"
)
INSERT_ENTRY = (
    "INSERT INTO catalog SELECT ?, coalesce(max(version), 0) + 1, ?, ?, ?, ?, ?, ?, ? "
    "FROM catalog WHERE path = ? RETURNING *"
)

EXECUTION = "SELECT * FROM execution WHERE id = ?"
EXECUTION_BY_REQUEST = "SELECT * FROM execution WHERE request_key = ?"
EXECUTION_BY_PARENT = "SELECT * FROM execution WHERE parent_key = ?"
CHILDREN = "SELECT * FROM execution WHERE parent_id = ? ORDER BY id"
SNAPSHOT = "SELECT * FROM snapshot WHERE execution_id = ?"
ENTRY = "SELECT * FROM catalog WHERE path = ? AND version = ?"
ENTRY_NEWEST = "SELECT * FROM catalog WHERE path = ? ORDER BY version DESC LIMIT 1"
ENTRY_BY_SHA = "SELECT * FROM catalog WHERE sha = ? ORDER BY path LIMIT 1"
ENTRY_BY_CONTENT = "SELECT * FROM catalog WHERE sha = ? AND path = ?"
ENTRIES = "SELECT * FROM catalog ORDER BY path, version DESC"


def of_execution(execution: Execution) -> Row:
    return msgspec.structs.astuple(execution)


def of_head(append: Append) -> Row:
    head = append.first_seq - 1
    return head + len(append.events), append.execution_id, head


def of_status(append: Append) -> Row:
    said = (append.status, append.ended_at, append.digest)
    return *said, append.execution_id, *said


def of_snapshot(snapshot: Snapshot) -> Row:
    return msgspec.structs.astuple(snapshot)


def of_entry(entry: Entry) -> Row:
    """What the catalog is told; it gives the version itself."""
    what = (entry.sha, entry.text, entry.name, entry.label, entry.is_legacy, entry.is_upstream)
    return entry.path, *what, entry.created_at, entry.path


def written_bytes(batch: Batch, blocks: Sequence[Row]) -> int:
    """About how much a batch adds to the WAL, which goes by whole pages."""
    pages = PAGES_PER_COMMIT + PAGES_PER_APPEND * len(batch.appends)
    bodies = sum(len(row[-1]) for row in blocks) + sum(len(snapshot.body) for snapshot in batch.snapshots)
    return pages * PAGE_BYTES + bodies


def execution(row: sqlite3.Row) -> Execution:
    return msgspec.convert(dict(row), Execution)


def snapshot(row: sqlite3.Row) -> Snapshot:
    return msgspec.convert(dict(row), Snapshot)


def entry(row: sqlite3.Row) -> Entry:
    return msgspec.convert(dict(row), Entry, strict=False)  # SQLite's 0 and 1 are booleans here


def first(make: Callable[[sqlite3.Row], Value], found: Sequence[sqlite3.Row]) -> Value | None:
    return make(found[0]) if found else None
