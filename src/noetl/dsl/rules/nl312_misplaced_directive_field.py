"""A rule's details do not belong to its directive.

`to` names where a jump goes, so it goes with `jump` and no jump goes without it. `attempts`, `backoff`, `delay`,
`max_delay` and `jitter` shape a retry and mean nothing elsewhere. A detail with the wrong directive is a sign that one
of the two is not what the author meant.

Wrong:

    rules:
      - when: "{{ output.status == 'error' }}"
        then: { do: fail, attempts: 3 }
      - else:
          then: { do: jump }

Right:

    rules:
      - when: "{{ output.status == 'error' }}"
        then: { do: retry, attempts: 3 }
      - else:
          then: { do: jump, to: store }

Spec: TK-07, TK-08, TK-09.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Rule
from noetl.dsl.findings import Finding, listed
from noetl.dsl.nodes import Mapping, Scalar
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said
from noetl.dsl.shapes import DIRECTIVES

RULE = contract.Rule(code="NL312", name="misplaced-directive-field", spec=("TK-07", "TK-08", "TK-09"))

OWNERS = {"to": "jump", **dict.fromkeys(("attempts", "backoff", "delay", "max_delay", "jitter"), "retry")}


def check(draft: Draft) -> Iterator[Finding]:
    for rule in draft.rules:
        if rule.then and rule.do in DIRECTIVES:
            yield from misplaced(rule, rule.then)
            if rule.do == "jump" and is_without_target(rule.then):
                yield without_target(rule, rule.then)


def misplaced(rule: Rule, then: Mapping) -> Iterator[Finding]:
    for key, entry in then.entries.items():
        if OWNERS.get(key, rule.do) != rule.do:
            yield RULE.at(
                entry.key.place,
                f'a rule of {said(rule.task)} has "{key}", but does {rule.do}',
                why=f"{key} belongs to {OWNERS[key]} and means nothing with {rule.do}",
                fix=f"write do: {OWNERS[key]}, or remove {key}",
            )


def is_without_target(then: Mapping) -> bool:
    to = then.get("to")
    return to is None or (isinstance(to, Scalar) and to.value in (None, ""))


def without_target(rule: Rule, then: Mapping) -> Finding:
    labels = [task.label for task in rule.task.pipeline]
    return RULE.at(
        then.entries["do"].value.place,
        f"a rule of {said(rule.task)} jumps, but does not say where to",
        why=f"a jump names a task of its own pipeline: {listed(labels)}",
        fix="add to: with the task's label",
    )
