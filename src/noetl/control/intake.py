"""The pump: the only code that appends to a log. All that is asked is queued here and committed in batches.

    submit ─→ [operations] ─→ decide each, in order ─→ store blobs ─→ one commit ─→ answer, hand out, follow up

It takes all that is queued and does not wait for more: while one commit is under way, the next batch collects itself.
Nothing is answered and nobody is told before the commit. If a commit fails, every execution of the batch is forgotten
(the log has it) and the callers are told. A fault of the engine in one execution becomes an incident of that one; the
batch goes on (protocol §5).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from noetl.clock import Clock
from noetl.control.live import Executions
from noetl.control.turn import Asked, Follower, Turn
from noetl.engine import commands as ops
from noetl.engine.commands import Change, Operation
from noetl.engine.events import Event
from noetl.queues.contract import Queue
from noetl.results.contract import Results
from noetl.stores.contract import Store

OPERATIONS_MAX = 1024
IN_AN_INCIDENT = (ops.Cancel, ops.Recover, ops.Signal, ops.Incident)  # all else is asked again when it is taken up
OF_THE_LIVING = (ops.Expire, ops.ChildEnded)  # for what is in memory: what is not there does not wait for it
SNAPSHOT_EVENTS = 10_000
SNAPSHOT_BYTES_MAX = 4 * 1024 * 1024
log = logging.getLogger("noetl.control.intake")
encode = msgspec.json.Encoder().encode

Observer = Callable[[int, int, list[Event]], None]


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

    def post(self, operation: Operation, answer: asyncio.Future[str] | None = None) -> None:
        """Ask for something without waiting for an answer."""
        self._asked.append(Asked(operation, answer))
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
