"""`next` is a list of steps, or a single name, instead of a router.

A router is a mapping: `arcs` is the list, and beside it stands `spec` with the mode that says whether the first arc
that matches is taken (exclusive, the default) or all of them (inclusive). A bare list has no place for that, and the
older surfaces that allowed it did not agree on what it means.

Wrong:

    next:
      - step: store
        when: "{{ output.data.rows > 0 }}"
      - step: report

Right:

    next:
      arcs:
        - step: store
          when: "{{ output.data.rows > 0 }}"
        - step: report

Spec: PB-09, RT-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, shorten
from noetl.dsl.routers import is_name, is_sound_arc
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import is_one_line, shown
from noetl.dsl.rules.router_repairs import Edits, is_flow, put_under, wrap

RULE = contract.Rule(code="NL502", name="next-list", spec=("PB-09", "RT-01"))

ITEMS_SHOWN_MAX = 4


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        entry = step.node.entries.get("next")
        if entry and isinstance(entry.value, Sequence) and entry.value.items:
            yield refuse_list(step, entry, entry.value)
        elif entry and isinstance(entry.value, Scalar) and is_name(entry.value):
            yield refuse_name(step, entry.value)


def refuse_list(step: Step, entry: Entry, written: Sequence) -> Finding:
    return RULE.at(
        entry.key.place,
        f'"next" of step "{step.name}" is a list; it has to be a router',
        why="a router is a mapping: arcs is the list, and spec.mode says whether the first match is taken or all",
        fix=f"write {modern_form(written)}",
        edits=list_under_arcs(entry, written),
    )


def refuse_name(step: Step, name: Scalar) -> Finding:
    return RULE.at(
        name.place,
        f'"next" of step "{step.name}" is the name "{shorten(name.text)}"; it has to be a router',
        why="a router is a mapping with arcs, so that each way on can have a condition of its own",
        fix=f"write next: {{ arcs: [{{ step: {shown(name, '…')} }}] }}",
        edits=wrap(name, "{ arcs: [{ step: ", " }] }"),
    )


def modern_form(written: Sequence) -> str:
    """The author's own list as a router."""
    arcs = ", ".join(arc_form(item) for item in written.items[:ITEMS_SHOWN_MAX])
    more = ", …" if len(written.items) > ITEMS_SHOWN_MAX else ""
    spec = "spec: { mode: inclusive }, " if is_fan_out(written) else ""
    advice = " (leave spec out to take only the first that matches)" if spec else ""
    return f"next: {{ {spec}arcs: [{arcs}{more}] }}{advice}"


def arc_form(item: AnyNode) -> str:
    if isinstance(item, Scalar):
        return f"{{ step: {shown(item, '…')} }}"
    if not isinstance(item, Mapping):
        return "{ step: … }"
    target = shown(item.get("step") or item.get("to"), "…")
    when = f", when: {shown(item.get('when'), '…')}" if "when" in item.entries else ""
    return f"{{ step: {target}{when} }}"


def is_fan_out(written: Sequence) -> bool:
    """Whether several items have no condition: then they cannot all be meant as a first match."""
    return sum(not (isinstance(item, Mapping) and "when" in item.entries) for item in written.items) > 1


def list_under_arcs(entry: Entry, written: Sequence) -> Edits:
    """Put `arcs:` in front of the list, where what it means is plain."""
    if is_fan_out(written) or not all(is_sound_arc(item) or is_plain_name(item) for item in written.items):
        return ()
    moved = put_under(entry, written, "arcs")
    before, after = ("{ step: ", " }") if is_flow(written) else ("step: ", "")
    names = [edit for item in written.items if isinstance(item, Scalar) for edit in wrap(item, before, after)]
    return (*moved, *names) if moved else ()


def is_plain_name(item: AnyNode) -> bool:
    return isinstance(item, Scalar) and is_name(item) and is_one_line(item)
