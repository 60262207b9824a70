"""`apiVersion` is missing, or is not `noetl.io/v2`.

The first line of a playbook says in which version of the language it is written. There is one: `noetl.io/v2`. Older
spellings inside it are recognised, and `noetl migrate` rewrites them, but the version is always this one.

Wrong:

    apiVersion: noetl.io/v1
    kind: Playbook

Right:

    apiVersion: noetl.io/v2
    kind: Playbook

Spec: PB-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.heads import missing_head
from noetl.dsl.rules.key_repairs import replace_value
from noetl.dsl.rules.shape_faults import is_playbook

RULE = contract.Rule(code="NL111", name="wrong-api-version", spec=("PB-01",))

VERSION = "noetl.io/v2"
WHY = "it says in which version of the language the playbook is written, and there is one"
SAME = frozenset(("v2", "2", "2.0", "noetl/v2", "noetl.io/2", "noetl.io/v2.0", "noetl.io/v2/", "io.noetl/v2"))


def check(draft: Draft) -> Iterator[Finding]:
    entry = draft.root.entries.get("apiVersion")
    if entry is None and is_playbook(draft.root):
        place, edits = missing_head(draft, f"apiVersion: {VERSION}")
        yield RULE.at(place, "the playbook has no apiVersion", why=WHY, fix=f"add apiVersion: {VERSION}", edits=edits)
    elif entry and not (isinstance(entry.value, Scalar) and entry.value.value == VERSION):
        yield wrong(entry.value)


def wrong(node: AnyNode) -> Finding:
    text = node.text.strip().lower() if isinstance(node, Scalar) else ""
    is_same = text in SAME or text == VERSION
    return RULE.at(
        node.place,
        f'apiVersion must be "{VERSION}", found {describe(node)}',
        why=WHY,
        fix=f"write apiVersion: {VERSION}" + ("" if is_same else "; noetl migrate rewrites what is older in it"),
        edits=replace_value(node, VERSION) if is_same else (),
    )
