"""What is known of a pipeline before any of its tasks runs, worked out once for each playbook in memory.

The tasks of a step, or of its compensation, in; what follows which, and what each needs to be asked, out. A pipeline
runs once for every iteration: what is the same for all of them is not asked again each time.
"""

from __future__ import annotations

from noetl.dsl.model import Task
from noetl.engine.policy import RETRY

END = ""  # the label after the last
KEPT_MAX = 4096


class TaskOutline:
    """One task."""

    __slots__ = ("following", "is_judged", "is_sync", "may_retry", "reads_before", "reads_keychain", "task")

    def __init__(self, task: Task, following: str) -> None:
        self.task = task
        self.following = following
        self.reads_before = _reads_before(task)
        self.reads_keychain = any("keychain" in value.reads for value in task.input.values())
        self.is_judged = bool(task.policy or task.set)  # something reads its output when it has ended
        self.may_retry = task.policy is not None and any(rule.do == RETRY for rule in task.policy.rules)
        self.is_sync = task.spec.get("durability") == "sync"


class Outline:
    """One pipeline."""

    __slots__ = ("by_label", "first", "tasks")

    def __init__(self, tasks: tuple[Task, ...]) -> None:
        labels = [*(task.label for task in tasks[1:]), END]
        outlines = [TaskOutline(task, following) for task, following in zip(tasks, labels, strict=False)]
        self.tasks = tasks
        self.first = outlines[0] if outlines else None
        self.by_label = {one.task.label: one for one in reversed(outlines)}  # of two equal labels the first counts


_known: dict[int, Outline] = {}  # by the id of the tasks, which an outline keeps: no other has it meanwhile


def outline_of(tasks: tuple[Task, ...]) -> Outline:
    """The outline of a pipeline, the same each time for the same tasks."""
    found = _known.get(id(tasks))
    if found is None:
        if len(_known) >= KEPT_MAX:
            _known.clear()
        found = _known[id(tasks)] = Outline(tasks)
    return found


def _reads_before(task: Task) -> bool:
    """Whether anything of a task reads names before its tool runs: most no-ops do not, and need no scope."""
    if task.is_transparent or any(value.reads for value in task.input.values()):
        return True
    return task.policy is not None and any(rule.is_before_tool for rule in task.policy.rules)
