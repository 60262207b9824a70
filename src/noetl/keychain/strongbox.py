"""What keeps sealed credentials, whatever it keeps them in: rows in, rows out.

A strongbox knows names, kinds and ciphertexts; it has no key and never sees a value. All writing goes through `change`:
one at a time across all processes, whole or not at all. Whoever changes the key ring does it within a change, too, so
that two rotations cannot lose each other's key. When a change returns, nothing of a row it replaced or removed can be
read out of the box any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

VALUES, REFERENCES = "stored", "document"  # what is sealed: the values themselves, or where to find them

Changed = TypeVar("Changed")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One sealed credential, and what may be known of it without a key."""

    name: str
    kind: str
    version: int  # counts up with every change
    origin: str  # VALUES or REFERENCES
    fields: tuple[str, ...]  # their names
    key_id: str
    nonce: bytes
    ciphertext: bytes
    created_at: float
    updated_at: float


class Turn(Protocol):
    """A strongbox while nobody else can change it. Calls may block."""

    def row(self, name: str) -> Row | None: ...

    def rows(self) -> list[Row]:
        """All of them, by name."""
        ...

    def put(self, row: Row) -> None:
        """Keep this row, in place of the one with its name."""
        ...

    def remove(self, name: str) -> bool:
        """False: there was none."""
        ...


class Strongbox(Protocol):
    name: str  # for messages

    async def row(self, name: str) -> Row | None:
        """Reading makes nothing: a box that nobody has put anything into has no rows."""
        ...

    async def rows(self) -> list[Row]:
        """All of them, by name."""
        ...

    async def change(self, work: Callable[[Turn], Changed]) -> Changed:
        """Do this work in one transaction, off the event loop; if it raises, nothing has happened.

        Raises KeychainBusy, KeychainUnusable.
        """
        ...
