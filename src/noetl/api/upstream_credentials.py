"""Credentials, as clients of the public NoETL server call them (UP-10): their data never comes back."""

from __future__ import annotations

from typing import Any

from noetl.api import upstream_shapes as shapes
from noetl.api.keychain import keep_named, name_checked, remove_named, unknown
from noetl.api.operations import Call
from noetl.api.parts import KeptCredential
from noetl.api.upstream_shapes import upstream_operation
from noetl.engine.events import timestamp
from noetl.errors import Forbidden
from noetl.identity.roles import ADMIN, AUTHOR


async def list_credentials_upstream(call: Call) -> dict[str, Any]:
    query: shapes.CredentialsQuery = call.query
    rows = [
        credential_row(row)
        for row in await call.parts.vault.rows()
        if query.type in (None, row.kind) and (query.q or "").lower() in row.name.lower()
    ]
    return {"items": rows}


def credential_row(row: KeptCredential) -> dict[str, Any]:
    moments = {"created_at": timestamp(row.created_at), "updated_at": timestamp(row.updated_at)}
    return {"name": row.name, "type": row.kind} | moments


async def keep_credential_upstream(call: Call) -> dict[str, Any]:
    body: shapes.PutCredential = call.body
    return credential_row(await keep_named(call, name_checked(body.name), body.type, body.data))


async def show_credential_upstream(call: Call) -> dict[str, Any]:
    if call.query.include_data:
        raise Forbidden("credentials can be stored and used, not read: this server never gives their data out")
    name = call.path["credential"]
    found = next((row for row in await call.parts.vault.rows() if row.name == name), None)
    if found is None:
        raise unknown(name)
    return credential_row(found)


async def remove_credential_upstream(call: Call) -> None:
    await remove_named(call, name_checked(call.path["credential"]))


OPERATIONS = (
    upstream_operation(
        "GET",
        "/credentials",
        AUTHOR,
        "List credentials",
        list_credentials_upstream,
        shapes.CredentialsUpstream,
        query=shapes.CredentialsQuery,
    ),
    upstream_operation(
        "POST",
        "/credentials",
        ADMIN,
        "Store a credential",
        keep_credential_upstream,
        shapes.CredentialUpstream,
        body=shapes.PutCredential,
        body_bytes_max=128 * 1024,
    ),
    upstream_operation(
        "GET",
        "/credentials/{credential}",
        AUTHOR,
        "Show a credential, without its data",
        show_credential_upstream,
        shapes.CredentialUpstream,
        query=shapes.CredentialQuery,
    ),
    upstream_operation(
        "DELETE", "/credentials/{credential}", ADMIN, "Remove a credential", remove_credential_upstream, None
    ),
)
