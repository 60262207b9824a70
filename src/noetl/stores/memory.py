"""A store that lasts as long as its process: for tests, simulation, and runs that nobody wants to keep.

It holds to the contract like the others. Events are encoded when they come in and decoded when they are read, so that
nothing that only works with the very same object can pass here and fail elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec

from noetl.engine.events import Event, LoopIterationDone, decode, encode
from noetl.stores.contract import Append, Batch, Entry, Execution, HeadMoved, Record, Snapshot, Title
from noetl.stores.memory_listing import by_id_of, ended_counts, ended_of, live_counts, recent_of, titles_of
from noetl.stores.wanted import ALL, ANY_PATH, Paths, Wanted


class MemoryRecords:
    """Small documents in a dictionary; see `noetl.stores.contract.Records`."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], Record] = {}

    async def record(self, room: str, name: str) -> Record | None:
        return self._records.get((room, name))

    async def records(self, room: str, after: str = "", limit: int = 1000) -> list[Record]:
        found = [record for record in self._records.values() if record.room == room and record.name > after]
        return sorted(found, key=lambda record: record.name)[:limit]

    async def record_versions(self, room: str) -> dict[str, int]:
        return {one.name: one.version for one in self._records.values() if one.room == room}

    async def due_records(self, room: str, now: float, limit: int = 100) -> list[Record]:
        due = [(one.due_at, one) for one in self._records.values() if one.room == room and one.due_at is not None]
        ordered = sorted((pair for pair in due if pair[0] <= now), key=lambda pair: (pair[0], pair[1].name))
        return [record for _, record in ordered[:limit]]

    async def put_record(self, record: Record) -> bool:
        known = self._records.get((record.room, record.name))
        if record.version != (known.version if known else 0):
            return False
        self._records[record.room, record.name] = msgspec.structs.replace(record, version=record.version + 1)
        return True

    async def remove_record(self, room: str, name: str) -> bool:
        return self._records.pop((room, name), None) is not None


class MemoryStore(MemoryRecords):
    """A store in plain dictionaries; see `noetl.stores.contract.Store`."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "memory"
        self._last_id = 0
        self._executions: dict[int, Execution] = {}
        self._ids: dict[tuple[str, object], int] = {}  # by what only one execution may have
        self._logs: dict[int, list[bytes]] = {}  # seq is the place, from 1
        self._iterations: dict[tuple[int, int], list[tuple[int, int]]] = {}  # (execution, run): [(index, seq)]
        self._snapshots: dict[int, Snapshot] = {}
        self._entries: dict[str, list[Entry]] = {}  # a path's versions, oldest first

    async def reserve_ids(self, count: int) -> int:
        first = self._last_id + 1
        self._last_id += count
        return first

    async def commit(self, batch: Batch) -> None:
        """Everything that can fail comes first; only then is anything changed."""
        rows = self._rows_after(batch)
        bodies = [[encode(event) for event in append.events] for append in batch.appends]
        self._executions.update(rows)
        self._ids.update((key, row.id) for row in batch.executions for key in _keys(row))
        for append, encoded in zip(batch.appends, bodies, strict=True):
            self._logs.setdefault(append.execution_id, []).extend(encoded)
            self._note_iterations(append)
        for snapshot in batch.snapshots:
            known = self._snapshots.get(snapshot.execution_id)
            if known is None or snapshot.seq >= known.seq:
                self._snapshots[snapshot.execution_id] = snapshot

    async def execution(self, execution_id: int) -> Execution | None:
        return self._executions.get(execution_id)

    async def execution_by_request(self, request_key: str) -> Execution | None:
        return self._executions.get(self._ids.get(("request", request_key), 0))

    async def execution_by_parent(self, parent_key: str) -> Execution | None:
        return self._executions.get(self._ids.get(("parent", parent_key), 0))

    async def executions(self, limit: int = 100, before: int | None = None, wanted: Wanted = ALL) -> list[Execution]:
        found = (row for row in self._newest_first() if before is None or row.id < before)
        return list(islice((row for row in found if wanted.fits(row)), limit))

    async def executions_by_id(self, digits: str, limit: int, paths: Paths = ANY_PATH) -> list[Execution]:
        return by_id_of(self._newest_first(), digits, limit, paths)

    async def recent_executions(self, paths: Sequence[str], limit: int) -> dict[str, list[Execution]]:
        return recent_of(self._newest_first(), paths, limit)

    async def ended_executions(self, since: float, limit: int = 100) -> list[Execution]:
        return ended_of(self._executions.values(), since, limit)

    async def count_live(self, paths: Paths = ANY_PATH) -> dict[str, int]:
        return live_counts(self._executions.values(), paths)

    async def count_ended(self, since: float, paths: Paths = ANY_PATH) -> dict[tuple[int, str], int]:
        return ended_counts(self._executions.values(), since, paths)

    def _newest_first(self) -> list[Execution]:
        return sorted(self._executions.values(), key=lambda row: row.id, reverse=True)

    async def children(self, execution_id: int) -> list[Execution]:
        found = [row for row in self._executions.values() if row.parent_id == execution_id]
        return sorted(found, key=lambda row: row.id)

    async def events(self, execution_id: int, after: int = 0, limit: int = 1000) -> list[tuple[int, Event]]:
        bodies = self._logs.get(execution_id, [])[after : after + limit]
        return [(seq, decode(body)) for seq, body in enumerate(bodies, after + 1)]

    async def iteration_outputs(self, execution_id: int, run: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        for index, seq in sorted(self._iterations.get((execution_id, run), [])):
            event = decode(self._logs[execution_id][seq - 1])
            if isinstance(event, LoopIterationDone):
                yield index, event.output

    async def snapshot(self, execution_id: int) -> Snapshot | None:
        return self._snapshots.get(execution_id)

    async def register(self, entry: Entry) -> Entry:
        versions = self._entries.setdefault(entry.path, [])
        for known in versions:
            if known.sha == entry.sha:
                return known
        versions.append(msgspec.structs.replace(entry, version=len(versions) + 1))
        return versions[-1]

    async def entry(self, path: str, version: int | None = None) -> Entry | None:
        versions = self._entries.get(path, [])
        if version is None:
            return versions[-1] if versions else None
        return versions[version - 1] if 0 < version <= len(versions) else None

    async def entry_by_sha(self, sha: str) -> Entry | None:
        return next((entry for entry in await self.entries() if entry.sha == sha), None)

    async def entries(self) -> list[Entry]:
        return [entry for path in sorted(self._entries) for entry in reversed(self._entries[path])]

    async def titles(self, limit: int, after: str = "", paths: Paths = ANY_PATH, text: str = "") -> list[Title]:
        return titles_of((versions[-1] for versions in self._entries.values()), limit, after, paths, text)

    async def catalog_size(self) -> int:
        return sum(map(len, self._entries.values()))

    async def close(self) -> None:
        """Nothing is kept anywhere, so nothing is let go."""

    def _rows_after(self, batch: Batch) -> dict[int, Execution]:
        """The executions that a batch touches, as they will be; HeadMoved if it does not fit."""
        self._refuse_taken(batch.executions)
        rows = {row.id: row for row in batch.executions}
        for append in batch.appends:
            row = rows.get(append.execution_id) or self._executions.get(append.execution_id)
            if row is None or row.head != append.first_seq - 1:
                raise HeadMoved(f"the log of execution {append.execution_id} ends somewhere else")
            rows[row.id] = msgspec.structs.replace(
                row,
                head=row.head + len(append.events),
                status=append.status,
                ended_at=append.ended_at,
                digest=append.digest,
            )
        return rows

    def _refuse_taken(self, new: Iterable[Execution]) -> None:
        keys = [key for row in new for key in _keys(row)]
        if len(set(keys)) < len(keys) or not self._ids.keys().isdisjoint(keys):
            raise HeadMoved("an execution with that id, request key or parent key is there already")

    def _note_iterations(self, append: Append) -> None:
        for seq, event in enumerate(append.events, append.first_seq):
            if isinstance(event, LoopIterationDone):
                self._iterations.setdefault((append.execution_id, event.run), []).append((event.iter, seq))


def _keys(row: Execution) -> list[tuple[str, object]]:
    """What only one execution may have."""
    keys = (("id", row.id), ("request", row.request_key), ("parent", row.parent_key))
    return [(kind, key) for kind, key in keys if key is not None]
