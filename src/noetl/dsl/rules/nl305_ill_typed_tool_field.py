"""A field of a tool has a value that the tool cannot take.

The kind declares what each field is: text, a mapping, a whole number in a range, one of a few words. A text with a
template may become anything, so it passes here and is looked at when it has its value.

Wrong:

    tool:
      kind: http
      url: https://example.com/items
      method: FETCH
      params: page=2

Right:

    tool:
      kind: http
      url: https://example.com/items
      method: GET
      params: { page: 2 }

Spec: TL-03.
"""

from collections.abc import Iterator

from noetl.dsl.departures import is_template, type_of
from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import ERROR, WARNING, Finding, did_you_mean, listed
from noetl.dsl.kinds import ANY, BOOLEAN, INTEGER, LIST, MAPPING, NUMBER, TEXT, Field
from noetl.dsl.nodes import AnyNode, Entry, Scalar, describe
from noetl.dsl.repairs import replace
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import quoted, replace_value
from noetl.dsl.rules.pipelines import with_kind
from noetl.dsl.rules.tool_fields import documented

RULE = contract.Rule(code="NL305", name="ill-typed-tool-field", spec=("TL-03",), also=(WARNING,))

WORDS = {
    TEXT: "text",
    INTEGER: "a whole number",
    NUMBER: "a number",
    BOOLEAN: "true or false",
    MAPPING: "a mapping",
    LIST: "a list",
}


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        kind = draft.kind_of(task)
        for name, entry in (*task.direct.items(), *task.input.items()) if kind else ():
            field = kind.field(name) if kind else None
            if field and not (field.is_template and is_template(entry.value)):
                yield from faults(draft, task, field, entry)


def faults(draft: Draft, task: Task, field: Field, entry: Entry) -> Iterator[Finding]:
    node = entry.value
    if not has_type(field, node):
        yield wrong_type(task, field, entry)
    elif field.choices and isinstance(node, Scalar) and node.value not in field.choices:
        yield not_a_choice(draft, task, field, node)
    elif not in_range(field, node):
        yield out_of_range(task, field, node)


def has_type(field: Field, node: AnyNode) -> bool:
    found = type_of(node)
    return ANY in field.types or found in field.types or (found == INTEGER and NUMBER in field.types)


def in_range(field: Field, node: AnyNode) -> bool:
    if not isinstance(node, Scalar) or isinstance(node.value, bool) or not isinstance(node.value, int | float):
        return True
    is_low = field.minimum is not None and node.value < field.minimum
    return not (is_low or (field.maximum is not None and node.value > field.maximum))


def wanted(field: Field) -> str:
    return " or ".join(WORDS.get(name, name) for name in field.types)


def wrong_type(task: Task, field: Field, entry: Entry) -> Finding:
    node = entry.value
    is_empty = isinstance(node, Scalar) and node.value is None
    in_quotes = quoted(node.text) if isinstance(node, Scalar) and TEXT in field.types and not is_empty else ""
    return RULE.at(
        node.place if isinstance(node, Scalar) and not is_empty else entry.key.place,
        f'"{field.name}" of {with_kind(task)} wants {wanted(field)}, found {describe(node)}',
        why=documented(field),
        fix="give it a value, or remove the line" if is_empty else f"write {in_quotes or wanted(field)}",
        edits=replace_value(node, in_quotes) if in_quotes else (),
    )


def not_a_choice(draft: Draft, task: Task, field: Field, node: Scalar) -> Finding:
    found = f'"{node.text}"' if isinstance(node.value, str) else describe(node)
    same = next((choice for choice in field.choices if choice.lower() == node.text.lower()), None)
    return RULE.at(
        node.place,
        f'"{field.name}" of {with_kind(task)} cannot be {found}',
        why=f"{field.name} is one of: {listed(field.choices)}",
        fix=did_you_mean(node.text, field.choices, "write one of these"),
        edits=replace(node, 0, len(node.text), same) if same else (),
        severity=WARNING if same and draft.is_upstream else ERROR,  # there, method: get is a habit
    )


def out_of_range(task: Task, field: Field, node: AnyNode) -> Finding:
    low, high = field.minimum, field.maximum
    if low is not None and high is not None:
        bounds = f"from {low:,g} to {high:,g}"
    else:
        bounds = f"at least {low:,g}" if low is not None else f"at most {high:,g}"
    return RULE.at(
        node.place,
        f'"{field.name}" of {with_kind(task)} is out of its range: {describe(node)}',
        why=documented(field),
        fix=f"write a number {bounds}",
    )
