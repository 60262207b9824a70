"""What follows from events outside their own log: children, parents, stored lists, plans, timers, the doorbell.

Within a batch: a child is created in the transaction that records who waits for it, and its end reaches the parent in
the transaction that records it (TL-04). After a batch: whatever needs the disk or time, each ending in an operation.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

import msgspec

from noetl.control.calls import awaited_child, child_ended, refused, version_of
from noetl.control.catalog import Catalog
from noetl.control.live import Executions, folded
from noetl.control.planning import BadPlan, new_steps, steps_of
from noetl.control.stored_lists import StoredLists
from noetl.dsl.model import Step
from noetl.engine import commands as ops
from noetl.engine.commands import Change, Key, Operation
from noetl.engine.output import Error
from noetl.engine.state import State
from noetl.errors import STORE_AWAY, NoetlError, ResultError
from noetl.references import reference_of
from noetl.stores.contract import INCIDENT, LIVE, Execution, Store

CHILD_DEPTH_MAX = 32
log = logging.getLogger("noetl.control.follow")

NewId = Callable[[], Awaitable[int]]
StandIn = Callable[[ops.ChildWanted, str], list[Operation] | None]  # of a rehearsal: what comes in place of a child


class Pump(Protocol):
    """Where operations go (`control.intake`, `control.pumps`)."""

    executions: Executions

    def post(self, operation: Operation, answer: asyncio.Future[str] | None = None) -> None: ...


class Following:
    """See above."""

    def __init__(self, *, intake: Pump, catalog: Catalog, store: Store, lists: StoredLists, new_id: NewId) -> None:
        self.intake = intake
        self.catalog = catalog
        self.store = store
        self.lists = lists
        self.new_id = new_id
        self.set_timer: Callable[[ops.TimerSet], None] = lambda _timer: None
        self.ring: Callable[[], None] = lambda: None
        self.revoke: Callable[[Key], None] = lambda _key: None
        self.stand_in: StandIn = lambda _wanted, _folder: None
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order they were begun: it shows when they stop
        self._reads: dict[tuple[int, int], asyncio.Future[str]] = {}  # by run: the answer to the element it is given
        self._within: dict[type[Change], Callable[[Any], Awaitable[list[Operation]]]] = {
            ops.ChildWanted: self._start_child,
            ops.ParentTold: self._tell_parent,
            ops.ChildrenCancelled: self._cancel_children,
            ops.ChildDropped: self._cancel_child,
        }
        self._after: dict[type[Change], Callable[[Any], Coroutine[Any, Any, Operation]]] = {
            ops.ListWanted: self._collect,
            ops.CountWanted: self._count,
            ops.PlanWanted: self._check_plan,
        }

    @property
    def is_idle(self) -> bool:
        return not self._tasks

    # --- within the batch --------------------------------------------------------------------------------------------

    async def within(self, change: Change) -> list[Operation]:
        handler = self._within.get(type(change))
        return await handler(change) if handler else []

    async def _start_child(self, wanted: ops.ChildWanted) -> list[Operation]:
        key = wanted.child["key"]
        existing = await self.store.execution_by_parent(key)
        if existing is not None:
            return await self._reattach(wanted, existing)
        if wanted.depth > CHILD_DEPTH_MAX:
            return [refused(wanted, "limit", f"children may be nested {CHILD_DEPTH_MAX} deep; does one call itself?")]
        parent = await self.intake.executions.get(wanted.key[0])
        if (instead := self.stand_in(wanted, parent.folder)) is not None:
            return instead
        try:
            entry = await self.catalog.find_beside(
                str(wanted.child["path"]), version_of(wanted.child.get("version")), parent.folder
            )
            await self.catalog.loaded(entry.sha, [])
        except STORE_AWAY:
            raise
        except NoetlError as error:
            return [refused(wanted, "child_failed", str(error))]
        return [
            ops.Start(
                execution_id=await self.new_id(),
                path=entry.path,
                version=entry.version,
                sha=entry.sha,
                payload=wanted.child.get("payload") or {},
                folder=parent.folder,
                parent_execution_id=wanted.key[0],
                parent_key=key,
                depth=wanted.depth,
                trace_id=wanted.trace_id,
                parent_span_id=wanted.parent_span_id,
            )
        ]

    async def _reattach(self, wanted: ops.ChildWanted, child: Execution) -> list[Operation]:
        """The caller was taken up again: go on with the child it has, or take what that came to.

        An incident waits for people, whoever else is taken up: `Desk.resume` takes those up, too.
        """
        if child.status == INCIDENT:
            return []
        if child.status in LIVE:
            return [ops.Recover(execution_id=child.id)]
        state = await folded(self.store, child.id)
        return [child_ended(wanted.child["key"], state, wanted.child.get("return_step"))]

    async def _tell_parent(self, told: ops.ParentTold) -> list[Operation]:
        parent = await self.intake.executions.get(told.parent_execution_id)
        wanted = awaited_child(parent.state, told.parent_key)
        if wanted is None:
            return []
        child = State(
            execution_id=told.child_execution_id,
            status=told.result,
            output=told.output,
            outputs=told.outputs,
            error=told.error,
        )
        return [child_ended(told.parent_key, child, wanted.get("return_step"))]

    async def _cancel_children(self, cancelled: ops.ChildrenCancelled) -> list[Operation]:
        parent_id = cancelled.execution_id
        stored = {child.id for child in await self.store.children(parent_id) if child.status in LIVE}
        begun = {
            live.state.execution_id for live in self.intake.executions if live.state.parent_execution_id == parent_id
        }
        reason = "its parent was cancelled or failed"
        return [ops.Cancel(execution_id=child, reason=reason) for child in sorted(stored | begun)]

    async def _cancel_child(self, dropped: ops.ChildDropped) -> list[Operation]:
        stored = await self.store.execution_by_parent(dropped.parent_key)
        found = {stored.id} if stored is not None and stored.status in LIVE else set()
        begun = {
            live.state.execution_id for live in self.intake.executions if live.state.parent_key == dropped.parent_key
        }
        reason = "the task that waited for it has ended"
        return [ops.Cancel(execution_id=child, reason=reason) for child in sorted(found | begun)]

    # --- after the batch ---------------------------------------------------------------------------------------------

    def after(self, changes: list[Change]) -> None:
        for change in changes:
            kind = type(change)
            if kind is ops.JobAdded:
                continue
            if isinstance(change, ops.JobGone):
                if change.is_revoked:
                    self.revoke(change.key)
            elif isinstance(change, ops.TimerSet):
                self.set_timer(change)
            elif isinstance(change, ops.MoreWanted):
                self.intake.post(ops.Continue(execution_id=change.execution_id, run=change.run))
            elif isinstance(change, ops.ElementWanted):
                self._read_next(change)
            elif kind in self._after:
                self._spawn(self._ask(self._after[kind], change), getattr(change, "execution_id", 0))
        self.ring()

    def _read_next(self, wanted: ops.ElementWanted) -> None:
        """One element of a list at a time: when its answer is decided, the loop asks for the next by itself."""
        owner = wanted.execution_id, wanted.run
        live, before = self.intake.executions.known(wanted.execution_id), self._reads.get(owner)
        run = live.state.runs.get(wanted.run) if live else None
        is_next = live is None or (run is not None and run.loop is not None and run.loop.following == wanted.iter)
        if is_next and (before is None or before.done()):  # it may have been asked for and given in one batch
            answer = self._reads[owner] = asyncio.get_running_loop().create_future()
            answer.add_done_callback(lambda answer: self._end_read(owner, answer))
            self._spawn(self._ask(self._read_element, wanted, answer), wanted.execution_id)

    def _end_read(self, owner: tuple[int, int], answer: asyncio.Future[str]) -> None:
        if self._reads.get(owner) is answer:
            del self._reads[owner]

    def _spawn(self, work: Coroutine[Any, Any, None], execution_id: int) -> None:
        """Do something beside the pump, for an execution."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def close(self) -> None:
        """Give up what is done beside the pump: its log says that it is wanted, and whoever goes on with it does it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(
        self,
        handler: Callable[[Any], Coroutine[Any, Any, Operation]],
        change: Change,
        answer: asyncio.Future[str] | None = None,
    ) -> None:
        """Do something slow, and ask for what follows from it; a fault is an incident of that execution."""
        execution_id: int = getattr(change, "execution_id", 0)
        is_wanted = False
        try:
            is_wanted = await self._is_wanted(change)
        finally:
            if not is_wanted and answer is not None:
                answer.cancel()
        if not is_wanted:
            return  # it was cancelled meanwhile
        try:
            operation = await self._done(handler, change)
        except NoetlError as error:
            operation = ops.Incident(execution_id=execution_id, message=str(error))
        except Exception as error:
            fault = f"{type(error).__name__} after {type(change).__name__}"
            log.exception("engine fault", extra={"action": "engine_fault", "execution_id": execution_id})
            operation = ops.Incident(execution_id=execution_id, message=fault)
        self.intake.post(operation, answer)

    async def _is_wanted(self, change: Any) -> bool:
        """Whether what a change asks for is still under way: here whatever is, is in memory, unless a batch failed."""
        executions = self.intake.executions
        if not executions.is_going_on(change.execution_id):
            return False
        return change.run in (await executions.get(change.execution_id)).state.runs

    async def _done(self, handler: Callable[[Any], Coroutine[Any, Any, Operation]], change: Change) -> Operation:
        return await handler(change)

    async def _collect(self, wanted: ops.ListWanted) -> Operation:
        live = await self.intake.executions.get(wanted.execution_id)
        run = live.state.runs[wanted.run]
        count = run.loop.count if run.loop else 0
        said = result_said_of(live.loaded.playbook.steps[run.step])
        try:
            reference = await self.lists.collect(wanted.execution_id, wanted.run, count, said.get("store"))
        except ResultError as error:
            if error.retryable:
                raise  # the work of the iterations is done: nothing is lost by going on later
            return ops.Collected(execution_id=wanted.execution_id, run=wanted.run, error=list_error(error))
        ttl = said.get("ttl")
        if isinstance(ttl, int | float):
            reference = msgspec.structs.replace(reference, ttl=float(ttl))
        return ops.Collected(execution_id=wanted.execution_id, run=wanted.run, ref=reference.as_data())

    async def _count(self, wanted: ops.CountWanted) -> Operation:
        found: dict[str, Any] = {"count": 0, "error": None}
        try:
            found["count"] = await self.lists.count(wanted.execution_id, reference_of(wanted.ref))
        except STORE_AWAY:
            raise
        except (NoetlError, ValueError) as error:
            found["error"] = list_error(error)
        return ops.Counted(execution_id=wanted.execution_id, run=wanted.run, iter=wanted.iter, ref=wanted.ref, **found)

    async def _read_element(self, wanted: ops.ElementWanted) -> Operation:
        live = await self.intake.executions.get(wanted.execution_id)
        loop = live.state.runs[wanted.run].loop
        found: dict[str, Any] = {"element": None, "error": None}
        try:
            reference = reference_of(loop.ref) if loop else None
            found["element"] = await self.lists.element((wanted.execution_id, wanted.run), reference, wanted.iter)
        except STORE_AWAY:
            raise
        except (NoetlError, ValueError) as error:
            found["error"] = list_error(error)
        return ops.ElementRead(execution_id=wanted.execution_id, run=wanted.run, iter=wanted.iter, **found)

    async def _check_plan(self, wanted: ops.PlanWanted) -> Operation:
        live = await self.intake.executions.get(wanted.execution_id)
        try:
            steps = steps_of(wanted.data)
            new_steps(live.loaded, live.state.planned, steps, self.catalog.kinds)
        except BadPlan as error:
            return ops.Planned(execution_id=wanted.execution_id, run=wanted.run, error=error.as_data())
        return ops.Planned(execution_id=wanted.execution_id, run=wanted.run, steps=steps)


def list_error(error: Exception) -> dict[str, Any]:
    kind = getattr(error, "kind", "type")
    return Error(kind=kind, message=str(error), retryable=getattr(error, "retryable", False)).as_data()


def result_said_of(step: Step) -> dict[str, Any]:
    """Where the list of a loop is kept and how long (RS-06, RS-08): as what its iterations give, by its last task."""
    result = step.tasks[-1].spec.get("result") if step.tasks else None
    return result if isinstance(result, dict) else {}
