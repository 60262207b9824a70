"""The one document that `run` and `resume` print, made from an execution's progress.

Its keys are what scripts rely on, so none is ever taken away. Steps stand in the order of the playbook, those that
never ran included; steps that a planner added come after them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noetl.projections.progress import NOT_RUN, Progress
from noetl.projections.runs import SUCCESS


def summary(execution_id: int, progress: Progress, step_names: Iterable[str]) -> dict[str, Any]:
    """{execution_id, status, output, ctx, error, steps, duration_ms}; error is {kind, message, step, task} or null."""
    status = progress.status
    return {
        "execution_id": str(execution_id),
        "status": status,
        "output": whole(progress.output),
        "ctx": progress.ctx,
        "error": None if status == SUCCESS else error_of(progress),
        "steps": steps_of(progress, step_names),
        "duration_ms": progress.duration_ms,
    }


def whole(output: dict[str, Any] | None) -> dict[str, Any] | None:
    """The envelope with all its keys: the log leaves `data` away where the payload is kept elsewhere."""
    return None if output is None else {"status": "ok", "data": None, "ref": None, "error": None, "meta": {}, **output}


def error_of(progress: Progress) -> dict[str, Any] | None:
    if progress.incident:
        return {"kind": "incident", "message": progress.incident, "step": None, "task": None}
    return progress.error


def steps_of(progress: Progress, step_names: Iterable[str]) -> list[dict[str, Any]]:
    rows = {name: {"step": name, "runs": 0, "status": NOT_RUN} for name in step_names}
    for step in progress.steps:
        rows[step.step] = {"step": step.step, "runs": step.runs, "status": step.status}
    return list(rows.values())
