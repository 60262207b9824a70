"""The keychain of server and worker: a declared name in, sealed fields out.

Sources are asked in order: NOETL_SECRET_ variables, the encrypted store, then the provider that the playbook's
declaration names (`provider: vault`). The first that has the entry gives it; its fields are checked against its kind,
an oauth2 entry gets a token, what is secret is remembered for redaction and sealed. Variables are read at each use,
what is stored once a second, what a provider gave is kept for some, so a changed secret is soon in use. Nothing is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.keychain.environment import variable_of
from noetl.keychain.kinds import KINDS, completed, kind_named, shortfall
from noetl.keychain.known import Discreet, KnownSecrets, sealed_entry
from noetl.keychain.sources import KeepingSource, Source
from noetl.secret import Declared

if TYPE_CHECKING:
    from noetl.keychain.oauth2 import Tokens

OAUTH2 = "oauth2"
OAUTH2_FIELDS = frozenset(("token_url", "client_id", "client_secret"))


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Where entries come from."""

    variables: Source
    stored: KeepingSource
    providers: KeepingSource
    tokens: Tokens


class ResolvingKeychain(Discreet):
    """Looks entries up in its sources; these are made when the first entry is asked for."""

    def __init__(self, open_parts: Callable[[], Parts], known: KnownSecrets) -> None:
        super().__init__(known)
        self._open_parts = open_parts
        self._opened: Parts | None = None

    async def resolve(self, declared: Declared) -> Mapping[str, Any]:
        fields, _ = await self._found(declared)
        if is_oauth2(declared.kind, fields):
            token = await self._parts.tokens.token(declared.name, fields)
            fields = {**fields, "token": token.value, "expires_at": token.expires_at}
            self._known.remember(token.value)
        fields = {**fields, "kind": kind_of(declared.kind, fields)}
        return sealed_entry(fields, kind_named(declared.kind))

    async def renew(self, declared: Declared) -> bool:
        parts = self._parts
        fields, source = await self._found(declared)
        can_change = [keeping.forget(declared) for keeping in (parts.stored, parts.providers) if keeping is source]
        if is_oauth2(declared.kind, fields):
            parts.tokens.give_up(fields)
            return True
        return any(can_change)

    async def _found(self, declared: Declared) -> tuple[dict[str, Any], Source]:
        """The plain fields of an entry, known and checked, and where they came from."""
        for source in (self._parts.variables, self._parts.stored, self._parts.providers):
            entry = await source.entry(declared)
            if entry is not None:
                self._known.learn(entry, kind_named(declared.kind))
                return checked(declared, entry), source
        raise LookupError(missing(declared))

    @property
    def _parts(self) -> Parts:
        if self._opened is None:
            self._opened = self._open_parts()
        return self._opened

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            for part in (opened.tokens, opened.stored, opened.providers):
                await part.close()


def checked(declared: Declared, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry that has what its kind needs; a kind that only another server knows may have anything."""
    kind = kind_named(declared.kind)
    if kind is None:
        return dict(entry)
    fields = completed(kind, entry)
    fault = shortfall(kind, fields)
    if fault:
        raise LookupError(f'the credential "{declared.name}" is incomplete: {fault}')
    return fields


def kind_of(declared_kind: str, fields: Mapping[str, Any]) -> str:
    """What an entry is to be used as: what the playbook says, or, where that leaves it open, what the entry says."""
    known = kind_named(declared_kind)
    is_left_open = known is None or known.is_open
    return str(fields.get("kind") or declared_kind) if is_left_open else declared_kind


def is_oauth2(kind: str, fields: Mapping[str, Any]) -> bool:
    """Whether a token is to be had for an entry: its kind says so, or, of a kind that says nothing, its fields do."""
    known = kind_named(kind)
    if known is not None and not known.is_open:
        return known.name == OAUTH2
    return fields.keys() >= OAUTH2_FIELDS and "token" not in fields


def missing(declared: Declared) -> str:
    kind = kind_named(declared.kind) or KINDS[0]  # the first takes any fields, so it can hold what is not known here
    fields = ", ".join(f'"{field}": "…"' for field in kind.needs[0])
    return (
        f"it is nowhere: set {variable_of(declared.name)} to its fields as JSON, such as {{{fields}}}, or store it "
        f"with noetl keychain set {declared.name} --kind {kind.name}, or name a provider in the playbook's keychain"
    )
