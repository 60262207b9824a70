"""Which outputs are wanted as references, because some template reads `….ref` of them (RS-03).

The worker stores such a payload whatever its size, so it has to know before the task runs.
"""

from __future__ import annotations

import msgspec

from noetl.dsl.draft import Draft, Site, Step, Text
from noetl.expressions import Read

WORKBOOK = ""  # stands for the step of a workbook task, which has none
AT_TASK = frozenset((Site.RULE_WHEN, Site.RULE_SET, Site.RULE_DELAY, Site.TASK_SET))
AT_BOUNDARY = frozenset((Site.STEP_SET, Site.ARC_WHEN, Site.ARC_SET, Site.ARC_ARGS, Site.ARC_SPEC))
AT_ENTRY = frozenset((Site.STEP_INPUT, Site.LOOP_IN))


class Wishes(msgspec.Struct):
    """Steps whose output, and tasks (step, label) whose output, must come as a reference."""

    steps: set[str]
    tasks: set[tuple[str, str]]


def reference_wishes(draft: Draft) -> Wishes:
    """All wishes of a playbook."""
    wishes = Wishes(set(), set())
    senders: dict[str, set[str]] = {}
    for arc in draft.arcs:
        senders.setdefault(arc.target_name, set()).add(arc.step.name)
    for text in draft.texts:
        for read in text.template.reads if text.template else ():
            if is_reference_read(draft, read):
                wish(wishes, text, read.name, senders)
    for step in draft.steps:
        if step.name in wishes.steps and not step.has_loop:
            wishes.tasks.update((step.name, label) for label in last_labels(step))
    return wishes


def is_reference_read(draft: Draft, read: Read) -> bool:
    """`x.ref`; with the upstream surface `x._ref` and `x.data._ref` too (UP-07)."""
    keys = [part.key for part in read.parts[:2]]
    return keys[:1] == ["ref"] or (draft.is_upstream and (keys[:1] == ["_ref"] or keys == ["data", "_ref"]))


def wish(wishes: Wishes, text: Text, name: str, senders: dict[str, set[str]]) -> None:
    """Note whose reference one read of `name.ref` is."""
    step, task = text.step, text.task
    if task and (name == task.label or (name == "output" and text.site in AT_TASK)):
        wishes.tasks.add((step.name if step else WORKBOOK, task.label))
    elif step is None:
        return
    elif name != "output":
        is_label = any(one.label == name for one in (*step.tasks, *step.compensation))
        wishes.tasks.add((step.name, name)) if is_label else wishes.steps.add(name)
    elif text.site in AT_BOUNDARY:
        wishes.steps.add(step.name)
    else:
        wish_of_reader(wishes, text, step, senders)


def wish_of_reader(wishes: Wishes, text: Text, step: Step, senders: dict[str, set[str]]) -> None:
    """`output.ref` before a task ran: that of the task before it, or of the step that sent the token (RT-12)."""
    if text.site in AT_ENTRY or (text.task and text.task.index == 0):
        wishes.steps.update(senders.get(step.name, ()))
    if text.task and len(step.tasks) > 1:
        wishes.tasks.update((step.name, task.label) for task in step.tasks)


def last_labels(step: Step) -> set[str]:
    """The tasks whose output can be the step's: the last one, and those that may break."""
    labels = {task.label for task in step.tasks if any(rule.do == "break" for rule in task.rules)}
    return labels | {task.label for task in step.tasks[-1:]}
