"""Sealed credentials in a store that several servers share: all of them in one document, changed by compare and set.

One document, because a change of several rows (a rotation) must stand whole or not at all, and because there are few:
at most `BYTES_MAX` of them all. Two servers that change it at once: the second finds another version, and does its work
again on what is there then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from noetl.errors import KeychainBusy, KeychainUnusable
from noetl.keychain.strongbox import Changed, Row, Turn

ROOM, NAME = "keychain", "credentials"
BYTES_MAX = 16 * 1024 * 1024
TRIES_MAX = 20


class Kept(Protocol):
    """A document of the store (`stores.contract.Record`)."""

    @property
    def version(self) -> int: ...

    @property
    def body(self) -> bytes: ...


class Documents(Protocol):
    """How it is read and written: the store's records, of one room and one name."""

    name: str  # for messages

    async def read(self, room: str, name: str) -> Kept | None: ...

    async def write(self, room: str, name: str, version: int, body: bytes) -> bool:
        """False: another version is there."""
        ...


class RecordsStrongbox:
    """See `noetl.keychain.strongbox.Strongbox`."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._turn = asyncio.Lock()  # of this process: others are met with compare and set
        self.name = f"of {documents.name}"

    async def row(self, name: str) -> Row | None:
        return (await self._rows())[0].get(name)

    async def rows(self) -> list[Row]:
        return _ordered((await self._rows())[0])

    async def change(self, work: Callable[[Turn], Changed]) -> Changed:
        async with self._turn:
            return await self._change(work)

    async def _change(self, work: Callable[[Turn], Changed]) -> Changed:
        for _ in range(TRIES_MAX):
            rows, version = await self._rows()
            turn = _RecordsTurn(rows)
            found = await asyncio.to_thread(work, turn)
            body = msgspec.json.encode(_ordered(turn.rows_by_name))
            if len(body) > BYTES_MAX:
                raise KeychainUnusable(
                    f"the keychain {self.name} may have {BYTES_MAX} bytes and would have {len(body)}. Nothing was "
                    "changed. Remove credentials that nobody uses, or keep them with a provider"
                )
            if not turn.has_changed or await self._documents.write(ROOM, NAME, version, body):
                return found
        raise KeychainBusy(self.name)

    async def _rows(self) -> tuple[dict[str, Row], int]:
        kept = await self._documents.read(ROOM, NAME)
        if kept is None:
            return {}, 0
        try:
            return {row.name: row for row in msgspec.json.decode(kept.body, type=list[Row])}, kept.version
        except msgspec.MsgspecError as fault:
            raise KeychainUnusable(
                f"the keychain {self.name} is not as NoETL wrote it. Nothing was changed. Bring it back from a backup"
            ) from fault


class _RecordsTurn:
    def __init__(self, rows: dict[str, Row]) -> None:
        self.rows_by_name = rows
        self.has_changed = False

    def row(self, name: str) -> Row | None:
        return self.rows_by_name.get(name)

    def rows(self) -> list[Row]:
        return _ordered(self.rows_by_name)

    def put(self, row: Row) -> None:
        self.rows_by_name[row.name] = row
        self.has_changed = True

    def remove(self, name: str) -> bool:
        is_there = self.rows_by_name.pop(name, None) is not None
        self.has_changed = self.has_changed or is_there
        return is_there


def _ordered(rows: dict[str, Row]) -> list[Row]:
    return [rows[name] for name in sorted(rows)]
