"""Every store passes the suite of stores."""

from pathlib import Path

from noetl.stores.contract import Store
from noetl.stores.memory import MemoryStore
from noetl.stores.sqlite import SqliteStore
from noetl.testing.store_suite import StoreSuite


class TestMemory(StoreSuite):
    async def make(self, folder: Path) -> Store:
        return MemoryStore()


class TestSqlite(StoreSuite):
    async def make(self, folder: Path) -> Store:
        return await SqliteStore.open(folder / "noetl.db")

    async def reopen(self, store: Store, folder: Path) -> Store:
        await store.close()
        return await self.make(folder)
