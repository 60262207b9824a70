"""A Credential document is not written as one.

It has `apiVersion: noetl.io/v2`, `kind: Credential`, `metadata.name`, and a `spec` with the credential's kind and its
fields. The fields are those of the kind: a bearer has a token, a basic has username and password. Each is a value, or
one reference: `{env: VARIABLE}` or `{file: path}`.

Wrong:

    apiVersion: noetl.io/v2
    kind: Credential
    metadata: { name: mail }
    spec:
      kind: basic
      fields:
        user: robot
        password: { environment: MAIL_PASSWORD }

Right:

    apiVersion: noetl.io/v2
    kind: Credential
    metadata: { name: mail }
    spec:
      kind: basic
      fields:
        username: robot
        password: { env: MAIL_PASSWORD }

Spec: KC-04.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from noetl.dsl.credential_documents import ENV, REFERENCES, credential_roots, field_entries, is_empty
from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, shorten
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.keychain import kinds

RULE = contract.Rule(code="NL131", name="credential-document-shape", spec=("KC-04",), is_of_text=True)

VERSION = "noetl.io/v2"
KEYS = {
    "a Credential": ("apiVersion", "kind", "metadata", "spec"),
    "its metadata": ("name", "description", "labels"),
    "its spec": ("kind", "fields"),
}
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}\Z")
WHY = "a Credential has apiVersion, kind, metadata.name, spec.kind and spec.fields"


class Fault(NamedTuple):
    """What is wrong at an entry; where it is printed, and how much of its line, depends on the whole document."""

    entry: Entry
    message: str
    fix: str
    why: str = WHY


def check(reading: Reading) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for root in credential_roots(reading):
        keys = first_keys(root)
        for fault in chain(head(root), twice(root, first), of_spec(root.mapping("spec"))):
            # What follows a key may be a secret in the wrong place, so nothing after the first one of a line is shown.
            place = keys[fault.entry.key.line].place
            yield RULE.at(place, fault.message, why=fault.why, fix=fault.fix, is_about_secret=True)


def first_keys(root: Mapping) -> dict[int, Scalar]:
    """The first key of each line."""
    keys: dict[int, Scalar] = {}
    for entry in entries_below(root):
        known = keys.get(entry.key.line)
        if known is None or entry.key.column < known.column:
            keys[entry.key.line] = entry.key
    return keys


def entries_below(node: AnyNode) -> Iterator[Entry]:
    if isinstance(node, Mapping):
        for entry in node.entries.values():
            yield entry
            yield from entries_below(entry.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from entries_below(item)


def head(root: Mapping) -> Iterator[Fault]:
    """What a document of this kind must have, whatever its fields."""
    at = root.entries["kind"]
    metadata, spec = root.mapping("metadata"), root.mapping("spec")
    if root.text("apiVersion") != VERSION:
        yield Fault(at, f"the credential has no apiVersion: {VERSION}", f"write apiVersion: {VERSION}")
    if not (metadata and metadata.text("name")):
        yield Fault(at, "the credential has no name", "add metadata: { name: … }")
    if not (spec and spec.text("kind")):
        yield Fault(at, "the credential does not say its kind", f"add spec.kind, one of {listed(kinds.NAMES)}")
    if spec and spec.mapping("fields") is None:
        yield Fault(at, "the credential has no fields", "add spec.fields, a mapping from names to references")
    for (where, keys), mapping in zip(KEYS.items(), (root, metadata, spec), strict=True):
        for name, entry in mapping.entries.items() if mapping else ():
            if name not in keys:
                fix = did_you_mean(name, keys, f"delete it; {where} has: {listed(keys)}")
                yield Fault(entry, f'{where} has no "{shorten(name)}"', fix)


def twice(root: Mapping, first: dict[str, int]) -> Iterator[Fault]:
    metadata = root.mapping("metadata")
    entry = metadata.entries.get("name") if metadata else None
    if entry is None or not isinstance(entry.value, Scalar):
        return
    name = entry.value.text
    if name in first:
        message = f'this file has the credential "{shorten(name)}" twice; the first is on line {first[name]}'
        yield Fault(entry, message, "give it another name")
    first.setdefault(name, entry.key.line)


def of_spec(spec: Mapping | None) -> Iterator[Fault]:
    name = spec.text("kind") if spec else None
    if spec is None or name is None:
        return
    kind = kinds.kind_named(name)
    if kind is not None:
        yield from of_fields(spec, kind)
        return
    fix = did_you_mean(name, kinds.NAMES, "write one of them")
    why = f"the kinds are: {listed(kinds.NAMES)}"
    yield Fault(spec.entries["kind"], f'there is no kind of credential "{shorten(name)}"', fix, why)


def of_fields(spec: Mapping, kind: kinds.CredentialKind) -> Iterator[Fault]:
    entries = field_entries(spec)
    for name in kinds.unknown_fields(kind, entries):
        fix = did_you_mean(name, kind.fields, f"delete it; a {kind.name} has: {listed(kind.fields)}")
        yield Fault(entries[name], f'a {kind.name} has no field "{shorten(name)}"', fix)
    present = {name: True for name, entry in entries.items() if not is_empty(entry.value)}
    if spec.mapping("fields") and (short := kinds.shortfall(kind, present)):
        yield Fault(spec.entries["fields"], short, "add what is missing, secrets as { env: … } or { file: … }")
    for name, entry in entries.items():
        if fault := reference_fault(entry.value):
            yield Fault(entry, f'the field "{shorten(name)}" {fault}', "write { env: VARIABLE } or { file: path }")


def reference_fault(node: AnyNode) -> str:
    """What is wrong with a field that is not a plain value; nothing of it is shown."""
    if isinstance(node, Scalar):
        return ""
    if not (isinstance(node, Mapping) and node.entries.keys() & set(REFERENCES)):
        return f"is neither a plain value nor a reference by {' or '.join(REFERENCES)}"
    ((name, entry), *others) = node.entries.items()
    if others:
        return "must be one reference, and says more"
    text = entry.value.value if isinstance(entry.value, Scalar) else None
    if not isinstance(text, str) or not text or "\0" in text:
        return f"refers to {name} without saying which"
    if name == ENV and not VARIABLE.match(text):
        return "refers to a variable whose name is none: letters, digits and _, no digit first"
    return ""
