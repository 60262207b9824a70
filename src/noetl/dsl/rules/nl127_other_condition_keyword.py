"""A condition is written with another word than `when`.

`when` is the only word for a condition, in rules, arcs and admission. A step has no condition of its own: whether a
token may enter is decided by its admission rules. Neither has a task: a rule with `do: skip` leaves it out.

Wrong:

    next:
      arcs:
        - step: notify
          if: "{{ ctx.failed > 0 }}"

Right:

    next:
      arcs:
        - step: notify
          when: "{{ ctx.failed > 0 }}"

Spec: PB-12, PB-09, TP-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Edit, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.gates import gate, negated
from noetl.dsl.rules.key_repairs import rename_key, shown
from noetl.dsl.rules.misplaced import CONDITION, Misplaced, misplaced

RULE = contract.Rule(code="NL127", name="other-condition-keyword", spec=("PB-12", "PB-09", "TP-04"))

TAKE_WHEN = frozenset(("rule", "arc", "admission rule"))
WHERE = {
    "rule": "a rule of ",
    "then": "the then of a rule of ",
    "arc": "an arc of ",
    "admission rule": "an admission rule of ",
    "loop": "the loop of ",
}


def check(draft: Draft) -> Iterator[Finding]:
    for one in misplaced(draft, CONDITION):
        yield RULE.at(
            one.entry.key.place,
            f'{WHERE.get(one.where, "")}{one.owner} has a condition called "{one.key}"',
            why="when is the only word for a condition"
            if one.where in TAKE_WHEN
            else "when is the only word for a condition, and it stands in rules, arcs and admission rules",
            fix=fix(one),
            edits=repair(one),
        )


def fix(one: Misplaced) -> str:
    condition = one.entry.value
    if one.where in TAKE_WHEN:
        return f"write when: {negated(condition) if one.key == 'unless' else shown(condition, '…')}"
    if one.where == "step":
        return f"write {gate(condition, is_denied=one.key == 'unless')}"
    if one.where == "then":
        return "move it beside then, as the when of the rule"
    if one.where == "loop":
        return "filter the list in loop.in, or leave elements out with a rule that does skip"
    opposite = shown(condition, "…") if one.key == "unless" else negated(condition)
    return f"write spec: {{ policy: {{ rules: [{{ when: {opposite}, then: {{ do: skip }} }}] }} }}"


def repair(one: Misplaced) -> tuple[Edit, ...]:
    """Only the word is changed, where it is only the word that is wrong."""
    return rename_key(one.entry, one.parent, "when") if one.where in TAKE_WHEN and one.key != "unless" else ()
