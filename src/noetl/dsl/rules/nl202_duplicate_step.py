"""Two steps have the same name.

Arcs lead to a step by its name, so a name stands for one step. The second would never be reached.

Wrong:

    workflow:
      - step: fetch
        tool: { kind: noop }
      - step: fetch
        tool: { kind: noop }

Right:

    workflow:
      - step: fetch
        tool: { kind: noop }
      - step: fetch_again
        tool: { kind: noop }

Spec: PB-04, RT-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL202", name="duplicate-step", spec=("PB-04", "RT-01"))


def check(draft: Draft) -> Iterator[Finding]:
    first: dict[str, Step] = {}
    for step in draft.steps:
        known = first.setdefault(step.name, step)
        if known is not step:
            yield RULE.at(
                step.name_node.place,
                f'the workflow has a step "{shorten(step.name)}" already, on line {known.name_node.line}',
                why="arcs lead to a step by its name, so this one would never be reached",
                fix="give it another name, or delete it",
            )
