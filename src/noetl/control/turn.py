"""One batch in the making: each operation decided in order, what follows in other executions included, then one commit.

What goes wrong with one operation hurts its execution only: its state is rebuilt, and the fault is recorded there as an
incident. What goes wrong with the commit ends the batch; the pump (intake.py) deals with that.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from noetl.clock import Clock
from noetl.control.catalog import Loaded
from noetl.control.live import Executions, Live
from noetl.control.planning import BadPlan
from noetl.engine import commands as ops
from noetl.engine.commands import BlobMade, Change, Key, Operation
from noetl.engine.decide import decide, row_status
from noetl.engine.events import Event
from noetl.engine.state import ENGINE_VERSION, INCIDENT, State, canonical, written
from noetl.errors import NoetlError
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE, Queue
from noetl.results.contract import Results
from noetl.stores.contract import Append, Batch, Execution, Snapshot, Store

IN_AN_INCIDENT = (ops.Cancel, ops.Recover, ops.Signal, ops.Incident)  # all else is asked again when it is taken up
OF_THE_LIVING = (ops.Expire, ops.ChildEnded)  # for what is in memory: what is not there does not wait for it
SNAPSHOT_EVENTS = 10_000
SNAPSHOT_BYTES_MAX = 4 * 1024 * 1024
log = logging.getLogger("noetl.control.turn")
encode = msgspec.json.Encoder().encode


class Committed(msgspec.Struct):
    """One log's share of a batch."""

    live: Live
    first_seq: int
    events: list[Event]
    row: Execution | None = None  # of a new execution


class Asked(msgspec.Struct):
    """An operation and who waits for its answer."""

    operation: Operation
    answer: asyncio.Future[str] | None = None
    cause: int = 0  # the execution whose decision asked for it, if one did


class Unloadable(Exception):
    """An execution cannot be brought into memory, so that nothing can be decided for it."""


class Follower(msgspec.Struct, frozen=True):
    """Who acts on what follows from events. `within`: more operations for the same batch; `after`: once it stands."""

    within: Callable[[Change], Any]  # a coroutine that gives further operations
    after: Callable[[list[Change]], None]


class Parts(Protocol):
    """What deciding a batch needs of the pump."""

    store: Store
    queue: Queue
    results: Results
    executions: Executions
    clock: Clock
    follower: Follower | None


class Turn:
    """One batch in the making."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.shares: dict[int, Committed] = {}
        self.changes: list[Change] = []
        self.blobs: dict[str, bytes] = {}
        self.accepted: list[ops.Report] = []
        self._heard: dict[tuple[Key, int], int] = {}  # of each lease, the report of this batch that was accepted
        self.answers: list[tuple[Asked, str]] = []

    async def decide_all(self, batch: list[Asked]) -> None:
        """Each operation in arrival order; then what they lead to in other executions, in the same batch."""
        waiting = deque(batch)
        while waiting:
            asked = waiting.popleft()
            try:
                word, changes = await self._decide(asked.operation)
            except Unloadable as unloadable:
                waiting.extendleft(self._unloaded(asked, unloadable))
                continue
            self.answers.append((asked, word))
            following: list[Asked] = []
            for change in changes:
                self._note(change)
                following.extend(await self._followed(change, asked.operation.execution_id))
            waiting.extendleft(reversed(following))  # before anything else: a cancel finds the children there are

    def _unloaded(self, asked: Asked, unloadable: Unloadable) -> list[Asked]:
        """Whoever waits is told; if another execution's decision asked for it, that one cannot go on."""
        error = unloadable.__cause__ or unloadable
        if asked.answer is not None and not asked.answer.done():
            asked.answer.set_exception(error)
            asked.answer.exception()  # whoever waits gets it; nobody has to
        return [_fault_of(asked.cause, error, asked.operation)] if asked.cause else []

    async def _followed(self, change: Change, execution_id: int) -> list[Asked]:
        """What a change leads to in this batch; a fault on the way is an incident of the execution it comes from."""
        if self.parts.follower is None:
            return []
        try:
            operations = await self.parts.follower.within(change)
        except Exception as error:
            return [_fault_of(execution_id, error, change)]
        return [Asked(operation, cause=execution_id) for operation in operations]

    def _note(self, change: Change) -> None:
        if isinstance(change, BlobMade):
            self.blobs[change.sha256] = change.data
        else:
            self.changes.append(change)

    async def _decide(self, operation: Operation) -> tuple[str, list[Change]]:
        is_report = isinstance(operation, ops.Report)
        if is_report:
            word = self._judge(operation)  # type: ignore[arg-type]  # it is one
            if word != ACCEPTED:
                return word, []
        if isinstance(operation, OF_THE_LIVING) and self.parts.executions.known(operation.execution_id) is None:
            return STALE, []
        live = await self._live(operation)
        is_refused = live.state.status == INCIDENT and not isinstance(operation, IN_AN_INCIDENT)
        if live.state.is_ended or is_refused:
            return STALE, []
        if isinstance(operation, ops.Planned):
            operation = await self._extended(live, operation)
        changes = await self._guarded(live, operation)
        if isinstance(operation, ops.Report) and live.state.status != INCIDENT:
            self.accepted.append(operation)
            self._heard[operation.key, operation.lease] = operation.n
        return ACCEPTED, changes

    def _judge(self, report: ops.Report) -> str:
        """Whether a report counts; the queue hears of this batch's reports only once they stand."""
        is_heard = report.n <= self._heard.get((report.key, report.lease), 0)
        return DUPLICATE if is_heard else self.parts.queue.judge(report)

    async def _extended(self, live: Live, planned: ops.Planned) -> ops.Planned:
        """The graph grows before the decision; a plan that does not fit any more is refused."""
        run = live.state.runs.get(planned.run)
        if planned.error or run is None or not run.is_planning:
            return planned
        try:
            await self.parts.executions.extend(live, planned.steps)
        except BadPlan as error:
            return msgspec.structs.replace(planned, steps=[], error=error.as_data())
        return planned

    async def _live(self, operation: Operation) -> Live:
        try:
            if isinstance(operation, ops.Start):
                return await self._new(operation)
            return await self.parts.executions.get(operation.execution_id)
        except Exception as error:
            raise Unloadable from error

    async def _new(self, start: ops.Start) -> Live:
        now = self.parts.clock.now()
        loaded: Loaded = await self.parts.executions.catalog.loaded(start.sha, [])
        live = Live(state=State(execution_id=start.execution_id), loaded=loaded, folder=start.folder)
        self.parts.executions.add(live)
        row = Execution(
            id=start.execution_id,
            sha=start.sha,
            path=start.path,
            version=start.version,
            folder=start.folder,
            request_key=start.request_key,
            parent_id=start.parent_execution_id,
            parent_key=start.parent_key,
            created_at=now,
        )
        self.shares[start.execution_id] = Committed(live, 1, [], row)
        return live

    async def _guarded(self, live: Live, operation: Operation) -> list[Change]:
        """Decide; a fault of the engine becomes an incident of this execution alone."""
        execution_id = operation.execution_id
        share = self.shares.get(execution_id)
        if share is None:
            share = self.shares[execution_id] = Committed(live, live.state.seq + 1, [])
        now = self.parts.clock.now()
        try:
            decision = decide(live.loaded.playbook, live.loaded.net, live.state, operation, now)
        except NoetlError as error:
            return await self._incident(share, operation, str(error))
        except Exception as error:
            log.exception(
                "engine fault", extra={"action": "engine_fault", "execution_id": execution_id}, exc_info=error
            )
            return await self._incident(share, operation, f"{type(error).__name__} while deciding")
        share.events.extend(decision.events)
        return decision.changes

    async def _incident(self, share: Committed, operation: Operation, message: str) -> list[Change]:
        """Rebuild what this operation half changed, and record the fault."""
        execution_id = operation.execution_id
        if share.row is not None and not share.events:  # it never began: as if it had been refused
            share.live.state = State(execution_id=execution_id)
        else:
            rebuilt = await self.parts.executions.rebuilt(execution_id, share.events)
            share.live.state, share.live.loaded = rebuilt.state, rebuilt.loaded
        incident = ops.Incident(execution_id=execution_id, message=f"{message} ({type(operation).__name__})")
        live = share.live
        decision = decide(live.loaded.playbook, live.loaded.net, live.state, incident, self.parts.clock.now())
        share.events.extend(decision.events)
        return decision.changes

    async def commit(self) -> None:
        """Blobs first, then everything in one transaction."""
        for data in self.blobs.values():
            await self.parts.results.store(data)
        self.shares = {key: share for key, share in self.shares.items() if share.events}
        if not self.shares:
            return
        batch = Batch(
            snapshots=[snapshot for share in self.shares.values() if (snapshot := snapshot_of(share))],
            executions=[share.row for share in self.shares.values() if share.row is not None],
            appends=[append_of(execution_id, share) for execution_id, share in self.shares.items()],
        )
        await self.parts.store.commit(batch)


def _fault_of(execution_id: int, error: BaseException, what: Change | Operation) -> Asked:
    """A fault on the way to other executions, as an incident of the one it comes from."""
    log.error("engine fault", extra={"action": "engine_fault", "execution_id": execution_id}, exc_info=error)
    message = str(error) if isinstance(error, NoetlError) else type(error).__name__
    return Asked(ops.Incident(execution_id=execution_id, message=f"{message} ({type(what).__name__})"))


def append_of(execution_id: int, share: Committed) -> Append:
    state = share.live.state
    return Append(
        execution_id=execution_id,
        first_seq=share.first_seq,
        events=share.events,
        status=row_status(state),
        ended_at=state.ended_at or None,
        digest=digest(state) if state.is_ended else "",
    )


def snapshot_of(share: Committed) -> Snapshot | None:
    """A cache of a long log's state, now and then; not of one in which much is in flight over a large ctx."""
    state = share.live.state
    if state.is_ended or state.seq // SNAPSHOT_EVENTS == (share.first_seq - 1) // SNAPSHOT_EVENTS:
        return None
    jobs = sum(len(run.jobs) for run in state.runs.values())
    if jobs * len(encode(state.ctx)) > SNAPSHOT_BYTES_MAX:
        return None
    return Snapshot(execution_id=state.execution_id, seq=state.seq, engine=ENGINE_VERSION, body=written(state))


def digest(state: State) -> str:
    """A fingerprint of a whole state: two that fold the same log have the same."""
    return hashlib.sha256(canonical(state)).hexdigest()
