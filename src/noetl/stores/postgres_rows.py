"""The statements of the PostgreSQL store that read and register, and its rows to and from the contract's values.

Columns are named wherever they are read, so a column that a later schema adds disturbs nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from noetl.engine.events import Event, decode
from noetl.errors import StoreUnusable
from noetl.stores.contract import Entry, Execution, Record, Snapshot
from noetl.stores.shared import Head

Row = tuple[Any, ...]
Value = TypeVar("Value")

EXECUTION_COLUMNS = ", ".join(Execution.__struct_fields__).encode()
ENTRY_COLUMNS = ", ".join(Entry.__struct_fields__).encode()

CLOCK = b"SELECT extract(epoch FROM clock_timestamp())::double precision"
# Nobody waits for the disk here: an execution's own commit does, and what was written before it is on disk with it.
RESERVE_IDS = (
    b"WITH unhurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) "
    b"UPDATE meta SET value = value + %s FROM unhurried WHERE key = 'execution_id' RETURNING value"
)

EXECUTION = b"SELECT " + EXECUTION_COLUMNS + b" FROM execution WHERE id = %s"
EXECUTION_BY_REQUEST = b"SELECT " + EXECUTION_COLUMNS + b" FROM execution WHERE request_key = %s"
EXECUTION_BY_PARENT = b"SELECT " + EXECUTION_COLUMNS + b" FROM execution WHERE parent_key = %s"
CHILDREN = b"SELECT " + EXECUTION_COLUMNS + b" FROM execution WHERE parent_id = %s ORDER BY created_at, id"
HEADS = b"SELECT id, head, tag, status FROM execution WHERE id = ANY (%s)"
TAG_AT = b"SELECT tag FROM event WHERE execution_id = %s AND seq = %s"

EVENTS = b"SELECT seq, body FROM event WHERE execution_id = %s AND seq > %s ORDER BY seq LIMIT %s"
ITERATIONS = (
    b"SELECT iter, seq, body FROM event WHERE name = 'loop.iteration.done' AND execution_id = %s AND run = %s "
    b"AND (iter, seq) > (%s, %s) ORDER BY iter, seq LIMIT %s"
)
SNAPSHOT = b"SELECT execution_id, seq, engine, body FROM snapshot WHERE execution_id = %s"

ENTRY = b"SELECT " + ENTRY_COLUMNS + b" FROM catalog WHERE path = %s AND version = %s"
ENTRY_NEWEST = b"SELECT " + ENTRY_COLUMNS + b" FROM catalog WHERE path = %s ORDER BY version DESC LIMIT 1"
ENTRY_BY_SHA = b"SELECT " + ENTRY_COLUMNS + b" FROM catalog WHERE sha = %s ORDER BY path LIMIT 1"
ENTRY_BY_CONTENT = b"SELECT " + ENTRY_COLUMNS + b" FROM catalog WHERE sha = %s AND path = %s"
ENTRIES = b"SELECT " + ENTRY_COLUMNS + b" FROM catalog ORDER BY path, version DESC"
# Nothing comes back if another server took the version, or registered the same, at the same time.
INSERT_ENTRY = (
    b"INSERT INTO catalog (path, version, sha, text, name, label, is_legacy, is_upstream, created_at) "
    b"SELECT %s, coalesce(max(version), 0) + 1, %s, %s, %s, %s, %s, %s, %s FROM catalog WHERE path = %s "
    b"ON CONFLICT DO NOTHING RETURNING " + ENTRY_COLUMNS
)

RECORD = b"SELECT room, name, version, body, due_at FROM record WHERE room = %s AND name = %s"
RECORDS = b"SELECT room, name, version, body, due_at FROM record WHERE room = %s AND name > %s ORDER BY name LIMIT %s"
DUE_RECORDS = (
    b"SELECT room, name, version, body, due_at FROM record WHERE room = %s AND due_at <= %s "
    b"ORDER BY due_at, name LIMIT %s"
)
RECORD_VERSIONS = b"SELECT name, version FROM record WHERE room = %s"
INSERT_RECORD = (
    b"INSERT INTO record (room, name, version, body, due_at) VALUES (%s, %s, 1, %s, %s) ON CONFLICT DO NOTHING"
)
REPLACE_RECORD = (
    b"UPDATE record SET version = version + 1, body = %s, due_at = %s WHERE room = %s AND name = %s AND version = %s"
)
DELETE_RECORD = b"DELETE FROM record WHERE room = %s AND name = %s"


def of_entry(entry: Entry) -> Row:
    """What the catalog is told; it gives the version itself."""
    what = (entry.sha, entry.text, entry.name, entry.label, entry.is_legacy, entry.is_upstream)
    return entry.path, *what, entry.created_at, entry.path


def event(body: bytes, execution_id: int, seq: int) -> Event:
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise StoreUnusable(
            f"event {execution_id}-{seq} cannot be read: {fault}. It is damaged, or a newer NoETL wrote it: "
            "upgrade NoETL, or bring the store back from a backup"
        ) from fault


def execution(row: Row) -> Execution:
    return Execution(**dict(zip(Execution.__struct_fields__, row, strict=True)))


def entry(row: Row) -> Entry:
    return Entry(**dict(zip(Entry.__struct_fields__, row, strict=True)))


def snapshot(row: Row) -> Snapshot:
    return Snapshot(**dict(zip(Snapshot.__struct_fields__, row, strict=True)))


def record(row: Row) -> Record:
    return Record(**dict(zip(Record.__struct_fields__, row, strict=True)))


def head(row: Row) -> Head:
    return Head(**dict(zip(Head.__struct_fields__, row, strict=True)))


def first(make: Callable[[Row], Value], found: Sequence[Row]) -> Value | None:
    return make(found[0]) if found else None
