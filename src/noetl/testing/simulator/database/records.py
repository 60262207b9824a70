"""The small documents and the catalog of a simulated database (`noetl.stores.contract`)."""

from __future__ import annotations

from msgspec.structs import replace

from noetl.stores.contract import Entry, Record, Title
from noetl.stores.memory_listing import titles_of
from noetl.stores.wanted import ANY_PATH, Paths
from noetl.testing.simulator.database.calls import Caller


class DatabaseRecords(Caller):
    """Changed by compare and set."""

    async def record(self, room: str, name: str) -> Record | None:
        return await self._read("record", lambda: self._tables.records.get((room, name)))

    async def records(self, room: str, after: str = "", limit: int = 1000) -> list[Record]:
        def found() -> list[Record]:
            records = self._tables.records
            return [records[place] for place in sorted(one for one in records if one[0] == room and one[1] > after)][
                :limit
            ]

        return await self._read("records", found)

    async def record_versions(self, room: str) -> dict[str, int]:
        def found() -> dict[str, int]:
            return {name: one.version for (place, name), one in self._tables.records.items() if place == room}

        return await self._read("record_versions", found)

    async def due_records(self, room: str, now: float, limit: int = 100) -> list[Record]:
        def found() -> list[Record]:
            records = self._tables.records
            due = sorted(
                (one.due_at, place)
                for place, one in records.items()
                if place[0] == room and one.due_at is not None and one.due_at <= now
            )
            return [records[place] for _, place in due[:limit]]

        return await self._read("due_records", found)

    async def put_record(self, record: Record) -> bool:
        place = record.room, record.name

        def kept() -> bool:
            known = self._tables.records.get(place)
            if record.version != (known.version if known else 0):
                return False
            self._tables.put(self._tables.records, place, replace(record, version=record.version + 1))
            return True

        return await self._write("put_record", kept)

    async def remove_record(self, room: str, name: str) -> bool:
        def removed() -> bool:
            if (room, name) not in self._tables.records:
                return False
            self._tables.remove(self._tables.records, (room, name))
            return True

        return await self._write("remove_record", removed)


class DatabaseCatalog(Caller):
    """Playbooks by path and version."""

    async def register(self, entry: Entry) -> Entry:
        def registered() -> Entry:
            versions = self._tables.entries.get(entry.path, [])
            for known in versions:
                if known.sha == entry.sha:
                    return known
            made = replace(entry, version=len(versions) + 1)
            self._tables.extend(self._tables.entries, entry.path, [made])
            return made

        return await self._write("register", registered)

    async def entry(self, path: str, version: int | None = None) -> Entry | None:
        def found() -> Entry | None:
            versions = self._tables.entries.get(path, [])
            number = len(versions) if version is None else version
            return versions[number - 1] if 0 < number <= len(versions) else None

        return await self._read("entry", found)

    async def entry_by_sha(self, sha: str) -> Entry | None:
        return await self._read(
            "entry_by_sha", lambda: next((entry for entry in self._entries() if entry.sha == sha), None)
        )

    async def entries(self) -> list[Entry]:
        return await self._read("entries", self._entries)

    async def titles(self, limit: int, after: str = "", paths: Paths = ANY_PATH, text: str = "") -> list[Title]:
        def found() -> list[Title]:
            return titles_of((one[-1] for one in self._tables.entries.values()), limit, after, paths, text)

        return await self._read("titles", found)

    async def catalog_size(self) -> int:
        return await self._read("catalog_size", lambda: len(self._entries()))

    def _entries(self) -> list[Entry]:
        entries = self._tables.entries
        return [entry for path in sorted(entries) for entry in reversed(entries[path])]
