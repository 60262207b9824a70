"""Schedules and triggers of a store, as the command line asks for them on the store's own machine.

Wires, and decides nothing. A document that is applied here is looked at by whatever servers use the store; a SQLite
store that a server has is changed by that server only, so it must be asked (`--server`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control.triggers import Triggers
from noetl.dsl.schedule_documents import schedules_of
from noetl.dsl.trigger_documents import triggers_of
from noetl.errors import RequestError, StoreBusy
from noetl.stores.contract import Store
from noetl.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from noetl.control.schedules import Schedules

Found = TypeVar("Found")


class OwnSchedules:
    """The schedules of the settings' store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def apply(self, data: bytes, name: str) -> list[dict[str, Any]]:
        """Keep the schedules of a text that is known to check."""
        documents = schedules_of(data, name)

        async def applied(schedules: Schedules) -> list[dict[str, Any]]:
            return [await schedules.apply(document) for document in documents]

        return self._ask(applied, is_changing=True)

    def listed(self) -> list[dict[str, Any]]:
        return self._ask(lambda schedules: schedules.listed())

    def shown(self, name: str, count: int) -> dict[str, Any]:
        return self._ask(lambda schedules: schedules.shown(name, count))

    def pause(self, name: str) -> dict[str, Any]:
        return self._ask(lambda schedules: schedules.pause(name), is_changing=True)

    def resume(self, name: str) -> dict[str, Any]:
        return self._ask(lambda schedules: schedules.resume(name), is_changing=True)

    def remove(self, name: str) -> None:
        return self._ask(lambda schedules: schedules.remove(name), is_changing=True)

    def _ask(self, ask: Callable[[Schedules], Awaitable[Found]], *, is_changing: bool = False) -> Found:
        from noetl.control.schedules import Schedules  # with the library for cron, which triggers do without

        async def asked() -> Found:
            async with opened_store(self._settings, is_changing=is_changing) as store:
                return await ask(Schedules(store, SystemClock(), random.random))

        return asyncio.run(asked())


class OwnTriggers:
    """The triggers of the settings' store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def apply(self, data: bytes, name: str) -> list[dict[str, Any]]:
        """Keep the triggers of a text that is known to check."""
        documents = triggers_of(data, name)

        async def applied(triggers: Triggers) -> list[dict[str, Any]]:
            return [await triggers.apply(document) for document in documents]

        return self._ask(applied, is_changing=True)

    def listed(self) -> list[dict[str, Any]]:
        return self._ask(lambda triggers: triggers.listed())

    def shown(self, name: str) -> dict[str, Any]:
        return self._ask(lambda triggers: triggers.shown(name))

    def remove(self, name: str) -> None:
        return self._ask(lambda triggers: triggers.remove(name), is_changing=True)

    def _ask(self, ask: Callable[[Triggers], Awaitable[Found]], *, is_changing: bool = False) -> Found:
        async def asked() -> Found:
            async with opened_store(self._settings, is_changing=is_changing) as store:
                return await ask(Triggers(store, SystemClock()))

        return asyncio.run(asked())


@asynccontextmanager
async def opened_store(settings: Settings, *, is_changing: bool) -> AsyncIterator[Store]:
    """The store of the settings; one that is only read may be in use."""
    store = await _shared(settings) if settings.is_shared else await _own(settings, is_changing=is_changing)
    try:
        yield store
    finally:
        await store.close()


async def _shared(settings: Settings) -> Store:
    from noetl.stores.opening import open_postgres

    return await open_postgres(settings.store_url)


async def _own(settings: Settings, *, is_changing: bool) -> Store:
    try:
        return await SqliteStore.open(settings.store_path, is_read_only=not is_changing)
    except StoreBusy as busy:
        raise RequestError(
            f"the store {settings.store_url} is in use by {busy.holder}, which alone can change it. If that is a "
            f"server, ask it: add --server http://127.0.0.1:{settings.server_port}, or where it listens"
        ) from None
