"""For the tests of the keychain: one over an empty home, its entries, and a clock that moves when it is told to."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from noetl.clock import Clock, SystemClock
from noetl.config import Settings
from noetl.keychain.chain import ResolvingKeychain
from noetl.keychain.opening import open_keychain
from noetl.secret import Declared, revealed

PLANTED = "planted-s3cret"


@asynccontextmanager
async def keychain(
    home: Path, environment: Mapping[str, str] | None = None, clock: Clock | None = None, **settings: Any
) -> AsyncIterator[ResolvingKeychain]:
    """A keychain with these variables, and settings such as `keychain_vault_url`."""
    chosen = Settings(home=home, store_url=f"sqlite:///{home}/noetl.db", **settings)
    opened = open_keychain(chosen, environment or {}, clock or SystemClock())
    try:
        yield opened
    finally:
        await opened.close()


def declared(name: str = "api", kind: str = "secret_manager", **settings: Any) -> Declared:
    return Declared(name=name, kind=kind, settings=settings)


async def fetched(home, environment=None, *, settings=None, clock=None, kind="secret_manager", **declaration):
    """The fields of an entry "db" that is declared so, opened."""
    async with keychain(home, environment, clock, **(settings or {})) as chain:
        entry = await chain.resolve(declared("db", kind, **declaration))
        return revealed(dict(entry))


async def refusal(home, environment=None, *, settings=None, **declaration) -> str:
    """Why such an entry cannot be had."""
    with pytest.raises(LookupError) as raised:
        await fetched(home, environment, settings=settings, **declaration)
    assert PLANTED not in str(raised.value)
    return str(raised.value)


def secret_file(folder, name="password", text=f"{PLANTED}\n", mode=0o600):
    """A file with a secret in it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path
