"""States, for people: at any event of a log, and at the end of a run."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.control.live import folded
from noetl.control.reading import row_of
from noetl.engine.decide import row_status
from noetl.engine.state import State
from noetl.errors import RequestError
from noetl.projections.progress import NOT_RUN
from noetl.projections.summary import whole
from noetl.stores.contract import Store

ERROR_FIELDS = ("kind", "message", "step", "task")


def summary_of(state: State, step_names: list[str]) -> dict[str, Any]:
    """The same document, from a state in memory: a long log is not read again to sum up what just ran."""
    rows = {name: {"step": name, "runs": 0, "status": NOT_RUN} for name in step_names}
    rows |= {name: {"step": name, "runs": count.runs, "status": count.status} for name, count in state.counts.items()}
    error = {"kind": "incident", "message": state.incident} if state.incident else state.error
    ended = round((state.ended_at - state.created_at) * 1000) if state.ended_at else None
    return {
        "execution_id": str(state.execution_id),
        "status": row_status(state),
        "output": whole(state.output),
        "ctx": state.ctx,
        "error": error_of(error) if error else None,
        "steps": list(rows.values()),
        "duration_ms": ended,
    }


def error_of(error: dict[str, Any]) -> dict[str, Any]:
    """{kind, message, step, task}, and the iteration where there is one."""
    shown = {name: error.get(name) for name in ERROR_FIELDS}
    iteration = error.get("iteration", "")
    return {**shown, **({"iteration": int(iteration) if iteration.isdecimal() else iteration} if iteration else {})}


async def state_at(store: Store, execution_id: int, at: int | None) -> dict[str, Any]:
    """The state of an execution after any of its events."""
    row = await row_of(store, execution_id)
    if at is not None and not 1 <= at <= row.head:
        raise RequestError(f"--at must be from 1 to {row.head}, the events of execution {execution_id}; found {at}")
    state = await folded(store, execution_id, at)
    data: dict[str, Any] = msgspec.to_builtins(state)
    return {**data, "execution_id": str(execution_id), "seq": state.seq, "status": row_status(state)}
