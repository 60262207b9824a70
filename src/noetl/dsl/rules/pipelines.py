"""The pipelines of a playbook and what messages call their tasks; for the 3xx block."""

from __future__ import annotations

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.nodes import AnyNode, Mapping, Sequence
from noetl.dsl.source import Place


def pipelines(draft: Draft) -> Iterator[list[Task]]:
    """Every list of tasks that shares its labels: a step's, a compensation's, one workbook task alone."""
    for step in draft.steps:
        yield step.tasks
        yield step.compensation
    for task in draft.workbook.values():
        yield [task]


def tools(draft: Draft) -> Iterator[tuple[str, Mapping, AnyNode]]:
    """Every `tool` as written: whose it is, the mapping it stands in, and its value."""
    for step in draft.steps:
        if step.tool is not None:
            yield f'step "{step.name}"', step.node, step.tool
        compensation = step.policy.mapping("compensation") if step.policy else None
        tool = compensation.get("tool") if compensation else None
        if compensation and tool is not None:
            yield f'the compensation of step "{step.name}"', compensation, tool


def said(task: Task) -> str:
    """What a message calls a task."""
    if task.step is None:
        return f'workbook task "{task.label}"'
    if task.name is not None:
        return f'compensation task "{task.label}"' if task.is_compensation else f'task "{task.label}"'
    if isinstance(task.step.tool, Sequence) or task.is_compensation:
        return f'unnamed task "{task.label}"'
    return f'the task of step "{task.step.name}"'


def with_kind(task: Task) -> str:
    """A task and its kind: `task "fetch" (kind: http)`."""
    return f"{said(task)} (kind: {task.kind})"


def owner(task: Task) -> str:
    """Whose pipeline a task stands in."""
    if task.step is None:
        return f'workbook task "{task.label}"'
    return f'the compensation of step "{task.step.name}"' if task.is_compensation else f'step "{task.step.name}"'


def label_place(draft: Draft, task: Task) -> Place:
    """Where a task's label stands; for an unnamed task, where its kind does."""
    if task.step is None:
        workbook = draft.root.mapping("workbook")
        entry = workbook.entries.get(task.label) if workbook else None
        return entry.key.place if entry else task.node.place
    return task.name.place if task.name else kind_place(task)


def kind_place(task: Task) -> Place:
    """Where a task's kind stands; the task itself where there is none."""
    entry = task.node.entries.get("kind")
    return entry.value.place if entry else task.node.place


def is_generated(draft: Draft, task: Task) -> bool:
    """Whether choose, while or until made this task (TK-17): no author wrote it."""
    if task.step is None or task.name is None:
        return False
    made = draft.debug_map.get(task.step.name, {})
    return task.label in made and task.name.place == task.node.place
