"""The pump: the only code that appends to a log. All that is asked is queued here and committed in batches.

    submit ─→ [operations] ─→ decide each, in order ─→ store blobs ─→ one commit ─→ answer, hand out, follow up

It takes all that is queued and does not wait for more: while one commit is under way, the next batch collects itself.
Nothing is answered and nobody is told before the commit. If a commit fails, every execution of the batch is forgotten
(the log has it) and the callers are told. A fault of the engine in one execution becomes an incident of that one; the
batch goes on (protocol §5).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

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

OPERATIONS_MAX = 1024
SNAPSHOT_EVENTS = 10_000
SNAPSHOT_BYTES_MAX = 4 * 1024 * 1024
log = logging.getLogger("noetl.control.intake")
encode = msgspec.json.Encoder().encode

Observer = Callable[[int, int, list[Event]], None]


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


class Follower(msgspec.Struct, frozen=True):
    """Who acts on what follows from events. `within`: more operations for the same batch; `after`: once it stands."""

    within: Callable[[Change], Any]  # a coroutine that gives further operations
    after: Callable[[list[Change]], None]


class Intake:
    """See above."""

    def __init__(
        self, *, store: Store, queue: Queue, results: Results, executions: Executions, clock: Clock, observer: Observer
    ) -> None:
        self.store = store
        self.queue = queue
        self.results = results
        self.executions = executions
        self.clock = clock
        self.observer = observer
        self.follower: Follower | None = None
        self.failure: BaseException | None = None
        self._asked: deque[Asked] = deque()
        self._bell = asyncio.Event()
        self.is_busy = False

    # --- asking ------------------------------------------------------------------------------------------------------

    def submit(self, operation: Operation) -> asyncio.Future[str]:
        """Ask for something; the answer comes when it is committed."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if self.failure is not None:
            answer.set_exception(self.failure)
            answer.exception()  # whoever waits gets it; nobody has to
            return answer
        self._asked.append(Asked(operation, answer))
        self._bell.set()
        return answer

    def post(self, operation: Operation) -> None:
        """Ask for something without waiting for an answer."""
        self._asked.append(Asked(operation))
        self._bell.set()

    @property
    def is_idle(self) -> bool:
        return not self._asked and not self.is_busy

    async def run(self) -> None:
        """Pump until cancelled, or until the store can be written no more."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            while self._asked:
                batch = [self._asked.popleft() for _ in range(min(len(self._asked), OPERATIONS_MAX))]
                self.is_busy = True
                try:
                    await self.step(batch)
                finally:
                    self.is_busy = False

    # --- one batch ---------------------------------------------------------------------------------------------------

    async def step(self, batch: list[Asked]) -> None:
        """Decide and commit one batch, answer, and let follow what follows."""
        turn = Turn(self)
        try:
            await turn.decide_all(batch)
            await turn.commit()
            self._conclude(turn)
        except Exception as error:
            self._give_up(turn, batch, error)

    def _conclude(self, turn: Turn) -> None:
        now = self.clock.monotonic()
        for report in turn.accepted:
            self.queue.accept(report, now)
        self.queue.change(self._in_queue_time(turn.changes), now)
        for share in turn.shares.values():
            self.observer(share.live.state.execution_id, share.first_seq, share.events)
            if share.live.state.is_ended:
                self.executions.forget(share.live.state.execution_id)
        for asked, word in turn.answers:
            if asked.answer is not None and not asked.answer.done():
                asked.answer.set_result(word)
        if self.follower:
            self.follower.after(turn.changes)

    def _in_queue_time(self, changes: list[Change]) -> Iterator[Change]:
        """The log tells time by the wall's clock; the queue by one that never jumps."""
        for change in changes:
            if isinstance(change, ops.JobParked) and change.until:
                seconds = max(0.0, change.until - self.clock.now())
                yield msgspec.structs.replace(change, until=self.clock.monotonic() + seconds)
            else:
                yield change

    def _give_up(self, turn: Turn, batch: list[Asked], error: Exception) -> None:
        """Only the log knows what stands of the batch: forget what memory made of it, and leave nobody waiting."""
        for execution_id in turn.shares:
            self.executions.forget(execution_id)
        self.failure = error
        for asked in (*batch, *self._asked):  # what was asked meanwhile will not be decided either
            if asked.answer is not None and not asked.answer.done():
                asked.answer.set_exception(error)
                asked.answer.exception()
        raise error


class Turn:
    """One batch in the making."""

    def __init__(self, intake: Intake) -> None:
        self.intake = intake
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
            word, changes = await self._decide(asked.operation)
            self.answers.append((asked, word))
            following: list[Asked] = []
            for change in changes:
                self._note(change)
                if self.intake.follower:
                    following.extend(Asked(operation) for operation in await self.intake.follower.within(change))
            waiting.extendleft(reversed(following))  # before anything else: a cancel finds the children there are

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
        live = await self._live(operation)
        if live.state.is_ended or (is_report and live.state.status == INCIDENT):
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
        return DUPLICATE if is_heard else self.intake.queue.judge(report)

    async def _extended(self, live: Live, planned: ops.Planned) -> ops.Planned:
        """The graph grows before the decision; a plan that does not fit any more is refused."""
        run = live.state.runs.get(planned.run)
        if planned.error or run is None or not run.is_planning:
            return planned
        try:
            await self.intake.executions.extend(live, planned.steps)
        except BadPlan as error:
            return msgspec.structs.replace(planned, steps=[], error=error.as_data())
        return planned

    async def _live(self, operation: Operation) -> Live:
        if isinstance(operation, ops.Start):
            return await self._new(operation)
        return await self.intake.executions.get(operation.execution_id)

    async def _new(self, start: ops.Start) -> Live:
        now = self.intake.clock.now()
        loaded: Loaded = await self.intake.executions.catalog.loaded(start.sha, [])
        live = Live(state=State(execution_id=start.execution_id), loaded=loaded, folder=start.folder)
        self.intake.executions.add(live)
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
        now = self.intake.clock.now()
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
            rebuilt = await self.intake.executions.rebuilt(execution_id, share.events)
            share.live.state, share.live.loaded = rebuilt.state, rebuilt.loaded
        incident = ops.Incident(execution_id=execution_id, message=f"{message} ({type(operation).__name__})")
        live = share.live
        decision = decide(live.loaded.playbook, live.loaded.net, live.state, incident, self.intake.clock.now())
        share.events.extend(decision.events)
        return decision.changes

    async def commit(self) -> None:
        """Blobs first, then everything in one transaction."""
        for data in self.blobs.values():
            await self.intake.results.store(data)
        self.shares = {key: share for key, share in self.shares.items() if share.events}
        if not self.shares:
            return
        batch = Batch(
            snapshots=[snapshot for share in self.shares.values() if (snapshot := snapshot_of(share))],
            executions=[share.row for share in self.shares.values() if share.row is not None],
            appends=[append_of(execution_id, share) for execution_id, share in self.shares.items()],
        )
        await self.intake.store.commit(batch)


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
