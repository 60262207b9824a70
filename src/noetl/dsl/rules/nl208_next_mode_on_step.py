"""`next_mode` stands under a step's `spec`; the router has that knob itself.

How arcs are chosen belongs to the arcs: `next.spec.mode` is `exclusive` (the first arc that matches) or `inclusive`
(all that match).

Wrong:

    - step: fan_out
      spec: { next_mode: inclusive }
      next:
        arcs: [{ step: a }, { step: b }]

Right:

    - step: fan_out
      next:
        spec: { mode: inclusive }
        arcs: [{ step: a }, { step: b }]

Spec: PB-09, RT-02.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import shown
from noetl.dsl.rules.misplaced import NEXT_MODE, misplaced

RULE = contract.Rule(code="NL208", name="next-mode-on-step", spec=("PB-09", "RT-02"))


def check(draft: Draft) -> Iterator[Finding]:
    for one in misplaced(draft, NEXT_MODE):
        yield RULE.at(
            one.entry.key.place,
            f"{one.owner} has next_mode under its spec",
            why="how arcs are chosen is a knob of the router",
            fix=f"write next: {{ spec: {{ mode: {shown(one.entry.value, 'exclusive')} }}, arcs: […] }}",
        )
