"""Two tasks of one pipeline have the same label.

A label is how a jump finds its task, how templates read its output, and what every event about it carries. Two tasks
with one label could not be told apart. Tasks without a name get one: `task_0`, `task_1`, … by their position in the
list, and choose, while and until make labels of their own; those count too.

Wrong:

    tool:
      - name: fetch
        kind: http
        url: https://example.com/users
      - name: fetch
        kind: http
        url: https://example.com/orders

Right:

    tool:
      - name: fetch_users
        kind: http
        url: https://example.com/users
      - name: fetch_orders
        kind: http
        url: https://example.com/orders

Spec: TK-01, TK-02.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import is_generated, label_place, owner, pipelines

RULE = contract.Rule(code="NL302", name="duplicate-task-label", spec=("TK-01", "TK-02"))


def check(draft: Draft) -> Iterator[Finding]:
    for pipeline in pipelines(draft):
        first: dict[str, Task] = {}
        for task in pipeline:
            if task.label in first:
                yield finding(draft, *told_first(draft, task, first[task.label]))
            else:
                first[task.label] = task


def told_first(draft: Draft, task: Task, other: Task) -> tuple[Task, Task]:
    """Of two tasks, the one whose label the author wrote is the one to point at."""
    is_written = task.name is not None and not is_generated(draft, task)
    return (task, other) if is_written else (other, task)


def finding(draft: Draft, task: Task, other: Task) -> Finding:
    if task.name is None:
        origin = f"both are unnamed, and the label is made from their place in {owner(task)}"
    else:
        origin = made_from(draft, other)
    return RULE.at(
        label_place(draft, task),
        f'{owner(task)} has two tasks labelled "{task.label}"',
        why=f"jumps, templates and events tell tasks apart by their label; {origin}",
        fix=f"give {'the unnamed task a name' if other.name is None else 'one of them another name'}",
    )


def made_from(draft: Draft, other: Task) -> str:
    """Where the other one's label is from."""
    line = label_place(draft, other).line
    if other.name is None:
        return f'the task at line {line} has no name and is "{other.label}" by its position'
    if other.step and is_generated(draft, other):
        return f"the other is made for {draft.debug_map[other.step.name][other.label]}"
    return f"the other is at line {line}"
