"""Every strongbox passes the suite of strongboxes."""

from pathlib import Path

import msgspec

from noetl.cluster import StoredDocuments
from noetl.keychain.strongbox import Row, Strongbox
from noetl.keychain.strongbox_memory import MemoryStrongbox
from noetl.keychain.strongbox_records import RecordsStrongbox
from noetl.keychain.strongbox_sqlite import FILE_NAME, SqliteStrongbox
from noetl.stores.memory import MemoryStore
from noetl.testing.keychain_suite import StrongboxSuite


class TestMemory(StrongboxSuite):
    async def make(self, folder: Path) -> Strongbox:
        return MemoryStrongbox()

    def bytes_in(self, box: Strongbox, folder: Path) -> bytes:
        return b"".join(row.ciphertext for row in box._rows.values())


class TestSqlite(StrongboxSuite):
    async def make(self, folder: Path) -> Strongbox:
        return SqliteStrongbox(folder / FILE_NAME)

    async def reopen(self, box: Strongbox, folder: Path) -> Strongbox:
        return await self.make(folder)

    def bytes_in(self, box: Strongbox, folder: Path) -> bytes:
        return b"".join(path.read_bytes() for path in folder.iterdir())


class TestRecords(StrongboxSuite):
    async def make(self, folder: Path) -> Strongbox:
        self.store = MemoryStore()
        return RecordsStrongbox(StoredDocuments(self.store))

    async def reopen(self, box: Strongbox, folder: Path) -> Strongbox:
        return RecordsStrongbox(StoredDocuments(self.store))

    def bytes_in(self, box: Strongbox, folder: Path) -> bytes:
        bodies = [record.body for record in self.store._records.values()]
        return b"".join(row.ciphertext for body in bodies for row in msgspec.json.decode(body, type=list[Row]))
