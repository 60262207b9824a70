"""Executions at any moment of their logs, soon: each log is read once, and states are kept at intervals along it.

A `History` is one log as far as it was read. The next to ask reads only what came since; a moment in the middle is
folded from the state before it that is nearest. Bounded: a history thins its states out as the log grows, and the
histories that were not asked for longest go when there are too many, or they weigh too much. What is kept is a cache:
the log has it all. A log that has gone back, as after a failover that lost its end, is read anew (`log_heads.py`).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.control.log_heads import LogHeads, Tags
from noetl.engine.apply import apply
from noetl.engine.copies import copy_of
from noetl.engine.events import Event
from noetl.engine.state import Run, State
from noetl.errors import NoetlError, RequestError
from noetl.projections.landmarks import Landmarks
from noetl.projections.visits import Visits
from noetl.stores.contract import Execution, Store
from noetl.stores.shared import Head

HISTORIES_MAX = 32
BYTES_MAX = 128 * 1024 * 1024  # of all that is kept, by estimate
STRIDE = 1000  # events between two states that are kept, at first
STATES_MAX = 128  # of one history
EVENTS_PER_READ = 1000
BYTES_PER_THING = 400  # a token, a run, a job: what it takes besides its data
encode = msgspec.json.Encoder().encode
Fetch = Callable[[int, dict[str, Any]], Awaitable[Any]]  # a payload that is kept outside the log, by its reference


class History:
    """One log, as far as it was read."""

    def __init__(self, execution_id: int) -> None:
        self.state = State(execution_id=execution_id)
        self.landmarks = Landmarks()
        self.visits = Visits()
        self.stride = STRIDE
        self.weight = 0
        self.workloads: dict[bytes, Any] = {}  # what references stand for, once they were fetched
        self.tag = 0  # of the append that what was read ends with
        self._kept: list[State] = [copy_of(self.state)]
        self._weights: list[int] = [0]
        self._last: State | None = None  # where somebody looked last: the next look is near it

    def read(self, rows: list[tuple[int, Event]]) -> None:
        """Take in the events that come next."""
        for seq, event in rows:
            apply(self.state, event)
            self.landmarks.apply(seq, event)
            self.visits.apply(seq, event)
            if seq - self._kept[-1].seq >= self.stride:
                self._keep()

    def _keep(self) -> None:
        made = copy_of(self.state)
        self._kept.append(made)
        self._weights.append(weight_of(made))
        if len(self._kept) > STATES_MAX:
            self.thin()
        self.weight = sum(self._weights)

    def thin(self) -> bool:
        """Let every second state go; False: there is none to let go."""
        if len(self._kept) <= 1:
            return False
        self._kept, self._weights = self._kept[::2], self._weights[::2]
        self.stride *= 2
        self.weight = sum(self._weights)
        return True

    def nearest(self, seq: int) -> State:
        """A state at or before an event, the latest there is, to be folded on."""
        found = self._kept[bisect_right(self._kept, seq, key=_seq_of) - 1]
        if self._last is not None and found.seq < self._last.seq <= seq:
            found = self._last
        if found.seq < self.state.seq <= seq:
            found = self.state
        return copy_of(found)

    def remember(self, state: State) -> None:
        """Keep where somebody looks."""
        self._last = copy_of(state)


def _seq_of(state: State) -> int:
    return state.seq


def weight_of(state: State) -> int:
    """About how many bytes a state holds that no other one shares; a ctx that a thousand jobs see counts once."""
    data: list[Any] = [state.ctx, state.outputs, state.output, state.planned, state.sent, state.error]
    data += [[token.args, token.output] for token in state.tokens.values()]
    data += [[one.args, one.output, one.carried] for one in state.undoable]
    things = len(state.tokens) + len(state.undoable)
    size = len(encode(data))
    for run in state.runs.values():
        size += _weight_of_run(run)
        things += 1 + len(run.jobs) + (len(run.loop.in_flight) + len(run.loop.stretches) if run.loop else 0)
    return size + things * BYTES_PER_THING


def _weight_of_run(run: Run) -> int:
    data: list[Any] = [run.args, run.carried, run.output, run.step_values]
    if run.loop is not None:
        data += [run.loop.items, list(run.loop.elements.values()), list(run.loop.data.values())]
    for job in run.jobs.values():
        progress = job.progress
        data += [progress.outputs, progress.iter, progress.previous, progress.held, progress.child]
    return len(encode(data))


class Kept:
    """The history of one log, and whose turn it is to read on."""

    def __init__(self, execution_id: int) -> None:
        self.history = History(execution_id)
        self.turn = asyncio.Lock()


class Moments:
    """The histories of a store's executions."""

    def __init__(self, store: Store, clock: Clock, fetch: Fetch | None = None, tags: Tags | None = None) -> None:
        """`fetch`: what stands outside a log; `tags`: of a store that several servers write to."""
        self.store = store
        self._clock = clock
        self._fetch = fetch
        self._heads = LogHeads(tags)
        self._kept: dict[int, Kept] = {}  # those used last are at the end

    async def history(self, row: Execution) -> History:
        """A log, read up to the head of its row at least."""
        kept = self._kept.pop(row.id, None) or Kept(row.id)
        self._kept[row.id] = kept
        async with kept.turn:
            head = await self._heads.head_of(row)
            if not await self._heads.follows(kept.history.state.seq, kept.history.tag, head):
                kept.history = History(row.id)
            try:
                await self._read(kept.history, head)
            except BaseException:
                kept.history = History(row.id)  # half of an event may be in it
                raise
            found = kept.history
        self._trim()
        return found

    async def _read(self, history: History, head: Head) -> None:
        while (missing := head.head - history.state.seq) > 0:
            rows = await self.store.events(head.id, history.state.seq, min(missing, EVENTS_PER_READ))
            if not rows:
                break
            history.read(rows)
            await self._clock.sleep(0)  # others have their turn between two reads
        history.tag = head.tag

    def _trim(self) -> None:
        while len(self._kept) > HISTORIES_MAX or (self._weight() > BYTES_MAX and len(self._kept) > 1):
            del self._kept[next(iter(self._kept))]
        only = next(reversed(self._kept.values())).history
        while self._weight() > BYTES_MAX and only.thin():
            pass

    def _weight(self) -> int:
        return sum(kept.history.weight for kept in self._kept.values())

    async def before(self, row: Execution, seq: int | None) -> tuple[History, State, Event]:
        """The state before an event, to do with as one likes, and the event; None: the last one."""
        history = await self.history(row)
        head = history.state.seq
        seq = head if seq is None else seq
        if not 1 <= seq <= head:
            raise RequestError(f"at must be from 1 to {head}, the events of execution {row.id}; found {seq}")
        state = history.nearest(seq - 1)
        event = await self._folded(state, seq)
        history.remember(state)
        await self.complete(history, state)
        return history, state, event

    async def each(self, row: Execution, seqs: Iterable[int]) -> AsyncIterator[tuple[State, Event]]:
        """The state before each of some events, which come in order, and the event. Look, and do not change it."""
        history = await self.history(row)
        state = history.nearest(0)
        for seq in seqs:
            near = history.nearest(seq - 1) if seq - state.seq > history.stride else state
            state = near if near.seq > state.seq else state
            event = await self._folded(state, seq)
            await self.complete(history, state)
            yield state, event

    async def _folded(self, state: State, seq: int) -> Event:
        """Fold a state up to right before an event; gives that event."""
        while True:
            limit = min(seq - state.seq, EVENTS_PER_READ)
            rows = await self.store.events(state.execution_id, state.seq, limit)
            for number, event in rows:
                if number == seq:
                    return event
                apply(state, event)
            if len(rows) < limit:
                raise RequestError(f"execution {state.execution_id} has no event {seq} any more")
            await self._clock.sleep(0)

    async def complete(self, history: History, state: State) -> None:
        """A large workload is kept outside the log, and every template may read it."""
        if state.workload_ref is None or self._fetch is None:
            return
        key = encode(state.workload_ref)
        if key not in history.workloads:
            try:
                history.workloads[key] = await self._fetch(state.execution_id, state.workload_ref)
            except NoetlError:  # it is gone: what reads it is undefined, which is all that can be said
                return
        state.workload = history.workloads[key]
