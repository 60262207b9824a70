"""The small documents of a SQLite store: tokens, schedules, whatever is changed by compare and set.

The store that inherits this brings the connections: reads go to its reader, changes take their turn at its writer.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from typing import Any

import msgspec

from noetl.stores.contract import Record

RECORD = "SELECT * FROM record WHERE room = ? AND name = ?"
RECORDS = "SELECT * FROM record WHERE room = ? AND name > ? ORDER BY name LIMIT ?"
DUE_RECORDS = "SELECT * FROM record WHERE room = ? AND due_at <= ? ORDER BY due_at, name LIMIT ?"
RECORD_VERSIONS = "SELECT name, version FROM record WHERE room = ?"
INSERT_RECORD = "INSERT INTO record VALUES (?, ?, 1, ?, ?) ON CONFLICT (room, name) DO NOTHING"
REPLACE_RECORD = (
    "UPDATE record SET version = version + 1, body = ?, due_at = ? WHERE room = ? AND name = ? AND version = ?"
)
DELETE_RECORD = "DELETE FROM record WHERE room = ? AND name = ?"


class SqliteRecords(ABC):
    """See `noetl.stores.contract.Records`."""

    async def record(self, room: str, name: str) -> Record | None:
        found = self._read(RECORD, room, name)
        return _record(found[0]) if found else None

    async def records(self, room: str, after: str = "", limit: int = 1000) -> list[Record]:
        return list(map(_record, self._read(RECORDS, room, after, limit)))

    async def record_versions(self, room: str) -> dict[str, int]:
        return dict(self._read(RECORD_VERSIONS, room))

    async def due_records(self, room: str, now: float, limit: int = 100) -> list[Record]:
        return list(map(_record, self._read(DUE_RECORDS, room, now, limit)))

    async def put_record(self, record: Record) -> bool:
        if record.version == 0:
            return await self._change(INSERT_RECORD, record.room, record.name, record.body, record.due_at) == 1
        said = (record.body, record.due_at)
        return await self._change(REPLACE_RECORD, *said, record.room, record.name, record.version) == 1

    async def remove_record(self, room: str, name: str) -> bool:
        return await self._change(DELETE_RECORD, room, name) == 1

    @abstractmethod
    def _read(self, statement: str, *values: object) -> list[Any]: ...

    @abstractmethod
    async def _change(self, statement: str, *values: object) -> int:
        """Run one statement in a transaction of its own: how many rows it changed."""


def _record(row: sqlite3.Row) -> Record:
    return msgspec.convert(dict(row), Record)
