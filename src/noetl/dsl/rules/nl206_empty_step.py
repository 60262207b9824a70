"""A step runs nothing and leads nowhere: it has neither `tool` nor `next`.

A token that reaches it ends there, after the step's `set` if it has one, which a step with `kind: noop` says more
clearly. Mostly a `tool` was forgotten.

Wrong:

    - step: end

Right:

    - step: end
      tool: { kind: noop }

Spec: ST-02.
"""

from collections.abc import Iterator
from itertools import islice

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import WARNING, Finding, near_miss
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL206", name="empty-step", spec=("ST-02",), severity=WARNING)

BODIES = ("tool", "next")
KNOWN = frozenset(("step", "desc", "spec", "loop", "input", "set"))
LOOKED_AT_MAX = 50  # keys among which a misspelling is looked for


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        if step.node.entries.keys().isdisjoint(BODIES) and not has_misspelt_body(step):
            yield RULE.at(
                step.name_node.place,
                f'step "{shorten(step.name)}" has neither tool nor next',
                why=f"it {does(step)}, and every token that reaches it ends there",
                fix="add tool: { kind: noop } if that is meant, else its tool or next",
            )


def does(step: Step) -> str:
    """What a step without a body does."""
    return "only writes its set" if step.sets else "does nothing"


def has_misspelt_body(step: Step) -> bool:
    """Whether a key is probably meant as tool or next; NL203 says so."""
    others = islice((key for key in step.node.entries if key not in KNOWN), LOOKED_AT_MAX)
    return any(near_miss(key, BODIES) for key in others)
