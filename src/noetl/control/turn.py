"""One batch in the making: each operation decided in order, what follows in other executions included, then one commit.

What goes wrong with one operation hurts its execution only: its state is rebuilt, and the fault is recorded there as an
incident. What goes wrong with the commit ends the batch, and so does a store that cannot be reached on the way there:
nothing is wrong with any execution then. The pump (intake.py) deals with that.

From its first look at an execution to the end of the batch a turn works on the same state, whatever others do to the
memory of the process meanwhile.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.control.catalog import Loaded
from noetl.control.live import Executions, Live
from noetl.control.planning import BadPlan
from noetl.control.shares import Share, append_of, snapshot_of
from noetl.control.sitting import Sitting
from noetl.engine import commands as ops
from noetl.engine.apply import apply
from noetl.engine.commands import LEADS_ON, BlobMade, Change, Key, Operation
from noetl.engine.decide import decide
from noetl.engine.state import INCIDENT, State
from noetl.errors import PASSING, InternalError, NoetlError
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE
from noetl.results.contract import Results
from noetl.stores.contract import Batch, Execution, HeadMoved

# Whoever forks an incident goes on from there. All else is asked again when it is taken up.
IN_AN_INCIDENT = (ops.Cancel, ops.Recover, ops.Signal, ops.Incident, ops.Fork)
OF_THE_LIVING = (ops.Expire, ops.ChildEnded)  # for what is going on: what has ended is not read again for them
Word = str | InternalError  # what whoever asked is told
log = logging.getLogger("noetl.control.turn")


class Answer(Protocol):
    """Where the word for one operation goes: a future, or one place among several (`Tally`)."""

    def done(self) -> bool: ...
    def set_result(self, result: str, /) -> None: ...
    def set_exception(self, exception: BaseException, /) -> None: ...
    def exception(self) -> BaseException | None: ...


class Asked(msgspec.Struct):
    """An operation and who waits for its answer."""

    operation: Operation
    answer: Answer | None = None
    cause: int = 0  # the execution whose decision asked for it, if one did
    asked_at: float = 0.0


class Unloadable(Exception):
    """An execution cannot be brought into memory, so that nothing can be decided for it."""


class Faulty(Exception):
    """The engine failed on an operation."""

    def __init__(self, share: Share, operation: Operation, message: str) -> None:
        super().__init__(message)
        self.share = share
        self.operation = operation
        self.message = message


class Follower(msgspec.Struct, frozen=True):
    """Who acts on what follows from events. `within`: more operations for the same batch; `after`: once it stands."""

    within: Callable[[Change], Any]  # a coroutine that gives further operations
    after: Callable[[list[Change]], None]


class Parts(Protocol):
    """What deciding a batch needs of the pump."""

    sitting: Sitting
    results: Results
    executions: Executions
    clock: Clock
    follower: Follower | None


class Turn:
    """One batch in the making. `held`: executions as their logs have them, if the sitting has brought them up."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.held: dict[int, Live] = {}
        self.shares: dict[int, Share] = {}
        self.changes: list[Change] = []
        self.blobs: dict[str, bytes] = {}
        self.accepted: list[ops.Report] = []
        self.recovered: set[int] = set()  # executions that were taken up, whose jobs may be at work already
        self._called: set[str] = set()  # the parent keys of children that begin in this batch
        self._heard: dict[tuple[Key, int], int] = {}  # of each lease, the report of this batch that was accepted
        self.answers: list[tuple[Asked, Word]] = []

    async def decide_all(self, batch: list[Asked]) -> None:
        """Each operation in arrival order; then what they lead to in other executions, in the same batch."""
        waiting = deque(batch)
        while waiting:
            asked = waiting.popleft()
            operation = asked.operation
            try:
                reported = self._reported(operation) if isinstance(operation, ops.Report) else None
                word, changes = reported if reported is not None else await self._decide(operation)
            except Unloadable as unloadable:
                waiting.extendleft(self._unloaded(asked, unloadable))
                continue
            except Faulty as faulty:
                word, changes = await self._faulted(faulty)
            self.answers.append((asked, word))
            following: list[Asked] = []
            for change in self._note(changes):
                following.extend(await self._followed(change, operation.execution_id))
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
        except PASSING:
            raise
        except Exception as error:
            return [_fault_of(execution_id, error, change)]
        return [Asked(operation, cause=execution_id) for operation in operations if not self._has_begun(operation)]

    def _has_begun(self, operation: Operation) -> bool:
        """Whether it is the start of a child that begins in this batch already, which the store does not know yet."""
        return isinstance(operation, ops.Start) and operation.parent_key in self._called

    def _note(self, changes: Sequence[Change]) -> list[Change]:
        """What is to be done with the commit; gives what leads on in this batch."""
        leading = []
        for change in changes:
            if isinstance(change, BlobMade):
                self.blobs[change.sha256] = change.data
                continue
            self.changes.append(change)
            if type(change) in LEADS_ON:
                leading.append(change)
        return leading

    def _reported(self, report: ops.Report) -> tuple[Word, list[Change]] | None:
        """Decide a report, which most operations are; None: its execution is not in memory. Raises Faulty."""
        word = self._judge(report)
        if word != ACCEPTED:
            return word, []
        if not self._is_about_something(report):
            return STALE, []
        live = self.held.get(report.execution_id) or self.parts.executions.known(report.execution_id)
        if live is None:
            return None
        self.held[report.execution_id] = live
        if live.state.is_ended or _is_late(live.state, report):
            return STALE, []
        changes = self._decided(live, report)
        self._accept(report)
        return ACCEPTED, changes

    def _accept(self, report: ops.Report) -> None:
        self.accepted.append(report)
        self._heard[report.key, report.lease] = report.n

    async def _decide(self, operation: Operation) -> tuple[Word, list[Change]]:
        """Decide anything, with what has to be read for it."""
        if not self._is_about_something(operation):
            return STALE, []
        live = await self._live(operation)
        if isinstance(operation, ops.Report):
            return self._reported(operation) or (STALE, [])
        if live.state.is_ended or _is_late(live.state, operation):
            return STALE, []
        if isinstance(operation, ops.Planned):
            operation = await self._extended(live, operation)
        try:
            changes = self._decided(live, operation)
        except Faulty as faulty:
            return await self._faulted(faulty)
        if isinstance(operation, ops.Recover):
            self.recovered.add(operation.execution_id)
        return ACCEPTED, changes

    def _is_about_something(self, operation: Operation) -> bool:
        if not self.parts.sitting.is_current(operation):
            return False
        if not isinstance(operation, OF_THE_LIVING):
            return True
        execution_id = operation.execution_id
        return execution_id in self.held or self.parts.executions.is_going_on(execution_id)

    def _judge(self, report: ops.Report) -> str:
        """Whether a report counts; the queue hears of this batch's reports only once they stand."""
        is_heard = report.n <= self._heard.get((report.key, report.lease), 0)
        return DUPLICATE if is_heard else self.parts.sitting.judge(report)

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
        execution_id = operation.execution_id
        if isinstance(operation, ops.Start) and execution_id in self.held:
            raise HeadMoved("the id of an execution was given twice")  # one of the two must not be said to have begun
        try:
            if isinstance(operation, ops.Start):
                self.held[execution_id] = await self._new(operation)
            elif execution_id not in self.held:
                self.held[execution_id] = await self.parts.executions.get(execution_id)
        except PASSING:
            raise
        except Exception as error:
            raise Unloadable from error
        return self.held[execution_id]

    async def _new(self, start: ops.Start) -> Live:
        now = self.parts.clock.now()
        self.parts.executions.forget(start.execution_id)  # of a history that a failover lost, under the same id
        loaded: Loaded = await self.parts.executions.catalog.loaded(start.sha, [])
        live = Live(state=State(execution_id=start.execution_id), loaded=loaded, folder=start.folder)
        prefix = start.prefix if isinstance(start, ops.Fork) else []
        for event in prefix:
            apply(live.state, event)
        if prefix:
            await self.parts.executions.complete(live)
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
        self.shares[start.execution_id] = Share(live, 1, list(prefix), row)
        if start.parent_key is not None:
            self._called.add(start.parent_key)
        return live

    def _decided(self, live: Live, operation: Operation) -> list[Change]:
        """What the engine says to it. Raises Faulty: the engine failed, and the state may be half changed."""
        execution_id = operation.execution_id
        share = self.shares.get(execution_id)
        if share is None:
            share = self.shares[execution_id] = Share(live, live.state.seq + 1, [])
        try:
            decision = decide(live.loaded.playbook, live.loaded.net, live.state, operation, self.parts.clock.now())
        except NoetlError as error:
            raise Faulty(share, operation, str(error)) from error
        except Exception as error:
            log.exception(
                "engine fault", extra={"action": "engine_fault", "execution_id": execution_id}, exc_info=error
            )
            raise Faulty(share, operation, f"{type(error).__name__} while deciding") from error
        share.events.extend(decision.events)
        return decision.changes

    async def _faulted(self, faulty: Faulty) -> tuple[Word, list[Change]]:
        """A fault of the engine becomes an incident of this execution alone. Nothing of the operation is recorded, so
        that nobody may be told that it is."""
        changes = await self._incident(faulty.share, faulty.operation, faulty.message)
        return STALE if isinstance(faulty.operation, ops.Report) else InternalError(faulty.message), changes

    async def _incident(self, share: Share, operation: Operation, message: str) -> list[Change]:
        """Rebuild what this operation half changed, and record the fault."""
        execution_id = operation.execution_id
        if share.row is not None and isinstance(operation, ops.Start):  # a fork too: its prefix alone is no execution
            self._unbegin(share.row)
            raise Unloadable from InternalError(message)
        rebuilt = await self.parts.executions.rebuilt(execution_id, share.events)
        share.live.state, share.live.loaded = rebuilt.state, rebuilt.loaded
        incident = ops.Incident(execution_id=execution_id, message=f"{message} ({type(operation).__name__})")
        live = share.live
        decision = decide(live.loaded.playbook, live.loaded.net, live.state, incident, self.parts.clock.now())
        share.events.extend(decision.events)
        return decision.changes

    def _unbegin(self, row: Execution) -> None:
        """It never began, and nothing says what it was to do: it is refused, as if it had not been asked for."""
        del self.shares[row.id], self.held[row.id]
        self.parts.executions.forget(row.id)
        if row.parent_key is not None:
            self._called.discard(row.parent_key)

    async def commit(self) -> None:
        """Blobs first, then everything in one transaction."""
        for data in self.blobs.values():
            await self.parts.results.store(data)
        self.shares = {key: share for key, share in self.shares.items() if share.events}
        batch = Batch(
            snapshots=[snapshot for share in self.shares.values() if (snapshot := snapshot_of(share))],
            executions=[share.row for share in self.shares.values() if share.row is not None],
            appends=[append_of(execution_id, share) for execution_id, share in self.shares.items()],
        )
        buggify("pump.commit")
        await self.parts.sitting.commit(batch, self)


def _is_late(state: State, operation: Operation) -> bool:
    """Whether it comes too late: an incident waits for people, and a job may have ended earlier in this batch."""
    if isinstance(operation, ops.Report):
        run = state.runs.get(operation.run)
        if run is None or operation.iter not in run.jobs:
            return True
    return state.status == INCIDENT and not isinstance(operation, IN_AN_INCIDENT)


def _fault_of(execution_id: int, error: BaseException, what: Change | Operation) -> Asked:
    """A fault on the way to other executions, as an incident of the one it comes from."""
    log.error("engine fault", extra={"action": "engine_fault", "execution_id": execution_id}, exc_info=error)
    message = str(error) if isinstance(error, NoetlError) else type(error).__name__
    return Asked(ops.Incident(execution_id=execution_id, message=f"{message} ({type(what).__name__})"))
