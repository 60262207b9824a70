"""What a process that has its store to itself does first: it goes on with everything that the one before it left.

In come the executions that have not ended, out goes a Recover for each. Callers come first, for they take along those
that they wait for (follow.py); what is left then is taken up by itself: its caller has ended, is in an incident, or
waits for it no more, as when both were cancelled and undo their steps. An incident is never taken up here: it waits
for people (`Desk.resume`), or one that ends the process would do so for ever.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
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


async def take_up_all(store: Store, pump: Pump, is_under_way: Callable[[int], bool]) -> None:
    """`is_under_way`: whether this process goes on with an execution already."""
    left = [row.id for status in GOING_ON async for row in _rows(store, status)]
    for execution_id in sorted(left):  # a caller has a lower id than those that it called
        if not is_under_way(execution_id):
            await _take_up(pump, execution_id)


async def _rows(store: Store, status: str) -> AsyncIterator[Execution]:
    before: int | None = None
    wanted = Wanted(statuses=(status,))
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
