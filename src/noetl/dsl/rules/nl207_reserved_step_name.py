"""A step has the name of something that templates read.

Templates read a step's output by its name, but the names of scopes come first: `{{ output }}` is the output of the
boundary at hand, never a step called so. Such a step could not be read, and its reader would be misled. A step may be
named like a word or a function of templates (`not`, `loop`, `range`), but a template that reads it bare fails or is
misread: that is told as an information.

Wrong:

    - step: output
      tool: { kind: noop }

Right:

    - step: write_output
      tool: { kind: noop }

Spec: TP-06, TP-02.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import INFO, Finding, listed
from noetl.dsl.rules import contract
from noetl.dsl.rules.reserved_words import SCOPES, misleading

RULE = contract.Rule(code="NL207", name="reserved-step-name", spec=("TP-06", "TP-02"), also=(INFO,))


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        if not isinstance(step.name_node.value, str):
            continue  # NL201 speaks of it
        if step.name in SCOPES:
            yield named_like_a_scope(step)
        elif why := misleading(step.name):
            yield named_like_a_word(step, why)


def named_like_a_scope(step: Step) -> Finding:
    return RULE.at(
        step.name_node.place,
        f'"{step.name}" is a name of its own in templates and cannot be a step',
        why=f"reserved: {listed(sorted(SCOPES), 20)}",
        fix=f"call it {step.name.strip('_')}_step, or by what it does",
    )


def named_like_a_word(step: Step, why: str) -> Finding:
    return RULE.at(
        step.name_node.place,
        f'step "{step.name}" is named like something else in templates',
        why=why,
        fix=f"call it {step.name.lower()}_step, or by what it does, if a template shall read it",
        severity=INFO,
    )
