"""A task's policy has no else, so some outputs are handled by no rule.

When no rule matches, the pipeline simply goes on. That may be what you want, but then it is better said: an `else`
shows the reader what happens to everything else, and `on_unmatched: fail` turns the unforeseen into a failure.

Wrong:

    rules:
      - when: "{{ output.status == 'error' }}"
        then: { do: fail }
      - when: "{{ output.data.done }}"
        then: { do: break }

Right:

    rules:
      - when: "{{ output.status == 'error' }}"
        then: { do: fail }
      - when: "{{ output.data.done }}"
        then: { do: break }
      - else:
          then: { do: continue }

Spec: TK-06.
"""

from collections.abc import Iterator

from noetl.dsl.conditions import is_condition
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.flow import can_be_unmatched
from noetl.dsl.nodes import Mapping
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl314_error_swallowed import swallowing
from noetl.dsl.rules.pipelines import said

RULE = contract.Rule(code="NL313", name="policy-without-else", spec=("TK-06",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        policy = task.policy
        if not isinstance(policy, Mapping) or not task.rules or "on_unmatched" in policy.entries:
            continue
        is_sound = all(is_condition(draft, rule) for rule in task.rules)
        if is_sound and can_be_unmatched(draft, task) and swallowing(draft, task) is None:
            yield RULE.at(
                policy.entries["rules"].key.place,
                f"the rules of {said(task)} have no else",
                why="when no rule matches, the pipeline goes on to the next task",
                fix="add - else: { then: { do: continue } } as the last rule, or on_unmatched: fail beside rules",
            )
