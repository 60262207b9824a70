"""A source that is asked once a second however many tasks want an entry: reading a stored one takes a millisecond,
which a loop of a hundred thousand requests would feel. A change counts a second later, or when a task is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noetl.clock import Clock
from noetl.keychain.kept import Fresh, Kept
from noetl.keychain.sources import Source
from noetl.secret import Declared

STORED_SECONDS = 1.0

Entry = Mapping[str, Any] | None


class KeptSource:
    """See `noetl.keychain.sources.KeepingSource`."""

    def __init__(self, source: Source, clock: Clock) -> None:
        self._source = source
        self._kept: Kept[Entry] = Kept(clock)

    async def entry(self, declared: Declared) -> Entry:
        return await self._kept.get(key_of(declared), lambda: self._fetch(declared))

    async def _fetch(self, declared: Declared) -> Fresh[Entry]:
        return Fresh(value=await self._source.entry(declared), use_seconds=STORED_SECONDS)

    def forget(self, declared: Declared) -> bool:
        self._kept.drop(key_of(declared))
        return False  # read anew, but nobody has made it anew

    async def close(self) -> None:
        await self._kept.close()


def key_of(declared: Declared) -> bytes:
    return f"{declared.name}\0{declared.kind}".encode("utf-8", "surrogatepass")
