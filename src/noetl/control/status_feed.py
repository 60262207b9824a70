"""The list of executions, live: the newest rows first, then each row that changes.

What is committed here is seen at once, what other servers commit by looking, each LOOK_SECONDS, at the newest rows and
at those that ended since. A row is told when its status changes, to everybody at once; rows have no order to come back
to, so a client that returns gets the newest ones again. Rests while nobody listens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noetl.clock import Clock
from noetl.control.listening import LOOK_SECONDS, Item, Listener, Listeners, drained, encode
from noetl.control.reading import listed_row
from noetl.errors import OperatorError
from noetl.stores.contract import Execution, Store

ROWS_MAX = 200  # that a look reads, and that a new listener begins with
KNOWN_MAX = 2_000
CLOCKS_SECONDS = 5.0  # by so much the clocks of two servers may differ
PAUSE_SECONDS = 0.1  # between two looks, however much is committed
EXECUTION = "execution"
log = logging.getLogger("noetl.control.status_feed")


class StatusFeed:
    """The rows of one process's store."""

    def __init__(self, store: Store, clock: Clock, listeners: Listeners) -> None:
        self._store = store
        self._clock = clock
        self._all = listeners
        self._listeners: dict[Listener, None] = {}  # in the order they came
        self._known: dict[int, str] = {}  # the status that was told last
        self._moved: set[int] = set()
        self._looked_at = 0.0
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def committed(self, execution_id: int) -> None:
        """After each commit in this process."""
        if self._task is None:
            return
        if len(self._moved) < ROWS_MAX:  # beyond that the newest rows are what counts
            self._moved.add(execution_id)
        self._bell.set()

    async def rows(self) -> AsyncIterator[Item | str]:
        """The newest rows, then those that change; a text at last: why no more come."""
        with self._all.joined() as listener:
            self._join(listener)
            try:
                newest = await self._store.executions(ROWS_MAX)
                for row in newest:
                    self._known.setdefault(row.id, row.status)
                for row in reversed(newest):
                    yield item_of(row)
                async for told in drained(listener):
                    yield told
            finally:
                self._leave(listener)

    @asynccontextmanager
    async def heard(self) -> AsyncIterator[Listener]:
        """Whoever is told the rows that change from now on."""
        with self._all.joined() as listener:
            self._join(listener)
            try:
                for row in await self._store.executions(ROWS_MAX):
                    self._known.setdefault(row.id, row.status)
                listener.forget()  # those are no changes
                yield listener
            finally:
                self._leave(listener)

    def _join(self, listener: Listener) -> None:
        self._listeners[listener] = None
        if self._task is None:
            self._known.clear()
            self._looked_at = self._clock.now()
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._has_ended)

    def _leave(self, listener: Listener) -> None:
        del self._listeners[listener]
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            log.error("the list's feed broke", exc_info=task.exception(), extra={"action": "status_feed_broke"})
            for listener in self._listeners:
                listener.close("the list cannot be read: connect again")

    async def _run(self) -> None:
        while True:
            try:
                await self._look()
            except OperatorError as error:
                log.warning("cannot read the list", extra={"action": "status_feed_waits", "why": str(error)})
            await self._clock.sleep(PAUSE_SECONDS)
            await self._rest()

    async def _rest(self) -> None:
        """Until there is a commit here, or it is time to look for those of others."""
        waits = [asyncio.ensure_future(self._bell.wait()), asyncio.ensure_future(self._clock.sleep(LOOK_SECONDS))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _look(self) -> None:
        """Tell what is new."""
        self._bell.clear()
        moved, self._moved = self._moved, set()
        rows = {row.id: row for row in await self._store.executions(ROWS_MAX)}
        rows |= {row.id: row for row in await self._ended()}
        for execution_id in sorted(moved - set(rows)):
            row = await self._store.execution(execution_id)
            rows |= {row.id: row} if row is not None else {}
        for row in sorted(rows.values(), key=lambda row: row.id):
            if self._known.get(row.id) != row.status:
                self._known[row.id] = row.status
                self._tell(row)
        while len(self._known) > KNOWN_MAX:
            del self._known[next(iter(self._known))]

    async def _ended(self) -> list[Execution]:
        """Those that ended since the last look; clocks of servers differ, so some are seen twice."""
        now, since = self._clock.now(), self._looked_at - CLOCKS_SECONDS
        found = await self._store.ended_executions(since, ROWS_MAX)
        self._looked_at = now if len(found) < ROWS_MAX else (found[-1].ended_at or now)
        return found

    def _tell(self, row: Execution) -> None:
        item = item_of(row)
        for listener in self._listeners:
            listener.put(item)


def item_of(row: Execution) -> Item:
    return Item(0, EXECUTION, encode(listed_row(row)), path=row.path)
