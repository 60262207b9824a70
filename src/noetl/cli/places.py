"""Where in a playbook's text a step or a task stands, for the messages of a run that failed."""

from __future__ import annotations

from noetl.cli.kinds import available_kinds
from noetl.cli.sides import executions_of
from noetl.config import Settings
from noetl.dsl.check import make_draft
from noetl.dsl.draft import Step, Task
from noetl.dsl.nodes import Mapping
from noetl.dsl.read import read
from noetl.errors import NoetlError


def place_of(
    data: bytes | str, name: str, step: str, task: str | None, *, is_legacy: bool = False, is_upstream: bool = False
) -> str:
    """file:line:column of the task, else of the step; nothing if the text has neither."""
    found = step_of(data, name, step, is_legacy=is_legacy, is_upstream=is_upstream)
    return place_in(found, task) if found else ""


def place_in(step: Step, task: str | None) -> str:
    part = task_of(step, task)
    return str(part.node.place if part else step.name_node.place)


def step_of(data: bytes | str, name: str, step: str, *, is_legacy: bool, is_upstream: bool) -> Step | None:
    reading = read(data, name)
    for document in reading.documents:
        if isinstance(document, Mapping):
            draft = make_draft(reading.source, document, available_kinds, is_legacy=is_legacy, is_upstream=is_upstream)
            if found := draft.step(step):
                return found
    return None


def task_of(step: Step, label: str | None) -> Task | None:
    return next((task for task in (*step.tasks, *step.compensation) if task.label == label), None)


def place_in_catalog(settings: Settings, path: str, version: int | None, step: str, task: str | None) -> str:
    """The same for a playbook of the catalog; nothing if it is not there."""
    found = step_in_catalog(settings, path, version, step)
    return place_in(found, task) if found else ""


def task_in_catalog(settings: Settings, path: str, version: int | None, step: str, task: str) -> Task | None:
    """A task as its author wrote it."""
    found = step_in_catalog(settings, path, version, step)
    return task_of(found, task) if found else None


def step_in_catalog(settings: Settings, path: str, version: int | None, step: str) -> Step | None:
    try:
        entry = executions_of(settings).catalog_show(settings, path, version)
    except NoetlError:
        return None  # it only adds to a message about something else
    surface = {name: entry.get(name, False) for name in ("is_legacy", "is_upstream")}
    return step_of(entry["text"], entry["name"] or path, step, **surface)
