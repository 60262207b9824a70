"""The pump: the only code that appends to a log. All that is asked is queued here and committed in batches.

    submit ─→ [operations] ─→ decide each, in order ─→ store blobs ─→ one commit ─→ answer, hand out, follow up

It takes all that is queued and does not wait for more: while one commit is under way, the next batch collects itself.
Nothing is answered and nobody is told before the commit. If a commit fails, every execution of the batch is forgotten
(the log has it). A fault of the engine in one execution becomes an incident of that one; the batch goes on
(protocol §5). What a commit's failure means depends on who pumps: a run of one process ends with it; a server tells
whoever waits to ask again, and goes on (`is_lasting`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.control.live import Executions
from noetl.control.metrics import NOTHING, Meters
from noetl.control.shares import Share
from noetl.control.sitting import Sitting
from noetl.control.tally import Place, Tally, refuse
from noetl.control.turn import Answer, Asked, Follower, Turn
from noetl.engine import commands as ops
from noetl.engine.commands import Operation
from noetl.engine.events import Event
from noetl.errors import PASSING, STORE_AWAY, InternalError, Unreachable
from noetl.results.contract import Results
from noetl.stores.contract import HeadMoved, Store, Unforeseen

OPERATIONS_MAX = 1024
WAITING_MAX = 20_000  # operations that somebody waits for; whoever comes then is told to come again
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.05, 2.0
TOO_MUCH = "this server has more to do than it can take in; ask again in a moment"
TAKEN_MAX = 10  # times in a row that a child's id may be taken
log = logging.getLogger("noetl.control.intake")

Observer = Callable[[int, int, list[Event]], None]


class Intake:
    """See above."""

    def __init__(
        self,
        *,
        store: Store,
        sitting: Sitting,
        results: Results,
        executions: Executions,
        clock: Clock,
        observer: Observer,
        meters: Meters = NOTHING,
        is_lasting: bool = False,
        on_taken: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_taken`: told when the id of an execution that a batch began was another's."""
        self.store = store
        self.sitting = sitting
        self.results = results
        self.executions = executions
        self.clock = clock
        self.observer = observer
        self.meters = meters
        self.is_lasting = is_lasting
        self.on_taken = on_taken
        self.follower: Follower | None = None
        self.failure: BaseException | None = None
        self.turn = asyncio.Lock()  # while it is free, states in memory are as their logs
        self._asked: deque[Asked] = deque()
        self._bell = asyncio.Event()
        self._pause_seconds = 0.0
        self._taken: Counter[int] = Counter()  # how often in a row an execution met an id that was taken
        self.is_busy = False

    # --- asking ------------------------------------------------------------------------------------------------------

    def submit(self, operation: Operation) -> asyncio.Future[str]:
        """Ask for something; the answer comes when it is committed."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if self.failure is not None:
            refuse(answer, self.failure)
        elif self.is_lasting and len(self._asked) >= WAITING_MAX:
            refuse(answer, Unreachable(TOO_MUCH))
        else:
            self.post(operation, answer)
        return answer

    def submit_all(self, operations: Sequence[Operation]) -> asyncio.Future[list[str]]:
        """Ask for several things at once; the answers come together, or one error for all of them."""
        tally = Tally(len(operations))
        if self.failure is not None:
            refuse(tally.words, self.failure)
        elif self.is_lasting and len(self._asked) >= WAITING_MAX:
            refuse(tally.words, Unreachable(TOO_MUCH))
        else:
            asked_at = self.clock.monotonic()
            self._asked.extend(
                Asked(operation, Place(tally, index), asked_at=asked_at) for index, operation in enumerate(operations)
            )
            self._bell.set()
        return tally.words

    def post(self, operation: Operation, answer: Answer | None = None) -> None:
        """Ask for something without waiting for an answer."""
        self._asked.append(Asked(operation, answer, asked_at=self.clock.monotonic()))
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
                batch = [self._asked.popleft() for _ in range(min(len(self._asked), operations_max()))]
                self.is_busy = True
                try:
                    await self.step(batch)
                finally:
                    self.is_busy = False
                if self._pause_seconds:
                    await self.clock.sleep(self._pause_seconds)

    # --- one batch ---------------------------------------------------------------------------------------------------

    async def step(self, batch: list[Asked]) -> None:
        """Decide and commit one batch, answer, and let follow what follows."""
        begun_at = self.clock.monotonic()
        turn = Turn(self)
        try:
            async with self.turn:
                try:
                    buggify("pump.begin")
                    turn.held = await self.sitting.open([asked.operation for asked in batch])
                    buggify("pump.opened")
                    await turn.decide_all(batch)
                    buggify("pump.decided")
                    await turn.commit()
                    buggify("pump.committed")
                except BaseException:
                    self._forget(turn, batch)  # first: whatever becomes of giving up, memory is not ahead of the log
                    await self.sitting.abandon()
                    raise
                self._conclude(turn)
                buggify("pump.concluded")
        except Exception as error:
            await self._recovered(batch, error)
            return
        self._pause_seconds = 0.0
        for execution_id in turn.shares if self._taken else ():
            self._taken.pop(execution_id, None)
        self._measure(turn, batch, begun_at)

    def _conclude(self, turn: Turn) -> None:
        self.sitting.conclude(turn)
        for share in turn.shares.values():
            self._tell(share)
            if share.live.state.is_ended:
                self.executions.forget(share.live.state.execution_id)
        for asked, word in turn.answers:
            if asked.answer is None or asked.answer.done():
                continue
            if isinstance(word, InternalError):
                refuse(asked.answer, word)
            else:
                asked.answer.set_result(word)
        if self.follower:
            self.follower.after(turn.changes)

    def _tell(self, share: Share) -> None:
        """What stands is not undone by whoever looks on: a server goes on without having told them."""
        try:
            self.observer(share.live.state.execution_id, share.first_seq, share.events)
        except Exception:
            if not self.is_lasting:
                raise
            extra = {"action": "observer_failed", "execution_id": share.live.state.execution_id}
            log.exception("what was committed could not be told to whoever watches", extra=extra)

    def _measure(self, turn: Turn, batch: list[Asked], begun_at: float) -> None:
        meters = self.meters
        if meters is NOTHING:
            return
        events = sum(len(share.events) for share in turn.shares.values())
        meters.committed(
            operations=len(batch),
            events=events,
            seconds=self.clock.monotonic() - begun_at,
            wait_seconds=begun_at - batch[0].asked_at,
        )
        for asked, word in turn.answers:
            if isinstance(asked.operation, ops.Report):
                meters.judged(str(word))
        if started := sum(share.row is not None for share in turn.shares.values()):
            meters.started(started)
        for share in turn.shares.values():
            meters.recorded(share.live.state.execution_id, share.events)
            if share.live.state.is_ended:
                meters.ended(share.live.state.status)

    def _forget(self, turn: Turn, batch: list[Asked]) -> None:
        """Only the log knows what stands of the batch: forget what memory made of it, and all of what began in it."""
        for execution_id, share in turn.shares.items():
            if share.row is not None:
                self.executions.forget(execution_id)
        for execution_id in (*turn.shares, *(asked.operation.execution_id for asked in batch)):
            self.executions.drop(execution_id)

    # --- when a batch does not stand ---------------------------------------------------------------------------------

    async def _recovered(self, batch: list[Asked], error: Exception) -> None:
        if isinstance(error, Unforeseen):
            await self.step(batch)  # and looks first this time
            return
        self.meters.refused(operations=len(batch))
        is_passing = isinstance(error, PASSING)
        if is_passing and not self.is_lasting:
            self._end(batch, error)
        elif not isinstance(error, STORE_AWAY) and len({subject_of(asked) for asked in batch}) > 1:
            await self._one_by_one(batch)
        elif is_passing:
            self._put_off(batch, error)
        elif isinstance(error, HeadMoved) and isinstance(batch[0].operation, ops.Start):
            _refuse_all(batch, error)  # another execution has its key, or its id
        elif isinstance(error, HeadMoved) and self._is_id_taken(batch[0].operation.execution_id):
            self._put_off(batch, Unreachable("the id of a child was taken; ask again"))
        elif self.is_lasting:
            self._isolate(batch, error)
        else:
            self._end(batch, error)

    async def _one_by_one(self, batch: list[Asked]) -> None:
        """Something in the batch cannot be written: each execution by itself, so that it hurts that one only."""
        groups: dict[tuple[int, bool], list[Asked]] = {}
        for asked in batch:
            groups.setdefault(subject_of(asked), []).append(asked)
        for group in groups.values():
            await self.step(group)

    def _put_off(self, batch: list[Asked], error: Exception) -> None:
        """Whoever waits asks again; what nobody waits for is ours to do, later."""
        self._pause_seconds = min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, self._pause_seconds * 2))
        extra = {"action": "commit_refused", "operations": len(batch)}
        log.warning("a batch could not be committed, and is asked again: %s", error, extra=extra)
        _refuse_all(batch, error)
        self._asked.extendleft(reversed([asked for asked in batch if asked.answer is None]))
        self._bell.set()

    def _is_id_taken(self, execution_id: int) -> bool:
        """Whether to try with other ids for its children: after a failover they may have been given twice."""
        self._taken[execution_id] += 1
        self.on_taken()
        return self.is_lasting and self._taken[execution_id] <= TAKEN_MAX

    def _isolate(self, batch: list[Asked], error: Exception) -> None:
        """One execution cannot be written: it waits as an incident, and the others go on."""
        execution_id = batch[0].operation.execution_id
        extra = {"action": "engine_fault", "execution_id": execution_id}
        log.error("an execution cannot be written", extra=extra, exc_info=error)
        _refuse_all(batch, error)
        if not any(isinstance(asked.operation, ops.Incident | ops.Start) for asked in batch):
            message = f"{type(error).__name__} while recording"
            self.post(ops.Incident(execution_id=execution_id, message=message))

    def _end(self, batch: list[Asked], error: Exception) -> None:
        """Leave nobody waiting: what was asked meanwhile will not be decided either."""
        self.failure = error
        _refuse_all([*batch, *self._asked], error)
        raise error


def subject_of(asked: Asked) -> tuple[int, bool]:
    """What an operation is about. A start is about an execution that nobody knows yet: if its id was given twice, what
    else is asked under that id is about another one."""
    return asked.operation.execution_id, isinstance(asked.operation, ops.Start)


def operations_max() -> int:
    """How many operations the next batch may have."""
    if buggify("pump.batch_of_one"):
        return 1
    return 3 if buggify("pump.batch_of_three") else OPERATIONS_MAX


def _refuse_all(batch: list[Asked], error: Exception) -> None:
    for asked in batch:
        if asked.answer is not None and not asked.answer.done():
            refuse(asked.answer, error)
