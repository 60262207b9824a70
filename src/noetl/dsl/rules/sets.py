"""Every `set` of a playbook, with the place it stands in and what may be written there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from noetl.dsl.draft import Assignment, Draft, Site, Step, Task
from noetl.dsl.nodes import AnyNode, Mapping

SCOPES = ("ctx", "step", "iter")
CALLED = {
    Site.STEP_SET: "a step's set",
    Site.TASK_SET: "a task's set",
    Site.RULE_SET: "a rule's set",
    Site.ARC_SET: "an arc's set",
}


class Written(msgspec.Struct, frozen=True):
    """One `set` as it stands in the file."""

    node: AnyNode
    site: str
    writes: list[Assignment]


def sets(draft: Draft) -> Iterator[Written]:
    """Every `set`, whatever its shape."""
    for step in draft.steps:
        yield from written(step.node, Site.STEP_SET, step.sets)
        for arc in step.arcs:
            yield from written(arc.node, Site.ARC_SET, arc.sets)
    for task in draft.tasks:
        yield from written(task.node, Site.TASK_SET, task.sets)
        for rule in task.rules:
            yield from written(rule.then, Site.RULE_SET, rule.sets)


def written(owner: Mapping | None, site: str, writes: list[Assignment]) -> Iterator[Written]:
    node = owner.get("set") if owner else None
    if node is not None:
        yield Written(node, site, writes)


def writable(site: str, step: Step | None, task: Task | None) -> tuple[str, ...]:
    """The scopes that a `set` may write where it stands (SC-09)."""
    if site == Site.ARC_SET:
        return ("ctx",)
    is_in_iteration = task is not None and not task.is_compensation and (step is None or step.has_loop)
    return SCOPES if is_in_iteration else ("ctx", "step")
