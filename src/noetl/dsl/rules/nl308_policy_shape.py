"""A task's policy is not an object with a list of rules, or a rule has not the parts of a rule.

There is one shape. `spec.policy` is a mapping, `rules` in it is a list, and each item is either a condition with what
to do (`when` and `then`) or the fallback (`else` with its own `then`), which comes last. Rules are tried from top to
bottom, and the first that matches decides. An empty list is a warning: with it every output goes on, an error too.

Wrong:

    spec:
      policy:
        - when: "{{ output.status == 'error' }}"
          then: { do: retry, attempts: 3 }
        - else: { do: continue }

Right:

    spec:
      policy:
        rules:
          - when: "{{ output.status == 'error' }}"
            then: { do: retry, attempts: 3 }
          - else:
              then: { do: continue }

Spec: TK-05, TK-06, AC-1.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import ERROR, WARNING, Edit, Finding, near_miss
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import replace_value, span
from noetl.dsl.rules.misplaced import CONDITIONS
from noetl.dsl.rules.nesting import Edits, indent, is_flow, line_break, nest
from noetl.dsl.rules.pipelines import said
from noetl.dsl.shapes import DIRECTIVES, SHAPES

RULE = contract.Rule(code="NL308", name="policy-shape", spec=("TK-05", "TK-06", "AC-1"), also=(WARNING,))

ONE_SHAPE = "a task's policy has one shape: a mapping with a list of rules"
SHOWN = "policy: { rules: [{ when: …, then: { do: … } }, { else: { then: { do: … } } }] }"
RULE_PARTS = "a rule is a condition with what to do (when, then) or the fallback (else, with its own then)"
THEN_KEYS = frozenset(SHAPES["then"].keys)


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        if task.policy is not None:
            yield from policy_faults(task, task.policy)


def policy_faults(task: Task, policy: AnyNode) -> Iterator[Finding]:
    if not isinstance(policy, Mapping):
        yield not_an_object(task, policy)
    elif "rules" not in policy.entries:
        yield without_rules(task, policy)
    else:
        rules = policy.entries["rules"].value
        if isinstance(rules, Sequence) and rules.items:
            yield from rules_faults(task, rules)
        else:
            yield not_a_list(task, policy, rules)


def not_an_object(task: Task, policy: AnyNode) -> Finding:
    is_list = isinstance(policy, Sequence)
    place = policy.place
    if task.spec and (is_list or (isinstance(policy, Scalar) and policy.value is None)):
        place = task.spec.entries["policy"].key.place
    return RULE.at(
        place,
        f"the policy of {said(task)} is {describe(policy)}, not an object with rules",
        why=ONE_SHAPE,
        fix="put the list under rules:" if is_list else f"write {SHOWN}",
        edits=listed_rules(task, policy) if isinstance(policy, Sequence) else (),
    )


def listed_rules(task: Task, policy: Sequence) -> Edits:
    """`rules:` above the list; a list may stand in its key's column, so nothing else moves."""
    start, end = span(policy)
    if is_flow(policy):
        return (Edit(start, start, "{ rules: "), Edit(end, end, " }"))
    key = task.spec.entries["policy"].key if task.spec else None
    is_deeper = key is not None and key.line < policy.line and key.column < policy.column
    is_seen = policy.source.text[start : start + 1] == "-"
    return (
        (Edit(start, start, f"rules:{line_break(policy)}{' ' * (policy.column - 1)}"),) if is_deeper and is_seen else ()
    )


def without_rules(task: Task, policy: Mapping) -> Finding:
    miss = near_miss("rules", policy.entries)
    if not miss and {"when", "then", "else", "do"} & set(policy.entries):
        fix = "this is a rule: write it as an item of policy.rules"
    else:
        fix = f'did you mean "rules" where it says "{miss}"?' if miss else f"write {SHOWN}, or remove the policy"
    place = policy.entries[miss].key.place if miss else policy.place
    if not miss and task.spec:
        place = task.spec.entries["policy"].key.place
    return RULE.at(place, f"the policy of {said(task)} has no rules", why=ONE_SHAPE, fix=fix)


def not_a_list(task: Task, policy: Mapping, rules: AnyNode) -> Finding:
    key = policy.entries["rules"].key
    is_empty = isinstance(rules, Sequence)
    found = "an empty list" if is_empty else describe(rules)
    is_rule = isinstance(rules, Mapping) and bool({"when", "then", "else"} & set(rules.entries))
    return RULE.at(
        key.place,
        f"the rules of {said(task)} are {found}" + ("" if is_empty else ", not a list of rules"),
        why="with a policy and no rule every output goes on, an error too" if is_empty else ONE_SHAPE,
        fix="put a dash before it: each rule is an item of the list"
        if is_rule
        else f"write {SHOWN}, or remove the policy",
        severity=WARNING if is_empty else ERROR,
    )


def rules_faults(task: Task, rules: Sequence) -> Iterator[Finding]:
    last = len(rules.items) - 1
    for index, rule in enumerate(rules.items):
        if isinstance(rule, Mapping):
            yield from rule_faults(task, rule, index, is_last=index == last)
        else:
            yield RULE.at(
                rule.place,
                f"rule {index + 1} of {said(task)} is {describe(rule)}, not a rule",
                why=RULE_PARTS,
                fix='write - when: "{{ … }}" with then: { do: … }, or - else: with then: { do: … }',
            )


def rule_faults(task: Task, rule: Mapping, index: int, *, is_last: bool) -> Iterator[Finding]:
    name = f"rule {index + 1} of {said(task)}"
    if "else" in rule.entries:
        yield from else_faults(name, rule, is_last=is_last)
    elif "when" not in rule.entries:
        if not CONDITIONS & set(rule.entries):  # NL127 speaks of those
            yield without_condition(name, rule, is_last=is_last)
    elif "then" in rule.entries:
        yield from then_faults(name, rule)
    elif "do" not in rule.entries:  # NL209 speaks of a directive beside its condition
        yield RULE.at(rule.entries["when"].key.place, f"{name} has no then", why=RULE_PARTS, fix="add then: { do: … }")


def else_faults(name: str, rule: Mapping, *, is_last: bool) -> Iterator[Finding]:
    key, value = rule.entries["else"].key, rule.entries["else"].value
    if "when" in rule.entries:
        yield RULE.at(
            key.place,
            f"{name} has both when and else",
            why=RULE_PARTS,
            fix="make the else a rule of its own, the last one",
        )
    elif not is_last:
        yield RULE.at(
            key.place,
            f"{name} is the else, but rules come after it",
            why="rules are tried from top to bottom and else always matches, so the others are never reached",
            fix="move the else to the end",
        )
    if not isinstance(value, Mapping):
        yield else_not_mapping(name, rule, key, value)
    elif "then" in value.entries:
        yield from then_faults(name, value)
    elif value.entries:
        yield else_without_then(name, key, value)
    else:
        yield RULE.at(key.place, f"the else of {name} is empty", why=RULE_PARTS, fix="write else: { then: { do: … } }")


def else_not_mapping(name: str, rule: Mapping, key: Scalar, value: AnyNode) -> Finding:
    if "then" in rule.entries and isinstance(value, Scalar) and value.value is None:
        return RULE.at(
            key.place,
            f"the then of {name} stands beside its else, not in it",
            why="the fallback is else with its own then",
            fix="indent then so that it stands under else",
            edits=indented_then(rule),
        )
    is_directive = isinstance(value, Scalar) and value.value in DIRECTIVES
    return RULE.at(
        key.place if isinstance(value, Scalar) and value.value is None else value.place,
        f"the else of {name} is {describe(value)}, not a mapping with then",
        why="the fallback is else with its own then",
        fix=f"write else: {{ then: {{ do: {value.text if isinstance(value, Scalar) and is_directive else '…'} }} }}",
        edits=replace_value(value, f"{{ then: {{ do: {value.text} }} }}")
        if isinstance(value, Scalar) and is_directive
        else (),
    )


def indented_then(rule: Mapping) -> Edits:
    """`then` and its lines two columns to the right, where it comes right after the bare `else:`."""
    (first, otherwise), *rest = rule.entries.items()
    then = rule.entries["then"]
    is_next = first == "else" and len(rest) == 1 and then.key.line > otherwise.key.line
    if is_flow(rule) or not is_next or then.key.column != otherwise.key.column:
        return ()
    start = then.key.source.index(then.key.line, 1)
    below = indent(then.value, then.key.line + 1, then.key.column + 1)
    return (Edit(start, start, "  "), *below)


def else_without_then(name: str, key: Scalar, value: Mapping) -> Finding:
    is_then = "do" in value.entries or bool(THEN_KEYS & set(value.entries))
    return RULE.at(
        key.place,
        f"the else of {name} has no then",
        why="the fallback is else with its own then",
        fix="write else: { then: { do: … } }"
        if not is_then
        else "put what stands under else into then: else: { then: { do: … } }",
        edits=nest(value, "then") if is_then and set(value.entries) <= THEN_KEYS else (),
    )


def without_condition(name: str, rule: Mapping, *, is_last: bool) -> Finding:
    first = next(iter(rule.entries.values()), None)
    fallback = "put it under else: if it is the fallback, or give it a when"
    return RULE.at(
        first.key.place if first else rule.place,
        f"{name} has neither when nor else",
        why=RULE_PARTS,
        fix=fallback if is_last else "give it a when; only the last rule may be an else",
    )


def then_faults(name: str, parent: Mapping) -> Iterator[Finding]:
    key, then = parent.entries["then"].key, parent.entries["then"].value
    if isinstance(then, Mapping):
        return
    directive = then.text if isinstance(then, Scalar) and then.value in DIRECTIVES else ""
    is_list = isinstance(then, Sequence)
    yield RULE.at(
        key.place if is_list or (isinstance(then, Scalar) and then.value is None) else then.place,
        f"the then of {name} is {describe(then)}, not a mapping with do",
        why="a rule does one thing: then names the directive and its details",
        fix=f"write then: {{ do: {directive or '…'} }}",
        edits=replace_value(then, f"{{ do: {directive} }}") if directive else (),
    )
