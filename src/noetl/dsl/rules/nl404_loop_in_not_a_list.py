"""A loop goes through something that is not a list.

`in` gives the list: a template that yields one, a list written out, `{{ range(n) }}`, or a reference to a stored list.
A text without a template is only that text; a text with something around the template is text as well.

Wrong:

    loop:
      in: workload.cities
      iterator: city

Right:

    loop:
      in: "{{ workload.cities }}"
      iterator: city

Spec: LP-01, LP-02.
"""

import re
from collections.abc import Iterator

from noetl.dsl.conditions import template_of
from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Edit, Finding
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import replace_value
from noetl.expressions import Template, constant

RULE = contract.Rule(code="NL404", name="loop-in-not-a-list", spec=("LP-01", "LP-02"))

PATH = re.compile(r"(workload|ctx|input|iter|output|step)(\.[A-Za-z_]\w*)+\Z")
REFERENCE = (frozenset(("type", "locator")), frozenset(("store", "key")))
WHY = "in gives the list to go through: a template, a list written out, or a reference to a stored list"


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        for loop in step.loops:
            node = loop.collection
            found = what_it_is(draft, node) if node is not None else ""
            if node is not None and found:
                key = loop.node.entries["in"].key
                is_empty = isinstance(node, Scalar) and node.value is None
                yield finding(step, node, found, key if is_empty or isinstance(node, Mapping) else node)


def what_it_is(draft: Draft, node: AnyNode) -> str:
    """What `in` certainly is, if that is no list."""
    if isinstance(node, Mapping):
        is_reference = any(keys <= node.entries.keys() for keys in REFERENCE)
        return "" if is_reference else "a mapping that is not a reference"
    if not isinstance(node, Scalar):
        return ""
    template = template_of(draft, node)
    if template:
        return of_template(template)
    is_broken = isinstance(node.value, str) and ("{{" in node.value or "{%" in node.value)
    return "" if is_broken else describe(node)


def of_template(template: Template) -> str:
    if not template.is_expression:
        return "" if template.has_statements and not template.literal_text.strip() else "text with a template in it"
    is_constant, value = constant(template)
    if not is_constant or isinstance(value, list | tuple):
        return ""
    return {str: "a text", bool: "true or false", dict: "a mapping", type(None): "nothing"}.get(type(value), "a number")


def finding(step: Step, node: AnyNode, found: str, shown: AnyNode) -> Finding:
    text = node.text if isinstance(node, Scalar) else ""
    is_path, is_list = bool(PATH.match(text)), text.strip().startswith("[") and text.strip().endswith("]")
    fix = "write a list, or a template that gives one"
    if is_path:
        fix = f'write in: "{{{{ {text} }}}}"'
    elif is_list:
        fix = f"take the quotes away: in: {text.strip()}"
    elif isinstance(node, Mapping):
        fix = 'to go through its entries, write in: "{{ … | items | list }}"; a reference has type and locator'
    elif text.isdigit():
        fix = f'to go round {text} times, write in: "{{{{ range({text}) }}}}"'
    return RULE.at(
        shown.place,
        f'the loop of step "{step.name}" goes through {found}',
        why=WHY,
        fix=fix,
        edits=edits(node, text, is_path),
    )


def edits(node: AnyNode, text: str, is_path: bool) -> tuple[Edit, ...]:
    return replace_value(node, f'"{{{{ {text} }}}}"') if is_path else ()
