"""Admission rules do not say what happens when none of them matches.

Then the token is let in, which is seldom what someone means who writes a condition for letting it in. An `else` says
it either way.

Wrong:

    admit:
      rules:
        - when: "{{ ctx.total > 0 }}"
          then: { allow: true }

Right:

    admit:
      rules:
        - when: "{{ ctx.total > 0 }}"
          then: { allow: true }
        - else:
            then: { allow: false }

Spec: ST-13, ST-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import Mapping, Scalar, shorten
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL211", name="admission-without-else", spec=("ST-13", "ST-05"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        if step.admit and step.admit_rules and not any(is_final(rule) for rule in step.admit_rules):
            yield RULE.at(
                step.admit.entries["rules"].key.place,
                f'the admission rules of step "{shorten(step.name)}" have no else',
                why="a token that no rule matches is let in",
                fix=f"add - else: {{ then: {{ allow: {opposite(step)} }} }}",
            )


def is_final(rule: Mapping) -> bool:
    """Whether a rule is the else, or matches always."""
    when = rule.get("when")
    return "else" in rule.entries or not rule.entries or (isinstance(when, Scalar) and when.value is True)


def opposite(step: Step) -> str:
    """What the rules do not say yet: where each lets in, the rest probably stays out."""
    then = step.admit_rules[-1].mapping("then")
    allow = then.get("allow") if then else None
    return "true" if isinstance(allow, Scalar) and allow.value is False else "false"
