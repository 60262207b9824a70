"""A step has a `when`, and steps have no condition of their own.

Whether a token may enter a step is decided by its admission rules, under `spec.policy.admit`. There the first rule
that matches answers, and `else` says what happens otherwise, which a bare condition leaves open.

Wrong:

    - step: refund
      when: "{{ ctx.total > 0 }}"
      tool: { kind: noop }

Right:

    - step: refund
      spec:
        policy:
          admit:
            rules:
              - when: "{{ ctx.total > 0 }}"
                then: { allow: true }
              - else:
                  then: { allow: false }
      tool: { kind: noop }

Spec: ST-03, PB-09.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Edit, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.gates import gate
from noetl.dsl.rules.key_repairs import replace_pair
from noetl.dsl.rules.misplaced import STEP_WHEN, Misplaced, misplaced

RULE = contract.Rule(code="NL204", name="step-when", spec=("ST-03", "PB-09"))


def check(draft: Draft) -> Iterator[Finding]:
    for one in misplaced(draft, STEP_WHEN):
        yield RULE.at(
            one.entry.key.place,
            f"{one.owner} has a when, which steps do not have",
            why="whether a token may enter is decided by the admission rules, under spec.policy.admit",
            fix=f"write {gate(one.entry.value)}",
            edits=repair(one),
        )


def repair(one: Misplaced) -> tuple[Edit, ...]:
    """The gate in place of the condition, for a step that has no spec yet."""
    text = gate(one.entry.value)
    return replace_pair(one.entry, one.parent, text) if "spec" not in one.parent.entries and "…" not in text else ()
