"""A Credential document holds a secret itself.

Documents are kept with playbooks, in a repository, where a secret must never be. A secret field says where its value
is: `{env: VARIABLE}` for a variable of the machine that uses it, `{file: path}` for a file there, relative to the
document's own folder. Fields that are no secret, such as a host or a user, may be written down. To store a value
itself, encrypted, use `noetl keychain set`. A secret that stood in a file should be changed.

Wrong:

    apiVersion: noetl.io/v2
    kind: Credential
    metadata: { name: orders_api }
    spec:
      kind: bearer
      fields:
        token: abc123

Right:

    apiVersion: noetl.io/v2
    kind: Credential
    metadata: { name: orders_api }
    spec:
      kind: bearer
      fields:
        token: { env: ORDERS_API_TOKEN }

Spec: KC-05, PB-05.
"""

from collections.abc import Iterator

from noetl.dsl.credential_documents import credential_roots, field_entries, is_empty
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import Entry, Mapping, Scalar, shorten
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.keychain.kinds import kind_named

RULE = contract.Rule(code="NL130", name="secret-in-document", spec=("KC-05", "PB-05"), is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for root in credential_roots(reading):
        for entries in by_line(list(secrets_in(root))):
            yield found(entries)


def secrets_in(root: Mapping) -> Iterator[Entry]:
    """The fields that hold a secret themselves; of an unknown kind any text may be one."""
    spec = root.mapping("spec")
    kind = kind_named((spec.text("kind") if spec else None) or "")
    for name, entry in field_entries(spec).items():
        is_secret = kind is None or kind.is_secret(name) or has_password(entry)
        if is_secret and isinstance(entry.value, Scalar) and not is_empty(entry.value):
            yield entry


def has_password(entry: Entry) -> bool:
    """https://user:password@host: an address that says how to get in."""
    value = entry.value
    return isinstance(value, Scalar) and ":" in value.text.partition("://")[2].partition("/")[0].rpartition("@")[0]


def by_line(entries: list[Entry]) -> list[list[Entry]]:
    """Those of one line together: what is printed of a line ends at the first of them."""
    lines: dict[int, list[Entry]] = {}
    for entry in entries:
        lines.setdefault(entry.key.line, []).append(entry)
    return list(lines.values())


def found(entries: list[Entry]) -> Finding:
    names = [shorten(entry.key.text) for entry in entries]
    fields = ", ".join(f'"{name}"' for name in names)
    words = f"the field {fields} holds its secret" if len(names) == 1 else f"the fields {fields} hold their secrets"
    return RULE.at(
        entries[0].key.place,
        f"{words} in the document itself",
        why="a document is kept where others read it; a secret in it is known to all of them",
        fix=f"say where it is: {names[0]}: {{ env: VARIABLE }} or {{ file: path }}; and change the secret",
        is_about_secret=True,
    )
