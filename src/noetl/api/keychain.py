"""Stored credentials: values go in and never come out (security 14). Names are for those who write playbooks."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from noetl.api.documents import CredentialRow, Credentials, Proof
from noetl.api.operations import Call, Operation
from noetl.api.parts import KeptCredential
from noetl.api.problems import Refusal
from noetl.api.sight import demand_everything, who
from noetl.control.usage import Use
from noetl.engine.events import timestamp
from noetl.identity.audit import audit
from noetl.identity.roles import ADMIN, AUTHOR

TAG = "keychain"
NAME_CHARACTERS_MAX = 200
USED_BY_MAX = 100  # paths that are named
ONE = "/api/v1/keychain/{credential}"


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A credential: its kind, and its fields with their values."""

    kind: Annotated[str, Meta(min_length=1, max_length=64)]
    fields: Annotated[dict[str, Any], Meta(min_length=1, max_length=64)]

    def __repr__(self) -> str:
        return f"Kept({self.kind})"


class Tried(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    is_connecting: bool = True


def name_of(call: Call) -> str:
    return name_checked(call.path["credential"])


def name_checked(name: str) -> str:
    if not (0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable() and name.strip() == name):
        raise Refusal(400, "bad-name", f"a credential's name has 1 to {NAME_CHARACTERS_MAX} printable characters")
    return name


def row_of(kept: KeptCredential) -> dict[str, Any]:
    return {
        "name": kept.name,
        "kind": kept.kind,
        "version": kept.version,
        "origin": kept.origin,
        "fields": list(kept.fields),
        "created_at": timestamp(kept.created_at),
        "updated_at": timestamp(kept.updated_at),
    }


async def list_credentials(call: Call) -> dict[str, Any]:
    kept, uses = await call.parts.vault.rows(), await call.parts.usage.uses(call.identity.sees)
    stored = [{**row_of(row), "is_stored": True, **used_by(uses.get(row.name))} for row in kept]
    names = {row.name for row in kept}
    return {
        "credentials": stored,
        "missing": [missing_row(use) for name, use in sorted(uses.items()) if name not in names],
    }


def missing_row(use: Use) -> dict[str, Any]:
    said = use.declaration
    provider = said.provider or None
    return {
        "name": said.name,
        "kind": said.kind,
        "provider": provider,
        "is_stored": False,
        **used_by(use),
    }


def used_by(use: Use | None) -> dict[str, Any]:
    paths = use.paths if use else []
    return {"used_by": paths[:USED_BY_MAX], "uses": len(paths)}


async def keep_credential(call: Call) -> dict[str, Any]:
    body: Kept = call.body
    return row_of(await keep_named(call, name_of(call), body.kind, body.fields))


async def keep_named(call: Call, name: str, kind: str, fields: dict[str, Any]) -> KeptCredential:
    demand_everything(call)
    kept = await call.parts.vault.keep(name, kind, fields)
    audit("credential_stored", who(call), credential=name)
    return kept


async def remove_credential(call: Call) -> None:
    await remove_named(call, name_of(call))


async def remove_named(call: Call, name: str) -> None:
    demand_everything(call)
    if not await call.parts.vault.remove(name):
        raise unknown(name)
    audit("credential_removed", who(call), credential=name)


async def try_credential(call: Call) -> dict[str, Any]:
    demand_everything(call)
    vault, name = call.parts.vault, name_of(call)
    if name not in [row.name for row in await vault.rows()]:
        raise unknown(name)
    audit("credential_tried", who(call), credential=name)
    proof = await vault.prove(name, None, is_connecting=call.body.is_connecting)
    return {**proof, "is_ok": proof["error"] is None}


def unknown(name: str) -> Refusal:
    return Refusal(404, "unknown-credential", f'there is no stored credential "{name}"')


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/keychain",
        role=AUTHOR,
        summary="List credentials, stored and declared: names, kinds and who uses them, no values",
        handler=list_credentials,
        tag=TAG,
        answers={200: Credentials},
    ),
    Operation(
        method="PUT",
        path=ONE,
        role=ADMIN,
        summary="Store a credential, encrypted, in place of the one with its name",
        handler=keep_credential,
        tag=TAG,
        body=Kept,
        body_bytes_max=128 * 1024,
        answers={200: CredentialRow},
    ),
    Operation(
        method="DELETE",
        path=ONE,
        role=ADMIN,
        summary="Remove a stored credential",
        handler=remove_credential,
        tag=TAG,
        answers={204: None},
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path=f"{ONE}/test",
        role=ADMIN,
        summary="Try a stored credential: read it, and sign in to the service it is for",
        handler=try_credential,
        tag=TAG,
        body=Tried,
        answers={200: Proof},
        refusals=(404,),
    ),
)
