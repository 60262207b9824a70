"""A shared store by its URL: its driver is imported only when somebody has such a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.errors import MissingLibrary

if TYPE_CHECKING:
    from noetl.stores.postgres import PostgresStore

LEASE_SECONDS = 30.0


async def open_postgres(url: str, *, is_migrating: bool = True, lease_seconds: float = LEASE_SECONDS) -> PostgresStore:
    """Raises MissingLibrary, Unreachable, StoreTooNew, StoreUnusable."""
    try:
        from noetl.stores.postgres import PostgresStore
    except ImportError:
        raise MissingLibrary('store.url = postgresql://… needs: pip install "noetl[postgres]"') from None
    return await PostgresStore.open(url, is_migrating=is_migrating, lease_seconds=lease_seconds)
