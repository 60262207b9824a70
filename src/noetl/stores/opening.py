"""The store of the settings, SQLite or PostgreSQL; a driver is imported only when somebody has such a store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from noetl.config import LEASE_SECONDS, Settings
from noetl.errors import MissingLibrary, RequestError, StoreBusy
from noetl.stores.contract import Store

if TYPE_CHECKING:
    from noetl.stores.postgres import PostgresStore


@asynccontextmanager
async def opened_store(settings: Settings, *, is_changing: bool) -> AsyncIterator[Store]:
    """On the store's own machine, beside whatever servers use it; one that is only read may be in use."""
    if settings.is_shared:
        store: Store = await open_postgres(settings.store_url)
    else:
        store = await _open_sqlite(settings, is_changing=is_changing)
    try:
        yield store
    finally:
        await store.close()


async def open_postgres(url: str, *, is_migrating: bool = True, lease_seconds: float = LEASE_SECONDS) -> PostgresStore:
    """Raises MissingLibrary, Unreachable, StoreTooNew, StoreUnusable."""
    try:
        from noetl.stores.postgres import PostgresStore
    except ImportError:
        raise MissingLibrary('store.url = postgresql://… needs: pip install "noetl[postgres]"') from None
    return await PostgresStore.open(url, is_migrating=is_migrating, lease_seconds=lease_seconds)


async def _open_sqlite(settings: Settings, *, is_changing: bool) -> Store:
    from noetl.stores.sqlite import SqliteStore

    try:
        return await SqliteStore.open(settings.store_path, is_read_only=not is_changing)
    except StoreBusy as busy:
        raise RequestError(
            f"the store {settings.store_url} is in use by {busy.holder}, which alone can change it. If that is a "
            f"server, ask it: add --server http://127.0.0.1:{settings.server_port}, or where it listens"
        ) from None
