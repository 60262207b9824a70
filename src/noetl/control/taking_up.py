"""What a process that has its store to itself does first: it goes on with everything that the one before it left.

In come the executions that have not ended, out goes a Recover for each of the outermost; children go on with their
callers (follow.py). An incident is never taken up here: it waits for people (`Desk.resume`), or one that ends the
process would do so for ever. Those that it called go on all the same, as they would have if no process had ended.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable
from typing import Protocol

from noetl.engine.commands import Operation, Recover
from noetl.errors import PASSING
from noetl.stores.contract import INCIDENT, LIVE, Execution, Store
from noetl.stores.wanted import Wanted

GOING_ON = tuple(status for status in LIVE if status != INCIDENT)
ROWS_PER_READ = 1000
log = logging.getLogger("noetl.control.taking_up")


class Pump(Protocol):
    def submit(self, operation: Operation) -> Awaitable[str]: ...


async def take_up_all(store: Store, pump: Pump) -> None:
    for status in GOING_ON:
        async for row in _rows(store, status):
            if await _is_outermost(store, row):
                await _take_up(pump, row.id)
    seen: set[int] = set()
    while called := await _called_by_incidents(store, seen):  # being taken up once too often makes further ones
        for execution_id in called:
            await _take_up(pump, execution_id)


async def _is_outermost(store: Store, row: Execution) -> bool:
    """Nobody that is under way called it: a child may outlive its caller, as one does that undoes its steps."""
    caller = await store.execution(row.parent_id) if row.parent_id is not None else None
    return caller is None or caller.status not in LIVE


async def _called_by_incidents(store: Store, seen: set[int]) -> list[int]:
    """Whoever is under way and has a caller that is not taken up. `seen`: incidents that were looked at before."""
    found: list[int] = []
    async for incident in _rows(store, INCIDENT):
        if incident.id not in seen:
            seen.add(incident.id)
            for status in GOING_ON:
                found += [row.id async for row in _rows(store, status, incident.id)]
    return found


async def _rows(store: Store, status: str, parent_id: int | None = None) -> AsyncIterator[Execution]:
    before: int | None = None
    wanted = Wanted(statuses=(status,), parent_id=parent_id)
    while rows := await store.executions(ROWS_PER_READ, before, wanted):
        for row in rows:
            yield row
        before = rows[-1].id


async def _take_up(pump: Pump, execution_id: int) -> None:
    """One that cannot be taken up waits for people, and keeps the process from no other."""
    try:
        await pump.submit(Recover(execution_id=execution_id))
    except PASSING:
        raise
    except Exception:
        extra = {"action": "execution_not_taken_up", "execution_id": execution_id}
        log.exception("an execution cannot be taken up", extra=extra)
