"""The key ring: the newest key seals, all of them open.

Old keys stay until nothing is sealed with them any more, so a rotation that stops half-way loses nothing. Where a ring
is kept is behind `Keys`: a private file of the home (`key_file.py`), a variable (`key_variable.py`) or the system's own
store of passwords (`key_service.py`). Never in the database, whose copy must be worth nothing without the ring.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from noetl.errors import KeychainUnusable
from noetl.keychain.sealing import Key

FORMAT = 1
KEYS_MAX = 64
RING_BYTES_MAX = 64 * 1024


class Ring:
    """Keys, the newest first."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys = tuple(dict.fromkeys(keys))

    @property
    def newest(self) -> Key:
        return self.keys[0]

    @property
    def ids(self) -> list[str]:
        return [key.id for key in self.keys]

    def find(self, key_id: str) -> Key | None:
        return next((key for key in self.keys if key.id == key_id), None)

    def with_fresh_key(self) -> Ring:
        return Ring((Key.fresh(), *self.keys))

    def without_unused(self, used: Iterable[str]) -> Ring:
        """The newest key, and those that something is still sealed with."""
        kept = {self.newest.id, *used}
        return Ring(key for key in self.keys if key.id in kept)


class Keys(Protocol):
    """Where a ring is kept. Calls may block; whoever changes a ring holds the turn of the strongbox."""

    where: str  # for messages: the file, the variable
    is_given: bool  # whoever runs NoETL keeps it: it cannot be changed from here

    def load(self) -> Ring | None:
        """The ring; None: there is none yet. Raises KeychainUnusable."""
        ...

    def save(self, ring: Ring) -> None:
        """Keep this ring from now on; when it returns, the ring is durable."""
        ...


def ring_as_json(ring: Ring) -> bytes:
    document = {"format": FORMAT, "keys": [{"id": key.id, "key": key.as_text()} for key in ring.keys]}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def ring_of_json(data: bytes | str, where: str) -> Ring:
    """A ring as it was kept. What is wrong with it is said without a byte of it."""
    try:
        document: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
        found, rows = document["format"], document["keys"]
        ring = Ring(Key.from_text(row["key"]) for row in rows)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _damaged(where, "it is not the JSON that NoETL wrote there") from None
    if found != FORMAT:
        raise _damaged(where, f"its format is {found!r}, and this version knows {FORMAT}")
    if not 0 < len(ring.keys) <= KEYS_MAX or ring.ids != [row.get("id") for row in rows]:
        raise _damaged(where, "its keys and their ids do not fit each other")
    return ring


def _damaged(where: str, why: str) -> KeychainUnusable:
    return KeychainUnusable(
        f"the key ring in {where} cannot be used: {why}. Bring it back from a backup; without it no stored credential "
        "can be read, and each must be removed and set again"
    )
