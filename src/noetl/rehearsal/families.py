"""Playbooks that a playbook calls, and those call: found before anything runs, as far as the texts say it.

A path that is written with a template is known only when it is rendered, and a file may be in no place that a run would
look in; then a family is not known as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from noetl.control.catalog import Text, beside
from noetl.dsl.model import Playbook, Task

PLAYBOOKS_MAX = 100  # of one family: who calls more is not looked into further


class Family(msgspec.Struct, kw_only=True):
    """The playbooks below one, by the path they are called by."""

    members: dict[str, Playbook | None] = {}  # None: no file has it, or it has steps that only a run knows
    is_whole: bool = True  # no path can be called but these


def family_of(playbook: Playbook, folder: str, loaded: Callable[[Text], Playbook]) -> Family:
    """Everything that is called from a playbook in a folder. Raises InvalidPlaybook."""
    family = Family()
    waiting = [playbook]
    while waiting:
        caller = waiting.pop()
        family.is_whole &= not is_open(caller)
        for path in called_paths(caller):
            if path is None or len(family.members) >= PLAYBOOKS_MAX:
                family.is_whole = False
            elif path not in family.members:
                text = found_beside(path, folder)
                called = family.members[path] = loaded(text) if text is not None else None
                waiting += [called] if called is not None else []
    return family


def found_beside(path: str, folder: str) -> Text | None:
    try:
        return beside(path, folder)
    except (OSError, ValueError):
        return None


def is_open(playbook: Playbook) -> bool:
    """Whether it has steps that only a run knows."""
    return any(step.is_planner for step in playbook.steps.values())


def called_paths(playbook: Playbook) -> Iterator[str | None]:
    """The paths that it calls; None: one that is made by a template."""
    for task in tasks_of(playbook):
        if task.kind == "playbook":
            path = task.input.get("path")
            yield path.parts if path is not None and isinstance(path.parts, str) else None


def tasks_of(playbook: Playbook) -> Iterator[Task]:
    for step in playbook.steps.values():
        yield from (*step.tasks, *step.compensation)
    yield from playbook.workbook.values()
