"""A policy says what to do when no rule matches, but a rule always does, and does something else.

`on_unmatched` counts only where no rule matched. Beside an `else`, or a rule whose `when` is always true, it is never
asked. Where the two say the same it is harmless; where they do not, a reader may take the wrong one for the truth.

Wrong:

    policy:
      on_unmatched: fail
      rules:
        - when: "{{ output.data.done }}"
          then: { do: break }
        - else:
            then: { do: continue }

Right:

    policy:
      on_unmatched: fail
      rules:
        - when: "{{ output.data.done }}"
          then: { do: break }
        - when: "{{ output.status == 'ok' }}"
          then: { do: continue }

Spec: TK-06, TK-16.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.flow import on_unmatched, possible_rules
from noetl.dsl.nodes import Mapping
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said

RULE = contract.Rule(code="NL326", name="unused-on-unmatched", spec=("TK-06", "TK-16"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        entry = task.policy.entries.get("on_unmatched") if isinstance(task.policy, Mapping) else None
        certain = next((rule for rule, answer in possible_rules(draft, task) if answer), None) if entry else None
        if entry and certain and certain.do != on_unmatched(task):
            what = "its else" if certain.is_else else "a rule whose when is always true"
            yield RULE.at(
                entry.key.place,
                f"on_unmatched of {said(task)} is never asked",
                why=f"{what} at line {certain.node.line} matches whatever no other rule does, and says {certain.do}",
                fix="remove on_unmatched, or the rule that always matches",
            )
