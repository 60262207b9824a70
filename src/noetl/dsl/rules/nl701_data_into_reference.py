"""Data is written to a name that promises a reference.

A name that ends in `_ref` says: this is where the data is kept, not the data. Readers and tools rely on it, so such a
target takes `output.ref`, or another reference, and nothing else. (A target may be emptied with null.)

Wrong:

    set:
      ctx.records_ref: "{{ output.data }}"

Right:

    set:
      ctx.records_ref: "{{ output.ref }}"

or, to keep the data itself:

    set:
      ctx.records: "{{ output.data }}"

Spec: RS-03.
"""

from collections.abc import Iterator

from noetl.dsl.departures import is_template
from noetl.dsl.draft import Assignment, Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.reference_paths import PARTS, is_envelope, spelt, whole_meanings

RULE = contract.Rule(code="NL701", name="data-into-reference", spec=("RS-03",))


def check(draft: Draft) -> Iterator[Finding]:
    meanings = whole_meanings(draft)
    for one in draft.assignments:
        if not one.target.endswith("_ref"):
            continue
        meaning = meanings.get(id(one.value))
        if meaning:
            if is_envelope(meaning) and is_data([part.key for part in meaning.read.parts]):
                yield finding(one, f"{spelt(meaning.read)}, which is data", spelt(meaning.read, 0))
        elif is_plain(one.value):
            yield finding(one, describe(one.value), "output")


def is_data(keys: list[str | int]) -> bool:
    """Whether a path below an output is payload; payload may hold references of its own, by their names."""
    return keys[:1] == ["data"] and not any(str(key) == "ref" or str(key).endswith("_ref") for key in keys)


def is_plain(node: AnyNode) -> bool:
    """Whether a value is certainly no reference: a text, a number, a list, a mapping without a reference's keys."""
    if isinstance(node, Scalar):
        return node.value is not None and not is_template(node)
    return not (isinstance(node, Mapping) and (PARTS & node.entries.keys() or not node.entries))


def finding(one: Assignment, found: str, name: str) -> Finding:
    return RULE.at(
        one.value.place if isinstance(one.value, Scalar) else one.key.place,
        f"{one.target} promises a reference, but gets {found}",
        why="a name that ends in _ref holds a reference: where data is kept, not the data",
        fix=f"write {{{{ {name}.ref }}}}, or name the target {one.target.removesuffix('_ref')}",
    )
