"""A router has the same arc twice.

In an exclusive router the second one is never looked at; in an inclusive one both fire, and the step they lead to runs
twice. Either way one of them is too much.

Wrong:

    next:
      arcs:
        - step: store
          when: "{{ output.data.rows > 0 }}"
        - step: store
          when: "{{ output.data.rows > 0 }}"

Right:

    next:
      arcs:
        - step: store
          when: "{{ output.data.rows > 0 }}"

Spec: RT-02.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.dead_arcs import routed_arcs

RULE = contract.Rule(code="NL514", name="duplicate-arc", spec=("RT-02",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for routed in routed_arcs(draft):
        twin = routed.twin
        if twin is None:
            continue
        condition = "under the same condition" if routed.arc.when is not None else "without a condition"
        effect = "both fire, so the step runs twice" if routed.step.is_inclusive else "the first is always taken before"
        yield RULE.at(
            (routed.arc.target or routed.arc.node).place,
            f'"{routed.step.name}" has a second arc to "{routed.arc.target_name}" {condition}',
            why=f"the other one stands in line {twin.node.line}: {effect}",
            fix="remove one of them, or let their conditions differ",
        )
