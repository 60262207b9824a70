"""The small documents of a PostgreSQL store: tokens, schedules, whatever is changed by compare and set."""

from __future__ import annotations

from noetl.stores import postgres_rows as rows
from noetl.stores.contract import Record
from noetl.stores.postgres_connections import Connections


class PostgresRecords:
    """See `noetl.stores.contract.Records`; whoever inherits it has the connections."""

    _connections: Connections

    async def record(self, room: str, name: str) -> Record | None:
        return rows.first(rows.record, await self._connections.rows(rows.RECORD, (room, name)))

    async def records(self, room: str, after: str = "", limit: int = 1000) -> list[Record]:
        return [rows.record(row) for row in await self._connections.rows(rows.RECORDS, (room, after, limit))]

    async def record_versions(self, room: str) -> dict[str, int]:
        return dict(await self._connections.rows(rows.RECORD_VERSIONS, (room,)))

    async def due_records(self, room: str, now: float, limit: int = 100) -> list[Record]:
        return [rows.record(row) for row in await self._connections.rows(rows.DUE_RECORDS, (room, now, limit))]

    async def put_record(self, record: Record) -> bool:
        said = (record.body, record.due_at)
        if record.version == 0:
            return await self._connections.change(rows.INSERT_RECORD, (record.room, record.name, *said)) == 1
        place = (record.room, record.name, record.version)
        return await self._connections.change(rows.REPLACE_RECORD, (*said, *place)) == 1

    async def remove_record(self, room: str, name: str) -> bool:
        return await self._connections.change(rows.DELETE_RECORD, (room, name)) == 1
