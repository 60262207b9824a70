"""A loop's iterator has a name that it cannot have.

The iterator names one element: `iterator: city` gives {{ iter.city }}. It is a plain word of letters, digits and `_`,
beginning with a letter, and none of the names that `iter` or the templates already use: `index`, `parent`, and scopes
such as `ctx` or `output`.

Wrong:

    loop:
      in: "{{ workload.cities }}"
      iterator: index

Right:

    loop:
      in: "{{ workload.cities }}"
      iterator: city

Spec: LP-01, SC-03, SC-04, TP-06.
"""

import re
from collections.abc import Iterator

from noetl.dsl.departures import is_template
from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.reserved_words import reason

RULE = contract.Rule(code="NL402", name="bad-iterator-name", spec=("LP-01", "SC-03", "SC-04", "TP-06"))

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
OF_ITER = {"index": "iter.index is the number of the element", "parent": "iter.parent is the outer iteration"}


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        for loop in step.loops:
            entry = loop.node.entries.get("iterator")
            why = fault(entry.value) if entry else ""
            if entry and why:
                is_empty = isinstance(entry.value, Scalar) and entry.value.value in (None, "")
                place = entry.key.place if is_empty else entry.value.place
                yield RULE.at(place, message(step, entry.value), why=why, fix=fix(entry.value))


def fault(node: AnyNode) -> str:
    """Why a name cannot be an iterator's; empty if it can."""
    if is_template(node):
        return "the iterator's name is written out: templates of the step read it as iter.<name>"
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not IDENTIFIER.match(node.value):
        return "an iterator is a plain word: letters, digits and _, beginning with a letter"
    if node.value.startswith("_"):
        return "names that begin with _ belong to the engine"
    return OF_ITER.get(node.value) or reason(node.value)


def message(step: Step, node: AnyNode) -> str:
    is_text = isinstance(node, Scalar) and isinstance(node.value, str) and node.value
    found = f'"{node.text}"' if isinstance(node, Scalar) and is_text else describe(node)
    return f'the iterator of step "{step.name}" cannot be called {found}'


def fix(node: AnyNode) -> str:
    words = re.findall(r"[A-Za-z][A-Za-z0-9_]*", node.text) if isinstance(node, Scalar) else []
    joined = "_".join(words).strip("_").lower()
    taken = not joined or is_template(node) or joined in OF_ITER or reason(joined)
    return f"write iterator: {'item' if taken else joined}"
