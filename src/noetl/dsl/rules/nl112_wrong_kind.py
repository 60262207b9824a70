"""`kind` is missing, or names no document there is.

A playbook says `kind: Playbook`. Other documents may stand in the same file (Schedule, Trigger, PlaybookTest,
Credential); what is none of these is not known.

Wrong:

    apiVersion: noetl.io/v2
    kind: playbook

Right:

    apiVersion: noetl.io/v2
    kind: Playbook

Spec: PB-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import OTHER_KINDS, Draft
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.nodes import AnyNode, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.heads import missing_head
from noetl.dsl.rules.key_repairs import replace_value
from noetl.dsl.rules.shape_faults import is_playbook

RULE = contract.Rule(code="NL112", name="wrong-kind", spec=("PB-01",))

PLAYBOOK = "Playbook"
KINDS = (PLAYBOOK, *sorted(OTHER_KINDS))


def check(draft: Draft) -> Iterator[Finding]:
    entry = draft.root.entries.get("kind")
    if entry is None and is_playbook(draft.root):
        place, edits = missing_head(draft, f"kind: {PLAYBOOK}")
        yield RULE.at(
            place,
            "the document does not say what it is: it has no kind",
            why=f"a file may hold documents of these kinds: {listed(KINDS)}",
            fix=f"add kind: {PLAYBOOK}",
            edits=edits,
        )
    elif entry and not (isinstance(entry.value, Scalar) and entry.value.value == PLAYBOOK):
        yield wrong(entry.value)


def wrong(node: AnyNode) -> Finding:
    text = node.text if isinstance(node, Scalar) else ""
    miss = near_miss(text, KINDS) or PLAYBOOK
    return RULE.at(
        node.place,
        f'kind must be "{PLAYBOOK}", found {describe(node)}',
        why=f"a file may hold documents of these kinds: {listed(KINDS)}",
        fix=f"write kind: {miss}",
        edits=replace_value(node, miss) if text.lower() == miss.lower() else (),
    )
