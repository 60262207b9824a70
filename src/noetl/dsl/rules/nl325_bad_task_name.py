"""A task has no name where it says name, or one that cannot be a name.

A label stands in jumps, in events and in templates. It is a line of text, of up to 200 characters. One that is not an
identifier (letters of any script, digits and underscores, no digit first) can be jumped to, but no template can read
it: in `{{ fetch-items.data }}` the dash is a minus. That is told as an information.

Wrong:

    tool:
      - name: 1
        kind: http
        url: https://example.com/items

Right:

    tool:
      - name: fetch_items
        kind: http
        url: https://example.com/items

Spec: TK-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import INFO, WARNING, Finding
from noetl.dsl.nodes import AnyNode, Scalar, describe, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.bare_names import is_rendered_nowhere, refusal, spelt, unreadable
from noetl.dsl.rules.pipelines import owner, said

RULE = contract.Rule(code="NL325", name="bad-task-name", spec=("TK-01",), also=(WARNING, INFO))


def check(draft: Draft) -> Iterator[Finding]:
    workbook = draft.root.mapping("workbook")
    for name, entry in workbook.entries.items() if workbook else ():
        why = refusal(entry.key) if isinstance(entry.key.value, str) else ""  # NL106 speaks of other keys
        if why:
            message = f'workbook task "{shorten(name)}" has a name that cannot be one'
            yield RULE.at(entry.key.place, message, why=why, fix="give it a shorter name of one line")
    for task in draft.tasks:
        node = task.node.get("name")
        found = of_task(task, node) if node is not None and task.step else None
        if found:
            yield found


def of_task(task: Task, node: AnyNode) -> Finding | None:
    why = refusal(node)
    if why:
        return not_a_name(task, node, why)
    return without_reader(task, node) if isinstance(node, Scalar) else None


def not_a_name(task: Task, node: AnyNode, why: str) -> Finding:
    text = node.text.strip() if isinstance(node, Scalar) else ""
    is_empty = isinstance(node, Scalar) and not text
    found = "has an empty name" if is_empty else f"is named with {describe(node)}"
    is_other = isinstance(node, Scalar) and not is_empty and not isinstance(node.value, str)
    return RULE.at(
        node.place if text else task.node.entries["name"].key.place,
        f"a task of {owner(task)} {found}",
        why=why,
        fix=f'write name: "{text}"' if is_other else "give it a short name of one line, or remove name",
    )


def without_reader(task: Task, node: Scalar) -> Finding | None:
    """A name that serves jumps and events, but no template."""
    if is_rendered_nowhere(node):
        return RULE.at(
            node.place,
            f'the template in the task name "{shorten(node.text)}" is not rendered',
            why="a name must be known before the playbook runs, so it is taken as written",
            fix="write the name itself",
            severity=WARNING,
        )
    why = unreadable(node.text)
    if not why:
        return None
    return RULE.at(
        node.place,
        f"no template can read {said(task)} by its name",
        why=why,
        fix=f"call it {spelt(node.text, 'task') or 'by a word'} if a template shall read it",
        severity=INFO,
    )
