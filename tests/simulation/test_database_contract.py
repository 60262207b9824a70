"""The database of a simulated world passes the suites of stores: of any store, and of one that servers share."""

from pathlib import Path

from noetl.clock import SystemClock
from noetl.testing.shared_store_suite import SharedStoreSuite
from noetl.testing.simulator.database.client import DatabaseClient
from noetl.testing.simulator.database.database import Database
from noetl.testing.store_suite import StoreSuite


class TestStore(StoreSuite):
    async def make(self, folder: Path) -> DatabaseClient:
        self.database = Database(SystemClock())
        return self.database.client("server-1")

    async def reopen(self, store: DatabaseClient, folder: Path) -> DatabaseClient:
        await store.close()
        return self.database.client("server-1")


class TestSharedStore(SharedStoreSuite):
    async def make(self, folder: Path) -> DatabaseClient:
        return Database(SystemClock()).client("server-1")
