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
    reading = read(data, name)
    for document in reading.documents:
        if isinstance(document, Mapping):
            draft = make_draft(reading.source, document, available_kinds, is_legacy=is_legacy, is_upstream=is_upstream)
            if found := draft.step(step):
                part = task_of(found, task)
                return str(part.node.place if part else found.name_node.place)
    return ""


def task_of(step: Step, label: str | None) -> Task | None:
    return next((task for task in (*step.tasks, *step.compensation) if task.label == label), None)


def place_in_catalog(settings: Settings, path: str, version: int | None, step: str, task: str | None) -> str:
    """The same for a playbook of the catalog; nothing if it is not there."""
    try:
        entry = executions_of(settings).catalog_show(settings, path, version)
    except NoetlError:
        return ""  # it only adds to a message about something else
    return place_of(
        entry["text"],
        entry["name"] or path,
        step,
        task,
        is_legacy=entry.get("is_legacy", False),
        is_upstream=entry.get("is_upstream", False),
    )
