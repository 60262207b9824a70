"""Schedules and triggers of a store, as the command line asks for them on the store's own machine.

Wires, and decides nothing. A document that is applied here is looked at by whatever servers use the store; a SQLite
store that a server has is changed by that server only, so it must be asked (`--server`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from noetl.chance import SYSTEM
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.dsl.schedule_documents import schedules_of
from noetl.dsl.trigger_documents import triggers_of
from noetl.errors import RequestError
from noetl.starting.triggers import Triggers
from noetl.stores.opening import opened_store

if TYPE_CHECKING:
    from noetl.starting.schedules import Schedules

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

    def run(self, name: str) -> dict[str, Any]:
        """Servers start what schedules ask for; this process would end before its execution does."""
        self.shown(name, 1)  # one that is not there is said first
        raise RequestError(
            f'schedule "{name}" is run by a server, and none was named: say --server URL, or run its playbook here '
            "with noetl run"
        )

    def remove(self, name: str) -> None:
        return self._ask(lambda schedules: schedules.remove(name), is_changing=True)

    def _ask(self, ask: Callable[[Schedules], Awaitable[Found]], *, is_changing: bool = False) -> Found:
        from noetl.starting.schedules import Schedules  # with the library for cron, which triggers do without

        async def asked() -> Found:
            async with opened_store(self._settings, is_changing=is_changing) as store:
                return await ask(Schedules(store, SystemClock(), SYSTEM.random))

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
