"""A policy has a hook that does not run.

`before`, `after` and `finally` are names that the language keeps for later. They are accepted so that playbooks which
carry them stay valid, but nothing in them is executed.

Wrong:

    policy:
      finally:
        - name: clean_up
          kind: shell
          command: rm -rf /tmp/work
      rules:
        - else:
            then: { do: continue }

Right:

    tool:
      - name: work
        kind: shell
        command: make report
      - name: clean_up
        kind: shell
        command: rm -rf /tmp/work

Spec: TK-16.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said

RULE = contract.Rule(code="NL327", name="hook-without-effect", spec=("TK-16",), severity=WARNING)

HOOKS = {
    "before": "put it in a task before this one",
    "after": "put it in a task after this one",
    "finally": "put it in a task after this one, or route step.failed to a step that does it",
}


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        for key, entry in task.policy.entries.items() if isinstance(task.policy, Mapping) else ():
            if key in HOOKS and not is_empty(entry.value):
                yield RULE.at(
                    entry.key.place,
                    f'the hook "{key}" of {said(task)} does not run',
                    why="before, after and finally are kept for later and have no effect yet",
                    fix=HOOKS[key],
                )


def is_empty(node: AnyNode) -> bool:
    if isinstance(node, Scalar):
        return node.value is None
    return not (node.items if isinstance(node, Sequence) else node.entries)
