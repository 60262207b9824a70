"""A value has another type than its place takes.

Where a number, true or false, a list or a mapping is wanted, a text does not do, however much it looks like one. YAML
1.2 reads `yes`, `no`, `on` and `off` as text; true and false are the only booleans.

Wrong:

    loop:
      in: "{{ workload.items }}"
      iterator: item
      spec: { mode: parallel, max_in_flight: "10" }

Right:

      spec: { mode: parallel, max_in_flight: 10 }

Spec: PB-02, PB-04, TK-18.
"""

from collections.abc import Iterator

from noetl.dsl.departures import ShapeFault, is_template
from noetl.dsl.draft import Draft
from noetl.dsl.findings import Edit, Finding
from noetl.dsl.kinds import BOOLEAN, INTEGER, LIST, MAPPING, NUMBER, TEXT
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence, describe
from noetl.dsl.read import WORDS, number
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import quoted, replace_value
from noetl.dsl.rules.shape_faults import WRONG_TYPE, shape_faults
from noetl.dsl.rules.whereabouts import at, key_at
from noetl.dsl.shapes import NULL, Shape
from noetl.dsl.source import Place

RULE = contract.Rule(code="NL117", name="wrong-type", spec=("PB-02", "PB-04", "TK-18"))

NAMES = {
    TEXT: "text",
    INTEGER: "a whole number",
    NUMBER: "a number",
    BOOLEAN: "true or false",
    MAPPING: "a mapping",
    LIST: "a list",
    NULL: "nothing",
}
OLD_BOOLEANS = {
    **dict.fromkeys(("yes", "on", "y"), "true"),
    **dict.fromkeys(("no", "off", "n"), "false"),
}


def check(draft: Draft) -> Iterator[Finding]:
    for one in shape_faults(draft, WRONG_TYPE):
        right = converted(one.node, one.shape)
        yield RULE.at(
            place(draft, one),
            f"{at(draft, one.path)} must be {wanted(one.shape)}, found {describe(one.node)}",
            why=why(one),
            fix=f"write {right}" if right else fix(one),
            edits=repair(one.node, right),
        )


def wanted(shape: Shape) -> str:
    return " or ".join(NAMES[name] for name in shape.types if name != NULL)


def place(draft: Draft, one: ShapeFault) -> Place:
    """The value; for one of many lines or of nothing, its key."""
    is_nothing = isinstance(one.node, Scalar) and not one.node.text
    is_block = one.node.line != one.node.end_line and isinstance(one.node, Mapping | Sequence)
    is_item = not one.path or isinstance(one.path[-1], int)
    key = key_at(draft, one.path) if (is_nothing or is_block) and not is_item else None
    return key.place if key else one.node.place


def why(one: ShapeFault) -> str:
    if is_template(one.node):
        return "a template is not rendered here: the value must be known before the playbook runs"
    if isinstance(one.node, Scalar) and BOOLEAN in one.shape.types and one.node.text.lower() in OLD_BOOLEANS:
        return f"{one.node.text} is text in YAML 1.2; the booleans are true and false"
    return one.shape.doc[:1].lower() + one.shape.doc[1:].rstrip(".")


def fix(one: ShapeFault) -> str:
    if isinstance(one.node, Scalar) and one.node.value is None:
        return f"give it {wanted(one.shape)}, or delete the key"
    if is_template(one.node):
        return f"write {wanted(one.shape)} itself"
    if one.name == "when":
        return 'write a condition, such as "{{ ctx.total > 0 }}"'
    if isinstance(one.node, Mapping) and LIST in one.shape.types:
        return "write it as a list: begin each item with a dash"
    return f"write {wanted(one.shape)}"


def converted(node: AnyNode, shape: Shape) -> str:
    """The same value in a type that is wanted, where that is certain: "10" as 10, 5 as "5", yes as true."""
    if not isinstance(node, Scalar) or node.value is None:
        return ""
    if not isinstance(node.value, str):
        is_certain = TEXT in shape.types and not {BOOLEAN, NUMBER, INTEGER} & set(shape.types)
        return quoted(node.text) if is_certain else ""
    text = node.text.strip()
    if BOOLEAN in shape.types and text.lower() in ("true", "false", *OLD_BOOLEANS):
        return OLD_BOOLEANS.get(text.lower(), text.lower())
    value = number(text) if text and text not in WORDS else None
    is_number = isinstance(value, int) and INTEGER in shape.types
    is_number = is_number or (isinstance(value, int | float) and NUMBER in shape.types)
    return text if is_number else ""


def repair(node: AnyNode, right: str) -> tuple[Edit, ...]:
    return replace_value(node, right) if right else ()
