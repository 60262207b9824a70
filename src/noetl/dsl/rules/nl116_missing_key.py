"""A key that must be there is not.

Wrong:

    metadata:
      description: Loads the orders of a day.

Right:

    metadata:
      name: load_orders
      description: Loads the orders of a day.

Spec: PB-04, KC-01, ST-10.
"""

from collections.abc import Iterator
from itertools import islice

from noetl.dsl.departures import ShapeFault
from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, near_miss
from noetl.dsl.nodes import Mapping
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl114_unknown_root_key import meant
from noetl.dsl.rules.shape_faults import MISSING, shape_faults
from noetl.dsl.rules.whereabouts import at, first_entry, key_at
from noetl.dsl.shapes import SHAPES
from noetl.dsl.source import Place

RULE = contract.Rule(code="NL116", name="missing-key", spec=("PB-04", "KC-01", "ST-10"))

LOOKED_AT_MAX = 50  # keys among which a misspelling is looked for
EXAMPLES = {
    "metadata": "metadata: { name: … }",
    "workflow": "workflow: with at least one step",
    "name": "name: with a name of your own",
    "kind": "kind: with one of its kinds",
}


def check(draft: Draft) -> Iterator[Finding]:
    for one in shape_faults(draft, MISSING):
        if not is_misspelt(one):
            yield finding(draft, one)


def is_misspelt(one: ShapeFault) -> bool:
    """Whether the key is there under another name; the rule for unknown keys says so."""
    known = one.shape.keys
    entries = one.node.entries if isinstance(one.node, Mapping) else {}
    others = islice((key for key in entries if key not in known), LOOKED_AT_MAX)
    return any((meant(key) if one.name == "root" else near_miss(key, known)) == one.key for key in others)


def finding(draft: Draft, one: ShapeFault) -> Finding:
    where = at(draft, one.path) or "the playbook"
    inner = SHAPES.get(one.shape.keys.get(one.key, ""))
    return RULE.at(
        place(draft, one),
        f'{where} has no "{one.key}"',
        why=f"{one.key} is needed: {lower(inner.doc)}" if inner and inner.doc else f"{one.key} is needed",
        fix=f"add {EXAMPLES.get(one.key, one.key)}",
    )


def place(draft: Draft, one: ShapeFault) -> Place:
    """The key under which something is missing; for an item of a list, its own first key."""
    first = first_entry(one.node) if isinstance(one.node, Mapping) else None
    is_item = not one.path or isinstance(one.path[-1], int)
    key = first.key if is_item and first else key_at(draft, one.path)
    return key.place if key else one.node.place


def lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")
