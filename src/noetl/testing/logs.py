"""Small logs for tests of stores: events that are told apart by a number, and executions that have them."""

from __future__ import annotations

from typing import Any

from noetl.engine.events import Event, LoopIterationDone, StepStarted
from noetl.stores.contract import RUNNING, Append, Batch, Entry, Execution, Store


def started(number: int) -> StepStarted:
    """An event that is told from others by a number."""
    return StepStarted(ts=1000.0 + number, run=number, step=f"step_{number}")


def iteration(index: int, run: int = 1) -> LoopIterationDone:
    return LoopIterationDone(ts=1000.0, run=run, iter=index, output={"status": "ok", "data": index})


def append(execution_id: int, first_seq: int, events: list[Any], **row: Any) -> Append:
    return Append(execution_id=execution_id, first_seq=first_seq, events=events, **{"status": RUNNING, **row})


def playbook(sha: str, path: str = "orders", text: bytes = b"kind: Playbook\n", **fields: Any) -> Entry:
    return Entry(path=path, version=0, sha=sha, text=text, **fields)


async def begin(store: Store, events: list[Any], **row: Any) -> int:
    """A new execution with these events."""
    execution_id = await store.reserve_ids(1)
    execution = Execution(**{"id": execution_id, "sha": "5ha", "path": "orders", "version": 1, **row})
    appends = [append(execution_id, 1, events, status=execution.status)] if events else []
    await store.commit(Batch(executions=[execution], appends=appends))
    return execution_id


async def log_of(store: Store, execution_id: int) -> list[tuple[int, Event]]:
    return await store.events(execution_id, limit=100_000)
