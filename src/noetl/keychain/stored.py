"""Credentials at rest: fields in, sealed rows in a strongbox, fields out again (KC-05, security 14).

The fields are sealed as JSON with the newest key of the ring. The seal covers everything that is said of the credential
in the open (name, version, kind, origin, names of fields), so a row that was edited, or swapped with another, does not
open. Setting replaces and counts the version up; nothing of what was there before can be read again.

Rotating takes two changes of the strongbox. The first opens every row, adds a key to the ring and seals every row anew.
The second drops the keys that no row needs. The ring is durable before a row is sealed with its newest key, and a key
goes only after no row has it: whatever the moment of a crash, every row has its key, and the next rotation cleans up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.errors import KeychainBusy, KeychainUnusable, RequestError
from noetl.keychain.ring import KEYS_MAX, Keys, Ring
from noetl.keychain.sealing import Key, SealBroken
from noetl.keychain.strongbox import REFERENCES, VALUES, Row, Strongbox, Turn

CREDENTIALS_MAX = 10_000
CREDENTIAL_BYTES_MAX = 64 * 1024
READS_MAX = 5
SEAL_OF = "noetl credential, format 1"


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A credential to be kept: its fields are values, or references to them."""

    name: str
    kind: str
    fields: dict[str, Any]

    def __repr__(self) -> str:
        return f"Credential({self.name}, {self.kind})"


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """What a rotation did."""

    key_id: str
    resealed: int
    dropped_key_ids: list[str]


class StoredCredentials:
    """The credentials of one strongbox, with the keys that open it."""

    def __init__(self, box: Strongbox, keys: Keys, clock: Clock) -> None:
        self.keys = keys
        self._box = box
        self._clock = clock

    # --- reading -----------------------------------------------------------------------------------------------------

    async def rows(self) -> list[Row]:
        """What may be known without a key, by name."""
        return await self._box.rows()

    async def read(self, name: str) -> tuple[Row, dict[str, Any]] | None:
        """A credential with its fields; None: there is none. Raises KeychainUnusable."""
        row = await self._box.row(name)
        for _ in range(READS_MAX):
            if row is None:
                return None
            try:
                return row, await asyncio.to_thread(self._open, row)
            except KeychainUnusable:  # a rotation may have come between the row and the ring
                again = await self._box.row(name)
                if again == row:
                    raise
                row = again
        raise KeychainBusy(self._box.name)

    def _open(self, row: Row) -> dict[str, Any]:
        return _unsealed(row, self.keys.load(), self.keys.where)

    # --- changing ----------------------------------------------------------------------------------------------------

    async def set_all(self, credentials: Sequence[Credential], origin: str = VALUES) -> list[Row]:
        """Keep credentials, each in place of the one with its name, all or none of them.

        References that have not changed stay as they are.
        """
        for given in credentials:
            size = len(msgspec.json.encode(given.fields))
            if size > CREDENTIAL_BYTES_MAX:
                raise RequestError(
                    f'the credential "{given.name}" may have {CREDENTIAL_BYTES_MAX} bytes, but has {size}'
                )
        return await self._box.change(lambda turn: [self._set(turn, given, origin) for given in credentials])

    def _set(self, turn: Turn, given: Credential, origin: str) -> Row:
        old = turn.row(given.name)
        _refuse_other_origin(old, origin)
        ring = self._ring(turn)
        if old and origin == REFERENCES and self._is_same(old, given, ring):
            return old
        if old is None and len(turn.rows()) >= CREDENTIALS_MAX:
            raise RequestError(f"the keychain {self._box.name} may hold {CREDENTIALS_MAX} credentials, and is full")
        now = self._clock.now()
        row = Row(
            name=given.name,
            kind=given.kind,
            version=old.version + 1 if old else 1,
            origin=origin,
            fields=tuple(sorted(given.fields)),
            key_id="",
            nonce=b"",
            ciphertext=b"",
            created_at=old.created_at if old else now,
            updated_at=now,
        )
        sealed = _sealed(row, given.fields, ring.newest)
        turn.put(sealed)
        return sealed

    def _is_same(self, old: Row, given: Credential, ring: Ring) -> bool:
        return old.kind == given.kind and _unsealed(old, ring, self.keys.where) == given.fields

    def _ring(self, turn: Turn) -> Ring:
        """The ring; made with the first credential, and never in place of one that is missing."""
        ring = self.keys.load()
        if ring is None:
            if turn.rows():
                raise _ring_missing(self.keys.where)
            ring = Ring([Key.fresh()])
            self.keys.save(ring)
        return ring

    async def remove(self, name: str) -> bool:
        """False: there was none. Needs no key, so what cannot be opened any more can still be removed."""
        return await self._box.change(lambda turn: turn.remove(name))

    async def rotate(self) -> Rotation:
        """Seal everything with a new key, then drop those that nothing needs."""
        key_id, resealed = await self._box.change(self._reseal)
        dropped = await self._box.change(self._drop_unused)
        return Rotation(key_id=key_id, resealed=resealed, dropped_key_ids=dropped)

    def _reseal(self, turn: Turn) -> tuple[str, int]:
        ring = self._ring(turn)
        opened = [(row, _unsealed(row, ring, self.keys.where)) for row in turn.rows()]  # or stop before any change
        if not self.keys.is_given:
            if len(ring.keys) >= KEYS_MAX:
                raise KeychainUnusable(f"the key ring in {self.keys.where} may hold {KEYS_MAX} keys, and is full")
            ring = ring.with_fresh_key()
            self.keys.save(ring)
        stale = [(row, fields) for row, fields in opened if row.key_id != ring.newest.id]
        for row, fields in stale:
            turn.put(_sealed(row, fields, ring.newest))
        return ring.newest.id, len(stale)

    def _drop_unused(self, turn: Turn) -> list[str]:
        """The ids of the keys that went, or, where they are given from outside, that may go."""
        ring = self._ring(turn)
        kept = ring.without_unused(row.key_id for row in turn.rows())
        if len(kept.keys) < len(ring.keys) and not self.keys.is_given:
            self.keys.save(kept)
        return [key_id for key_id in ring.ids if key_id not in kept.ids]


def _refuse_other_origin(old: Row | None, origin: str) -> None:
    """Neither a value that nobody else has nor a reference goes by an oversight."""
    if old is None or old.origin == origin:
        return
    is_of_document = old.origin == REFERENCES
    held = "references that a document gave" if is_of_document else "values that were set"
    raise RequestError(
        f'the credential "{old.name}" holds {held}, which this would replace. '
        f"If that is meant, remove it first: noetl keychain remove {old.name}"
    )


def _belonging(row: Row) -> bytes:
    """All that is said of a credential in the open: what its seal is for."""
    return msgspec.json.encode([SEAL_OF, row.name, row.version, row.kind, row.origin, row.fields])


def _sealed(row: Row, fields: Mapping[str, Any], key: Key) -> Row:
    nonce, ciphertext = key.seal(msgspec.json.encode(dict(fields)), _belonging(row))
    return msgspec.structs.replace(row, key_id=key.id, nonce=nonce, ciphertext=ciphertext)


def _unsealed(row: Row, ring: Ring | None, where: str) -> dict[str, Any]:
    if ring is None:
        raise _ring_missing(where)
    key = ring.find(row.key_id)
    if key is None:
        raise KeychainUnusable(
            f'the credential "{row.name}" is sealed with the key {row.key_id}, which is not in {where} '
            f"(there: {', '.join(ring.ids)}). Bring that key back, or remove the credential and set it again"
        )
    try:
        plain = key.unseal(row.nonce, row.ciphertext, _belonging(row))
        return msgspec.json.decode(plain, type=dict[str, Any])
    except SealBroken:
        raise KeychainUnusable(
            f'the credential "{row.name}" was changed or swapped with another since it was stored: its seal does not '
            "fit. Remove it and set it again, and find out who can write to the keychain"
        ) from None


def _ring_missing(where: str) -> KeychainUnusable:
    return KeychainUnusable(
        f"there are stored credentials, but the key ring in {where} that opens them is missing. Bring it here from "
        "another server that shares the store, or from a backup; or remove the credentials with noetl keychain remove "
        "and set them again"
    )
