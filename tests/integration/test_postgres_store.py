"""PostgreSQL passes the suites of stores: of any store, and of one that several servers share."""

from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from noetl.stores.postgres import PostgresStore
from noetl.testing.shared_store_suite import SharedStoreSuite
from noetl.testing.store_suite import StoreSuite


def url_of(database_url: str, folder: Path) -> str:
    """A schema of the test's own, named as its folder is."""
    return f"{database_url}&options={quote(f'-csearch_path={schema_of(folder)}')}"


def schema_of(folder: Path) -> str:
    return f"t{abs(hash(folder)):x}"


async def open_new(database_url: str, folder: Path) -> PostgresStore:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema_of(folder))))
    return await PostgresStore.open(url_of(database_url, folder))


class TestStore(StoreSuite):
    @pytest.fixture(autouse=True)
    def database(self, database_url: str) -> None:
        self.database_url = database_url

    async def make(self, folder: Path) -> PostgresStore:
        return await open_new(self.database_url, folder)

    async def reopen(self, store: PostgresStore, folder: Path) -> PostgresStore:
        await store.close()
        return await PostgresStore.open(url_of(self.database_url, folder))


class TestSharedStore(SharedStoreSuite):
    @pytest.fixture(autouse=True)
    def database(self, database_url: str) -> None:
        self.database_url = database_url

    async def make(self, folder: Path) -> PostgresStore:
        return await open_new(self.database_url, folder)
