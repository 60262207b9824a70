"""A task that calls another playbook: where it stands, what its child came to, as operations of the caller (TL-04)."""

from __future__ import annotations

from typing import Any

from noetl.engine import commands as ops
from noetl.engine.commands import Operation
from noetl.engine.output import Error
from noetl.engine.state import State


def version_of(found: Any) -> int | None:
    """The version a caller names: a number, or the newest."""
    if found is None or found in ("latest", ""):
        return None
    try:
        return int(found)
    except (TypeError, ValueError):
        return -1  # no version is called so: the catalog says which there are


def awaited_child(state: State, key: str) -> dict[str, Any] | None:
    place = place_of(key)
    run = state.runs.get(place[0])
    job = run.jobs.get(place[1]) if run else None
    return job.child if job and job.child and job.child.get("key") == key else None


def place_of(key: str) -> tuple[int, int, str]:
    """run, iter and task of an idempotency key (ids.py)."""
    _, run, index, rest = key.split(":", 3)
    return int(run), int(index), rest.rsplit(":", 1)[0]


def refused(wanted: ops.ChildWanted, kind: str, message: str) -> Operation:
    _, run, index = wanted.key
    error = Error(kind=kind, message=message).as_data()
    return ops.ChildEnded(
        execution_id=wanted.key[0], run=run, iter=index, task=wanted.task, key=wanted.child["key"], error=error
    )


def child_ended(key: str, child: State, return_step: Any) -> Operation:
    run, index, task = place_of(key)
    output = child.outputs.get(str(return_step)) if return_step else child.output
    return ops.ChildEnded(
        execution_id=int(key.partition(":")[0]),
        run=run,
        iter=index,
        task=task,
        key=key,
        child_execution_id=child.execution_id,
        result=child.status,
        output=output,
        error=child.error,
    )
