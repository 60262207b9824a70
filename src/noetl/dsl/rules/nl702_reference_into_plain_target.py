"""A reference is written to a name that promises data.

Readers of `ctx.records` expect the records. A reference is kept under a name that ends in `_ref`, so that everyone sees
that it has to be resolved first.

Wrong:

    set:
      ctx.records: "{{ output.ref }}"

Right:

    set:
      ctx.records_ref: "{{ output.ref }}"

Spec: RS-03.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Mapping, Sequence
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import Meaning
from noetl.dsl.rules.reference_paths import is_envelope, reference_length, spelt, whole_meanings

RULE = contract.Rule(code="NL702", name="reference-into-plain-target", spec=("RS-03",))


def check(draft: Draft) -> Iterator[Finding]:
    meanings = whole_meanings(draft)
    for one in draft.assignments:
        for target, value in plain_targets(one.target, one.value):
            meaning = meanings.get(id(value))
            length = reference_length(meaning) if meaning else 0
            if meaning and length and length == len(meaning.read.parts):
                yield finding(target, value, meaning)


def plain_targets(target: str, value: AnyNode) -> Iterator[tuple[str, AnyNode]]:
    """The values that a write puts under a name that promises data, at any depth of lists and mappings."""
    if target.endswith("_ref"):
        return
    if isinstance(value, Mapping):
        for key, entry in value.entries.items():
            yield from plain_targets(f"{target}.{key}", entry.value)
    elif isinstance(value, Sequence):
        for item in value.items:
            yield from plain_targets(target, item)
    else:
        yield target, value


def finding(target: str, value: AnyNode, meaning: Meaning) -> Finding:
    instead = f", or write {spelt(meaning.read, 0)}.data" if is_envelope(meaning) else ""
    return RULE.at(
        value.place,
        f"{target} promises data, but gets the reference {spelt(meaning.read)}",
        why="a reference is kept under a name that ends in _ref; its data is had with kind: resolve",
        fix=f"name the target {target}_ref{instead}",
    )
