"""The workflow has no step.

`workflow` is the list of steps, and there must be one at least: an execution begins at a step and ends when no step
can run any more.

Wrong:

    workflow: []

Right:

    workflow:
      - step: start
        tool: { kind: noop }

Spec: PB-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Scalar, Sequence
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL121", name="empty-workflow", spec=("PB-04",))


def check(draft: Draft) -> Iterator[Finding]:
    entry = draft.root.entries.get("workflow")
    if entry and is_empty(entry.value):
        yield RULE.at(
            entry.key.place,
            "the workflow has no steps",
            why="an execution begins at a step: a workflow has one at least",
            fix="add one: - step: start, with a tool",
        )


def is_empty(node: AnyNode) -> bool:
    if isinstance(node, Sequence):
        return not node.items
    return isinstance(node, Scalar) and node.value is None
