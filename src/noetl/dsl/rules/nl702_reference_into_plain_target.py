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
from noetl.dsl.rules import contract
from noetl.dsl.rules.reference_paths import is_envelope, reference_length, spelt, whole_meanings

RULE = contract.Rule(code="NL702", name="reference-into-plain-target", spec=("RS-03",))


def check(draft: Draft) -> Iterator[Finding]:
    meanings = whole_meanings(draft)
    for one in draft.assignments:
        meaning = meanings.get(id(one.value))
        if one.target.endswith("_ref") or meaning is None:
            continue
        length = reference_length(meaning)
        if length and length == len(meaning.read.parts):
            instead = f", or write {spelt(meaning.read, 0)}.data" if is_envelope(meaning) else ""
            yield RULE.at(
                one.value.place,
                f"{one.target} promises data, but gets the reference {spelt(meaning.read)}",
                why="a reference is kept under a name that ends in _ref; its data is had with kind: resolve",
                fix=f"name the target {one.target}_ref{instead}",
            )
