"""What follows from events, on a server that shares its store with others.

A batch locks the executions it is about and no others, so that two servers never wait for each other crosswise: only a
child that is new is written with its caller. Whatever concerns another execution that is there already (its caller, its
children) is asked for once the batch stands, as an operation of that execution. A server that dies in between said so
before: the store has until when it would follow up (`Append.follow_until`), and another one does it then (rescue.py).
Timers are a time in the execution's row, not in anybody's memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from itertools import count
from typing import Any, TypeVar

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.control.calls import awaited_child, child_ended
from noetl.control.catalog import Catalog
from noetl.control.follow import Following, NewId
from noetl.control.handing_out import Settled
from noetl.control.live import Executions, Live, folded
from noetl.control.pumps import Pumps
from noetl.control.stored_lists import StoredLists
from noetl.engine import commands as ops
from noetl.engine.commands import Change, Operation
from noetl.engine.state import State
from noetl.errors import PASSING, NoetlError, ResultError
from noetl.stores.contract import LIVE, Execution
from noetl.stores.shared import SharedStore

RETRY_SECONDS = 1.0
SLOW_SECONDS = 5.0  # of a simulator
TRIES_MAX = 60  # at a place of results that cannot be reached; then the execution waits for people
log = logging.getLogger("noetl.control.shared_following")
Found = TypeVar("Found")


class Insistent:
    """A pump for what nobody waits for: it is asked until it is decided, and counted as long as it is not."""

    def __init__(self, pumps: Pumps, clock: Clock) -> None:
        self.pumps = pumps
        self.executions: Executions = pumps.executions
        self.clock = clock
        self.under_way: Counter[int] = Counter()  # by execution
        self.done: set[int] = set()  # executions of which nothing is left to do; emptied by whoever tells the store
        self._failed: set[int] = set()  # those under way of which something could not be done: they are not done
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order they were begun: it shows when they stop

    def post(self, operation: Operation, answer: asyncio.Future[str] | None = None) -> None:
        self.spawn(self._ask(operation, answer), operation.execution_id)

    def spawn(self, work: Coroutine[Any, Any, None], execution_id: int) -> None:
        self.under_way[execution_id] += 1
        self.done.discard(execution_id)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(lambda task: self._ended(task, execution_id))

    def _ended(self, task: asyncio.Task[None], execution_id: int) -> None:
        """What was not done stays marked in the store, so that it is taken over when its time has passed."""
        del self._tasks[task]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            extra = {"action": "follow_up_failed", "execution_id": execution_id}
            log.error("what follows could not be asked for", extra=extra, exc_info=error)
        if task.cancelled() or error is not None:
            self._failed.add(execution_id)
        self.under_way[execution_id] -= 1
        if not self.under_way[execution_id]:
            del self.under_way[execution_id]
            if execution_id not in self._failed:
                self.done.add(execution_id)
            self._failed.discard(execution_id)

    async def _ask(self, operation: Operation, answer: asyncio.Future[str] | None) -> None:
        try:
            await self.until_decided(operation)
        finally:
            if answer is not None and not answer.done():
                answer.set_result("")

    async def until_decided(self, operation: Operation) -> None:
        """Ask until the store could be written. What is refused for another reason is logged by the pump."""
        if buggify("follow.slow"):
            await self.clock.sleep(SLOW_SECONDS)
        while True:
            try:
                await self.pumps.submit(operation)
                return
            except PASSING:
                await self.clock.sleep(RETRY_SECONDS)
            except NoetlError:
                return

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class SharedFollowing(Following):
    """See above."""

    def __init__(
        self,
        *,
        pump: Insistent,
        catalog: Catalog,
        store: SharedStore,
        lists: StoredLists,
        new_id: NewId,
        settled: Settled,
    ) -> None:
        super().__init__(intake=pump, catalog=catalog, store=store, lists=lists, new_id=new_id)
        self.pump = pump
        self.settled = settled
        self._within = {ops.ChildWanted: self._start_child}
        self._across: dict[type[Change], Callable[[Any], Awaitable[list[Operation]]]] = {
            ops.ParentTold: self._tell_parent,
            ops.ChildrenCancelled: self._cancel_children,
            ops.ChildDropped: self._cancel_child,
        }

    def after(self, changes: list[Change]) -> None:
        super().after(changes)
        for change in changes:
            if type(change) in self._across:
                self._spawn(self._cross(change), subject_of(change))

    def _spawn(self, work: Coroutine[Any, Any, None], execution_id: int) -> None:
        self.pump.spawn(work, execution_id)

    async def _cross(self, change: Change) -> None:
        """Ask other executions for what follows; until they have decided, the one that it follows from waits."""
        for operation in await self._insisted(lambda: self._across[type(change)](change)):
            await self.pump.until_decided(operation)

    async def _insisted(self, do: Callable[[], Awaitable[Found]], tries_max: int | None = None) -> Found:
        """Until the store can be reached, and a place of results too; that may be another's fault, so `tries_max`."""
        tries = count(1)
        while True:
            try:
                return await do()
            except ResultError as error:
                if not error.retryable or next(tries) == tries_max:
                    raise
            except PASSING:
                pass
            await self.pump.clock.sleep(RETRY_SECONDS)

    async def _is_wanted(self, change: Any) -> bool:
        """As the log has it: that an execution is not in memory says nothing here."""
        found: list[bool] = []
        look = partial(self.settled, [change.execution_id], lambda live: found.append(change.run in live.state.runs))
        await self._insisted(look)
        return any(found)

    async def _done(self, handler: Callable[[Any], Awaitable[Operation]], change: Change) -> Operation:
        return await self._insisted(lambda: handler(change), TRIES_MAX)

    async def _tell_parent(self, told: ops.ParentTold) -> list[Operation]:
        child = State(
            execution_id=told.child_execution_id,
            status=told.result,
            output=told.output,
            outputs=told.outputs,
            error=told.error,
        )
        return await self._to_parent(told.parent_execution_id, told.parent_key, child)

    async def _to_parent(self, parent_id: int, parent_key: str, child: State) -> list[Operation]:
        found: list[dict[str, Any]] = []

        def look(live: Live) -> None:
            wanted = awaited_child(live.state, parent_key)
            found.extend([wanted] if wanted is not None else [])

        await self.settled([parent_id], look)
        return [child_ended(parent_key, child, wanted.get("return_step")) for wanted in found]

    async def tell_again(self, child: Execution) -> None:
        """An execution has ended, and the server that should have told its caller may not have done so."""
        if child.parent_id is None or child.parent_key is None:
            return
        parent_id, key = child.parent_id, child.parent_key
        state = await self._insisted(lambda: folded(self.store, child.id))
        for operation in await self._insisted(lambda: self._to_parent(parent_id, key, state)):
            await self.pump.until_decided(operation)

    async def _reattach(self, wanted: ops.ChildWanted, child: Execution) -> list[Operation]:
        """The caller was taken up again. Its child goes on by itself, or waits for people as an incident."""
        return [] if child.status in LIVE else await super()._reattach(wanted, child)


def subject_of(change: Change) -> int:
    """The execution that a change follows from."""
    if isinstance(change, ops.ParentTold):
        return change.child_execution_id
    if isinstance(change, ops.ChildDropped):
        return int(change.parent_key.partition(":")[0])
    return int(getattr(change, "execution_id", 0))
