"""A router or one of its arcs has not the shape of one.

`next` is a mapping with `arcs`, a list that is not empty, and an optional `spec`. Each arc is a mapping with the `step`
it leads to and, if it needs them, `when`, `set` and `spec`. There is no other word for the target, and no `else`: an
arc without `when` matches every success, so the last arc is the fallback when it has none.

Wrong:

    next:
      arcs:
        - to: store
          when: "{{ output.data.rows > 0 }}"
        - else: { step: report }

Right:

    next:
      arcs:
        - step: store
          when: "{{ output.data.rows > 0 }}"
        - step: report

Spec: RT-01, PB-13.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Finding, did_you_mean, listed, near_miss
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, describe, shorten
from noetl.dsl.routers import ARC_KEYS, ROUTER_KEYS, is_name
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import is_one_line, rename_key, shown
from noetl.dsl.rules.misplaced import refused
from noetl.dsl.rules.router_repairs import Edits, wrap

RULE = contract.Rule(code="NL503", name="next-shape", spec=("RT-01", "PB-13"))

TARGET_WORDS = ("to", "target", "goto", "then", "next", "name")
ARCS_WORDS = ("arc", "steps", "routes", "transitions", "edges", "branches", "then", "cases", "case")
PAYLOAD_WORDS = ("input", "inputs", "payload", "data", "with", "params", "vars", "context")
NO_ELSE = "there is no else: an arc without `when` matches every success, so written last it is the fallback"
NO_PAYLOAD = "an arc carries no input: it writes ctx when it is taken, and the step it leads to reads that"
ROUTER = "a router has arcs, a list of the ways on, and an optional spec"
ARC = "an arc is a mapping with the step it leads to, and may have when, set and spec"
SHOWN = "next: { arcs: [{ step: …, when: … }] }"


def check(draft: Draft) -> Iterator[Finding]:
    silent = refused(draft)
    for step in draft.steps:
        entry = step.node.entries.get("next")
        if entry is None:
            continue
        if isinstance(entry.value, Mapping):
            yield from router_faults(step, entry, entry.value, silent)
        elif not is_said_by_next_list(entry.value):
            yield not_a_router(step, entry)


def is_said_by_next_list(node: AnyNode) -> bool:
    if isinstance(node, Sequence):
        return bool(node.items)
    return isinstance(node, Scalar) and is_name(node)


def not_a_router(step: Step, entry: Entry) -> Finding:
    is_empty = isinstance(entry.value, Sequence) or (isinstance(entry.value, Scalar) and entry.value.value is None)
    found = "empty" if is_empty else describe(entry.value)
    return RULE.at(
        entry.key.place if is_empty else entry.value.place,
        f'"next" of step "{step.name}" is {found}; it has to be a router',
        why="a step without next ends its branch; with next it has arcs",
        fix="remove next, or write " + SHOWN if is_empty else f"write {SHOWN}",
    )


def router_faults(step: Step, entry: Entry, router: Mapping, silent: set[int]) -> Iterator[Finding]:
    unknown = [one for key, one in router.entries.items() if key not in ROUTER_KEYS and id(one.value) not in silent]
    if "arcs" not in router.entries:
        yield without_arcs(step, entry, router, unknown)
        return
    for one in unknown:
        yield unknown_router_key(step, one)
    yield from arcs_faults(step, router.entries["arcs"], silent)


def without_arcs(step: Step, entry: Entry, router: Mapping, unknown: list[Entry]) -> Finding:
    """No arcs: an arc that was not put in a list, a misspelt key, or nothing."""
    message = f'the router of step "{step.name}" has no arcs'
    if any(key in router.entries for key in ("step", "when", *TARGET_WORDS[:3])):
        target = next((router.get(key) for key in ("step", *TARGET_WORDS[:3]) if key in router.entries), None)
        when = f", when: {shown(router.get('when'), '…')}" if "when" in router.entries else ""
        fix = f"write next: {{ arcs: [{{ step: {shown(target, '…')}{when} }}] }}"
        return RULE.at(entry.key.place, message, why="the way on is an arc, and arcs stand in a list", fix=fix)
    for one in unknown:
        if one.key.text in ARCS_WORDS or near_miss(one.key.text, ("arcs",)):
            edits = rename_key(one, router, "arcs") if isinstance(one.value, Sequence) else ()
            message = f'"{one.key.text}" is not a key of a router, and the one of step "{step.name}" has no arcs'
            return RULE.at(one.key.place, message, why=ROUTER, fix="write arcs", edits=edits)
    return RULE.at(entry.key.place, message, why=ROUTER, fix=f"write {SHOWN}, or remove next to end the branch here")


def unknown_router_key(step: Step, entry: Entry) -> Finding:
    word = entry.key.text
    is_of_arc = word in (*ARC_KEYS, *TARGET_WORDS, *PAYLOAD_WORDS)
    return RULE.at(
        entry.key.place,
        f'"{shorten(word)}" is not a key of a router (in step "{step.name}")',
        why="it belongs to an arc, in the list under arcs" if is_of_arc else ROUTER,
        fix="write it on the arc that it is meant for" if is_of_arc else otherwise(word, ROUTER_KEYS),
    )


def otherwise(word: str, known: tuple[str, ...]) -> str:
    return did_you_mean(word, known, f"remove it; the keys are {listed(known)}")


def arcs_faults(step: Step, entry: Entry, silent: set[int]) -> Iterator[Finding]:
    arcs = entry.value
    if isinstance(arcs, Sequence) and arcs.items:
        for item in arcs.items:
            yield from arc_faults(step, item, silent)
        return
    is_empty = isinstance(arcs, Sequence) or (isinstance(arcs, Scalar) and arcs.value is None)
    is_arc = isinstance(arcs, Mapping) and "step" in arcs.entries
    yield RULE.at(
        entry.key.place,
        f'the arcs of step "{step.name}" are {"empty" if is_empty else describe(arcs)}; they have to be a list of arcs',
        why="each item of the list is one way on" if not is_empty else "a step without next ends its branch",
        fix="put a dash before the arc: - step: …" if is_arc else "write arcs: [{ step: …, when: … }], or remove next",
    )


def arc_faults(step: Step, item: AnyNode, silent: set[int]) -> Iterator[Finding]:
    if not isinstance(item, Mapping):
        yield not_an_arc(step, item)
        return
    unknown = [one for key, one in item.entries.items() if key not in ARC_KEYS and id(one.value) not in silent]
    said = list(arc_key_faults(step, item, unknown))
    yield from said
    target = item.get("step")
    if target is None and not any(one.key.text in (*TARGET_WORDS, "else") for one in unknown):
        yield without_target(step, item)
    elif target is not None and not (isinstance(target, Scalar) and is_name(target)):
        yield not_a_name(step, target)


def not_an_arc(step: Step, item: AnyNode) -> Finding:
    is_text = isinstance(item, Scalar) and is_name(item) and is_one_line(item)
    return RULE.at(
        item.place,
        f'an arc of step "{step.name}" is {describe(item)}; it has to be a mapping',
        why=ARC,
        fix=f"write - step: {shown(item, '…')}" if is_text else "write - step: …",
        edits=wrap(item, "step: ") if is_text and not is_in_brackets(item) else (),
    )


def is_in_brackets(item: AnyNode) -> bool:
    """Whether an item is not one of a block list, whose items follow a dash."""
    before = item.source.line(item.line)[: item.column - 1]
    return not before.strip(" ").endswith("-") or before.strip(" -") != ""


def arc_key_faults(step: Step, item: Mapping, unknown: list[Entry]) -> Iterator[Finding]:
    for one in unknown:
        word = one.key.text
        message = f'"{shorten(word)}" is not a key of an arc (in step "{step.name}")'
        if word == "else":
            yield RULE.at(one.key.place, message, why=NO_ELSE, fix=f"as the last arc, write {fallback(one.value)}")
        elif word in TARGET_WORDS and "step" not in item.entries:
            yield RULE.at(one.key.place, message, why=ARC, fix=as_step_shown(one), edits=as_step(one, item))
        elif word in PAYLOAD_WORDS:
            yield RULE.at(one.key.place, message, why=NO_PAYLOAD, fix='write set: { ctx.…: "{{ … }}" } on the arc')
        else:
            yield RULE.at(one.key.place, message, why=ARC, fix=otherwise(word, ARC_KEYS))


def fallback(node: AnyNode) -> str:
    """The arc that an `else` means."""
    if isinstance(node, Mapping):
        inner = node.mapping("then") or node
        return f"- step: {shown(inner.get('step') or inner.get('to'), '…')}"
    return f"- step: {shown(node, '…')}" if isinstance(node, Scalar) and is_name(node) else "it without a when"


def as_step_shown(entry: Entry) -> str:
    return f"write step: {shown(entry.value, '…')}"


def as_step(entry: Entry, item: Mapping) -> Edits:
    return rename_key(entry, item, "step") if isinstance(entry.value, Scalar) and is_name(entry.value) else ()


def without_target(step: Step, item: Mapping) -> Finding:
    first = next(iter(item.entries.values()), None)
    return RULE.at(
        first.key.place if first else item.place,
        f'an arc of step "{step.name}" does not say where it leads',
        why=ARC,
        fix="write step: and the name of the step",
    )


def not_a_name(step: Step, target: AnyNode) -> Finding:
    is_template = isinstance(target, Scalar) and "{{" in target.text
    return RULE.at(
        target.place,
        f'an arc of step "{step.name}" leads to {describe(target)}; it has to be the name of a step',
        why="targets are checked before the run, so they are written out" if is_template else ARC,
        fix="write one arc per step, each with its own when" if is_template else "write the name of a step",
    )
