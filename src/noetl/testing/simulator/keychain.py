"""The keychain of a simulated process: entries in memory, whose secrets are strings that stand nowhere else.

What is done with an entry (its fields checked against its kind, sealed, known from then on and taken out of whatever is
recorded) is the product's own code, so that a secret that shows up anywhere is the product's fault (I14).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from noetl.keychain.chain import checked, kind_of, missing
from noetl.keychain.kinds import kind_named
from noetl.keychain.known import Discreet, sealed_entry
from noetl.keychain.sources import KeepingSource
from noetl.secret import Declared

BEARER = "bearer"
Entries = Mapping[str, Mapping[str, Any]]


def entry_name(number: int) -> str:
    return f"canary_{number}"


def canary_entries(secrets: Sequence[str]) -> dict[str, dict[str, Any]]:
    """One entry for each secret, named `canary_0` and on: a playbook declares it with `kind: bearer`."""
    return {entry_name(number): {"token": secret} for number, secret in enumerate(secrets)}


class SimKeychain(Discreet):
    """See `noetl.keychain.contract.Keychain`. `asked`: who is asked for what is not here (a server, say)."""

    def __init__(self, entries: Entries | None = None, asked: KeepingSource | None = None) -> None:
        super().__init__()
        self._entries = entries or {}
        self._asked = asked

    async def resolve(self, declared: Declared) -> Mapping[str, Any]:
        entry = self._entries.get(declared.name)
        if entry is None and self._asked is not None:
            entry = await self._asked.entry(declared)
        if entry is None:
            raise LookupError(missing(declared))
        kind = kind_named(declared.kind)
        self._known.learn(entry, kind)
        fields = checked(declared, entry)
        return sealed_entry({**fields, "kind": kind_of(declared.kind, fields)}, kind)

    async def renew(self, declared: Declared) -> bool:
        return self._asked is not None and self._asked.forget(declared)

    async def close(self) -> None:
        if self._asked is not None:
            await self._asked.close()
