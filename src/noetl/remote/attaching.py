"""The files that a playbook calls by name, and those that they call, to be sent along with it.

A server cannot see the folder that a playbook stands in. What a task of kind playbook names outright (`path: child`)
and is a file there goes along; a path that a template makes is looked up in the server's catalog only. Nothing else of
the folder is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from noetl.control.attached import check_files

CALL = b"playbook"
KINDS = ("kind", "type", "tool")  # where surfaces say what a task is
INPUTS = ("input", "with", "args")  # where its fields may stand, besides the task itself


def attached_files(data: bytes, folder: str) -> dict[str, str]:
    """Name to text; the names are relative to the folder. Raises RequestError where they are too many or too large."""
    from noetl.control.catalog import beside

    found: dict[str, str] = {}
    waiting = [data]
    while waiting and folder:
        for path in called_paths(waiting.pop()):
            try:
                text = beside(path, folder)
            except (OSError, ValueError):
                text = None  # a name that no file can have: the task that calls it says so
            if text is not None and text.name not in found:
                found[text.name] = text.data.decode("utf-8", "replace")
                check_files(found)
                waiting.append(text.data)
    return found


def called_paths(data: bytes) -> Iterator[str]:
    """The paths that tasks of a text call without a version; of what cannot be read, none."""
    if CALL not in data:
        return
    from noetl.dsl.check import documents_of

    for task in mappings_in(documents_of(data, "")):
        if any(task.get(name) == CALL.decode() for name in KINDS):
            fields = fields_of(task)
            if isinstance(fields.get("path"), str) and fields.get("version") is None:
                yield fields["path"]


def fields_of(task: dict[str, Any]) -> dict[str, Any]:
    inputs = [task[name] for name in INPUTS if isinstance(task.get(name), dict)]
    return {name: value for given in (task, *inputs) for name, value in given.items()}


def mappings_in(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
