"""A task's name is not a word.

A label stands in jumps, in events and in templates, so it is a plain word: letters, digits, `_` and `-`, beginning with
a letter or `_`. A label with a `-` can be jumped to, but a template would read it as a subtraction.

Wrong:

    tool:
      - name: 1. fetch items
        kind: http
        url: https://example.com/items

Right:

    tool:
      - name: fetch_items
        kind: http
        url: https://example.com/items

Spec: TK-01.
"""

import re
from collections.abc import Iterator

from noetl.dsl.departures import is_template
from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Scalar, describe, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import owner

RULE = contract.Rule(code="NL325", name="bad-task-name", spec=("TK-01",))

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


WHY = "a name is a plain word: letters, digits, _ and -, beginning with a letter or _"


def check(draft: Draft) -> Iterator[Finding]:
    workbook = draft.root.mapping("workbook")
    for name, entry in workbook.entries.items() if workbook else ():
        if not WORD.match(name):
            message = f'workbook task "{name}" has a name that is not a word'
            yield RULE.at(entry.key.place, message, why=WHY, fix=f"write {word_of(name) or 'a word'}:")
    for task in draft.tasks:
        name_node = task.node.get("name")
        if name_node is not None and task.step and not is_word(name_node):
            yield of_task(task, name_node)


def is_word(node: AnyNode) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str) and bool(WORD.match(node.value))


def word_of(name: str) -> str:
    """A word made of a name; empty where nothing of it is left."""
    word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()
    return f"task_{word}" if word and not WORD.match(word) else word


def of_task(task: Task, node: AnyNode) -> Finding:
    is_empty = isinstance(node, Scalar) and node.value in (None, "")
    text = node.text if isinstance(node, Scalar) and not is_empty else ""
    found = (
        f'is named "{shorten(text)}"'
        if text
        else "has an empty name"
        if is_empty
        else f"is named with {describe(node)}"
    )
    word = "" if is_template(node) else word_of(text)
    return RULE.at(
        node.place if text else task.node.entries["name"].key.place,
        f"a task of {owner(task)} {found}",
        why=f"{WHY}; it is not a template" if is_template(node) else WHY,
        fix=f"write name: {word}" if word else "write a word, or remove the name",
    )
