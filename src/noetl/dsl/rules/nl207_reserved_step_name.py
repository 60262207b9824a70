"""A step has the name of something that templates read.

Templates read a step's output by its name, but the names of scopes come first: `{{ output }}` is the output of the
boundary at hand, never a step called so. Such a step could not be read, and its reader would be misled.

Wrong:

    - step: output
      tool: { kind: noop }

Right:

    - step: write_output
      tool: { kind: noop }

Spec: TP-06.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, listed
from noetl.dsl.rules import contract
from noetl.dsl.scopes import OLD_NAMES, RESERVED
from noetl.expressions import FUNCTIONS

RULE = contract.Rule(code="NL207", name="reserved-step-name", spec=("TP-06",))

WORDS = frozenset("loop true false none True False None and or not in is if else".split())
WHY = "templates know this word already"
TAKEN = RESERVED | OLD_NAMES | WORDS | FUNCTIONS


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        if step.name in TAKEN and isinstance(step.name_node.value, str):
            yield RULE.at(
                step.name_node.place,
                f'"{step.name}" is a name of its own in templates and cannot be a step',
                why=f"reserved: {listed(sorted(RESERVED), 20)}" if step.name in RESERVED else WHY,
                fix=f"call it {step.name.strip('_')}_step, or by what it does",
            )
