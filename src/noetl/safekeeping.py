"""The stored credentials, as the command line asks for them: each function enters the event loop and does one thing.

Wires, and decides nothing. What comes back is for people and programs to see: names, kinds, versions, where a
credential comes from; a value never comes back.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.engine.events import timestamp
from noetl.errors import RequestError
from noetl.keychain.environment import PREFIX, variable_of
from noetl.keychain.field_references import with_absolute_files
from noetl.keychain.kinds import KINDS, NAMES, CredentialKind, kind_named, shortfall, unknown_fields, wanted
from noetl.keychain.local import keys_of, stored_credentials
from noetl.keychain.stored import Credential, StoredCredentials
from noetl.keychain.strongbox import REFERENCES, VALUES, Row

__all__ = ["KINDS", "NAMES", "CredentialKind", "kind_named", "shortfall", "unknown_fields", "variable_of", "wanted"]
__all__ += ["apply", "keep", "listed", "opened", "remove", "rotate"]

Found = TypeVar("Found")


def keep(settings: Settings, name: str, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Store a credential, encrypted, in place of the one with its name."""
    given = [Credential(name=name, kind=kind, fields=dict(fields))]
    (row,) = _ask(settings, lambda stored: stored.set_all(given, VALUES), is_changing=True)
    return shown(row)


def apply(
    settings: Settings, documents: Iterable[tuple[str, str, Mapping[str, Any]]], folder: Path
) -> list[dict[str, Any]]:
    """Store the references of Credential documents (name, kind, fields), all of them or none."""
    given = [
        Credential(name=name, kind=kind, fields=with_absolute_files(fields, folder)) for name, kind, fields in documents
    ]
    return [shown(row) for row in _ask(settings, lambda stored: stored.set_all(given, REFERENCES), is_changing=True)]


def listed(settings: Settings) -> list[dict[str, Any]]:
    """What can be had by name: stored credentials and documents, and NOETL_SECRET_ variables."""
    rows = _ask(settings, StoredCredentials.rows)
    variables = sorted(name for name, text in os.environ.items() if name.startswith(PREFIX) and text)
    shadows = {variable_of(row.name) for row in rows}
    found = [shown(row) | {"shadowed_by": _shadow(row, variables)} for row in rows]
    return found + [of_variable(variable) for variable in variables if variable not in shadows]


def _shadow(row: Row, variables: list[str]) -> str | None:
    """The variable that wins over a stored credential."""
    variable = variable_of(row.name)
    return variable if variable in variables else None


def of_variable(variable: str) -> dict[str, Any]:
    """What is known of a variable: any name that is spelt so in capitals finds it."""
    return {"name": variable.removeprefix(PREFIX).lower(), "kind": None, "version": None, "origin": variable}


def shown(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "kind": row.kind,
        "version": row.version,
        "origin": row.origin,
        "fields": list(row.fields),
        "key_id": row.key_id,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
    }


def remove(settings: Settings, name: str) -> None:
    async def removed(stored: StoredCredentials) -> None:
        known = [row.name for row in await stored.rows()]
        if name not in known or not await stored.remove(name):
            raise RequestError(f'there is no stored credential "{name}" in {_where(settings)}; {_advice(name, known)}')

    _ask(settings, removed)


def _advice(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f'did you mean "{near[0]}"?' if near else "noetl keychain list names those there are"


def rotate(settings: Settings) -> dict[str, Any]:
    """Seal everything with another key."""

    async def rotated(stored: StoredCredentials) -> dict[str, Any]:
        if not await stored.rows():
            raise RequestError(f"there is no stored credential in {_where(settings)}, so there is nothing to rotate")
        rotation = await stored.rotate()
        return {
            "key_id": rotation.key_id,
            "resealed": rotation.resealed,
            "dropped_key_ids": rotation.dropped_key_ids,
            "keys_in": stored.keys.where,
            "keys_are_given": stored.keys.is_given,
        }

    return _ask(settings, rotated)


def _where(settings: Settings) -> str:
    return "the store that the servers share" if settings.is_shared else str(settings.home)


def _ask(
    settings: Settings, ask: Callable[[StoredCredentials], Awaitable[Found]], *, is_changing: bool = False
) -> Found:
    if is_changing:
        _prepare_home(settings.home)

    async def asked() -> Found:
        async with opened(settings) as stored:
            return await ask(stored)

    return asyncio.run(asked())


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[StoredCredentials]:
    """The credentials of the home or, where servers share a store, those that they have: each has keys of its own."""
    clock = SystemClock()
    if not settings.is_shared:
        yield stored_credentials(settings, os.environ, clock)
        return
    from noetl.cluster import StoredDocuments
    from noetl.keychain.strongbox_records import RecordsStrongbox
    from noetl.stores.opening import open_postgres

    store = await open_postgres(settings.store_url)
    try:
        yield StoredCredentials(RecordsStrongbox(StoredDocuments(store)), keys_of(settings, os.environ), clock)
    finally:
        await store.close()


def _prepare_home(home: Path) -> None:
    """Make the folder; one inside a project, also if somebody made it by hand, must not be committed with its keys."""
    from noetl.stores.disk import HOME_NAME, disk_faults, prepare_folder

    with disk_faults(home):
        prepare_folder(home)
        ignored = home / ".gitignore"
        if home.name == HOME_NAME and not ignored.exists():
            ignored.write_text("*\n", encoding="utf-8")
