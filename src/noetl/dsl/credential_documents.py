"""`kind: Credential` documents: a credential by reference, beside the playbooks that use it.

    apiVersion: noetl.io/v2
    kind: Credential
    metadata: { name: warehouse }
    spec:
      kind: postgres_credential
      fields: { host: db.local, user: etl, database: sales, password: { env: DB_PASSWORD } }

Nodes in, plain data out. A field is a value, or a reference: {env: VARIABLE} or {file: path}. That a secret field is
never a value, and all else that must hold, is for the rules to say; here nothing is refused and no file is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, plain
from noetl.dsl.read import Reading, read

CREDENTIAL = "Credential"
ENV, FILE = "env", "file"
REFERENCES = (ENV, FILE)


class CredentialDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A credential whose document checks."""

    name: str
    kind: str
    fields: dict[str, Any]  # values, and references as {env: …} or {file: …}


def credentials_of(data: bytes | str, name: str) -> list[CredentialDocument]:
    """The credentials of a text that is known to check."""
    return [
        CredentialDocument(
            name=(root.mapping("metadata") or root).text("name") or "",
            kind=spec.text("kind") or "",
            fields={field: plain(entry.value) for field, entry in field_entries(spec).items()},
        )
        for root in credential_roots(read(data, name))
        if (spec := root.mapping("spec"))
    ]


def credential_roots(reading: Reading) -> Iterator[Mapping]:
    """The documents of a text that say they are credentials."""
    for document in reading.documents:
        if isinstance(document, Mapping) and document.text("kind") == CREDENTIAL:
            yield document


def field_entries(spec: Mapping | None) -> dict[str, Entry]:
    fields = spec.mapping("fields") if spec else None
    return fields.entries if fields else {}


def is_empty(node: AnyNode) -> bool:
    """Whether a field is there in name only."""
    return isinstance(node, Scalar) and node.value in (None, "")
