"""The tokens of a store, as the command line asks for them on the store's own machine: each function does one thing.

Wires, and decides nothing. Whoever can write to the store may make any token: files and database accounts guard it. A
SQLite store that a server has is changed by that server only, so it must be asked (`--server`).
"""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from noetl.chance import SYSTEM
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.identity.tokens import Grant, Tokens
from noetl.logs import logging_to
from noetl.stores.disk import disk_faults, prepare_folder
from noetl.stores.opening import opened_store

LOG_NAME = "noetl.log"  # of the home, where a store has no file to put one beside
Found = TypeVar("Found")


def create(
    settings: Settings, *, role: str, label: str, pool: str, path_prefix: str, expires_in_seconds: float | None
) -> dict[str, Any]:
    """The row of a new token, and under `token` its text: the only time that it is to be had."""

    async def created(tokens: Tokens) -> dict[str, Any]:
        expires_at = None if expires_in_seconds is None else tokens.clock.now() + expires_in_seconds
        grant = Grant(role=role, label=label, pool=pool, path_prefix=path_prefix, expires_at=expires_at)
        issued = await tokens.create(grant, _who())
        return {"token": issued.token, **issued.row}

    return asyncio.run(_asked(settings, created, is_changing=True))


def listed(settings: Settings) -> list[dict[str, Any]]:
    if not settings.is_shared and not settings.store_path.exists():
        return []
    return asyncio.run(_asked(settings, Tokens.listed, is_changing=False))


def revoke(settings: Settings, token_id: str) -> dict[str, Any]:
    return asyncio.run(_asked(settings, lambda tokens: tokens.revoke(token_id, _who()), is_changing=True))


async def _asked(settings: Settings, ask: Callable[[Tokens], Awaitable[Found]], *, is_changing: bool) -> Found:
    log = settings.home / LOG_NAME if settings.is_shared else settings.store_path.with_suffix(".log")
    if is_changing:
        with disk_faults(log.parent):
            prepare_folder(log.parent)
    with logging_to(log):
        async with opened_store(settings, is_changing=is_changing) as store:
            return await ask(Tokens(store, SystemClock(), SYSTEM.new_secret))


def _who() -> str:
    """Whose terminal this is, for the audit log."""
    try:
        return f"{getpass.getuser()}, on the store's machine"
    except (OSError, KeyError):  # a user without a name, as in some containers
        return "somebody on the store's machine"
