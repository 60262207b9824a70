"""A loop lacks its collection or its iterator, or has a key that loops do not have.

A loop has `in`, the list to go through, and `iterator`, the name of one element: {{ iter.<iterator> }}. How it runs
stands under `spec`. A loop inside a loop is written `loop.loop`.

Wrong:

    loop:
      items: "{{ workload.cities }}"
      as: city

Right:

    loop:
      in: "{{ workload.cities }}"
      iterator: city

Spec: LP-01, LP-09.
"""

from collections.abc import Iterator

from noetl.dsl.departures import is_template
from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.nodes import Entry, Mapping, Scalar, describe
from noetl.dsl.parse import LOOPS_MAX
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import rename_key
from noetl.dsl.rules.misplaced import refused
from noetl.dsl.shapes import SHAPES

RULE = contract.Rule(code="NL401", name="loop-shape", spec=("LP-01", "LP-09"))

KEYS = SHAPES["loop"].keys
FORM = "a loop has in, the list to go through, and iterator, the name of one element"
MEANT = {
    **dict.fromkeys(("items", "over", "each", "for", "foreach", "for_each", "collection", "list", "of", "range"), "in"),
    **dict.fromkeys(("as", "item", "var", "variable", "element", "name", "iter", "loop_var"), "iterator"),
}
STEP_KEYS = frozenset(("tool", "next", "set", "input", "step", "desc"))


def check(draft: Draft) -> Iterator[Finding]:
    told = refused(draft)
    for step in draft.steps:
        for depth, entry in enumerate(nest_of(step.node)):
            if depth == LOOPS_MAX:
                yield too_deep(step, entry)
            elif isinstance(entry.value, Mapping):
                yield from faults(step, entry, entry.value, told)
            else:
                yield not_a_loop(step, entry)


def nest_of(node: Mapping) -> Iterator[Entry]:
    """The loop of a step, the loop in it, and so on."""
    entry = node.entries.get("loop")
    while entry:
        yield entry
        entry = entry.value.entries.get("loop") if isinstance(entry.value, Mapping) else None


def not_a_loop(step: Step, entry: Entry) -> Finding:
    is_empty = isinstance(entry.value, Scalar) and entry.value.value is None
    shown = f'"{entry.value.text}"' if is_template(entry.value) and isinstance(entry.value, Scalar) else '"{{ … }}"'
    return RULE.at(
        entry.key.place if is_empty or not isinstance(entry.value, Scalar) else entry.value.place,
        f'the loop of step "{step.name}" is {describe(entry.value)}, not a mapping',
        why=FORM,
        fix=f"write loop: {{ in: {shown}, iterator: item }}",
    )


def faults(step: Step, entry: Entry, loop: Mapping, told: set[int]) -> Iterator[Finding]:
    absent = [key for key in ("in", "iterator") if key not in loop.entries]
    unknown = {key: one for key, one in loop.entries.items() if key not in KEYS and id(one.value) not in told}
    for key, one in unknown.items():
        meant = meaning_of(key, loop)
        if meant in absent:
            absent.remove(meant)
        yield unknown_key(step, one, loop, meant)
    for key in absent:
        yield RULE.at(
            entry.key.place,
            f'the loop of step "{step.name}" has no {key}',
            why=FORM,
            fix='add in: "{{ … }}", the list to go through'
            if key == "in"
            else "add iterator: item, the element's name",
        )


def meaning_of(key: str, loop: Mapping) -> str:
    """The key of a loop, not given, that another word stands for."""
    meant = MEANT.get(key.lower()) or near_miss(key, KEYS) or ""
    return meant if meant not in loop.entries else ""


def unknown_key(step: Step, entry: Entry, loop: Mapping, meant: str) -> Finding:
    key = entry.key.text
    certain = MEANT.get(key.lower()) == meant and meant in ("in", "iterator")
    return RULE.at(
        entry.key.place,
        f'the loop of step "{step.name}" has the unknown key "{key}"',
        why=f"a loop may have {listed(KEYS)}",
        fix=fix(key, meant),
        edits=rename_key(entry, loop, meant) if certain else (),
    )


def fix(key: str, meant: str) -> str:
    if meant:
        return f'did you mean "{meant}"?'
    if key in STEP_KEYS:
        return f"{key} belongs to the step, beside loop"
    if key == "when":
        return 'choose the elements in the list itself: in: "{{ workload.items | selectattr(…) | list }}"'
    return "remove it"


def too_deep(step: Step, entry: Entry) -> Finding:
    return RULE.at(
        entry.key.place,
        f'step "{step.name}" has more than {LOOPS_MAX} loops inside one another',
        why=f"loops nest {LOOPS_MAX} deep at most",
        fix="flatten the collections, or move the inner loops into a playbook of their own",
    )
