"""The iterations of loops, by index: when each began and ended, how, and how many attempts it took.

Comes in: the events of one log, in order. An iteration is four places in arrays, 21 bytes; those that have not begun
are none. Iterations begin in order (I6), so a place is an index; those that a fork does again keep theirs. Bounded: of
more than ITERATIONS_MAX the first of each loop are kept, and all are counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noetl.engine.events import (
    Event,
    LoopIterationCancelled,
    LoopIterationDone,
    LoopIterationFailed,
    LoopIterationStarted,
    LoopReopened,
    LoopStarted,
    TaskStarted,
)
from noetl.projections.words import Words

ITERATIONS_MAX = 1_000_000
IN_FLIGHT, DONE, FAILED, CANCELLED, NOT_STARTED = range(5)
STATUSES = ("in_flight", "done", "failed", "cancelled", "not_started")
ITERATION_BYTES, LOOP_BYTES, NOTE_BYTES = 21, 1000, 150


class Iteration(NamedTuple):
    """One iteration."""

    number: int  # its index
    status: int
    started_at: float | None = None
    ended_at: float | None = None
    attempts: int = 0
    error: int = 0  # a number of `Words`
    inner_run: int = 0


class Loop:
    """The iterations of one loop."""

    def __init__(self, step: str, total: int) -> None:
        self.step = step
        self.total = total
        self.counts = [0, 0, 0, 0]  # by status
        self.statuses = bytearray()
        self.started = array("d")
        self.ended = array("d")
        self.attempts = array("I")
        self.errors: dict[int, int] = {}
        self.inner_runs: dict[int, int] = {}

    @property
    def not_started(self) -> int:
        return max(self.total - sum(self.counts), 0)

    @property
    def is_cut(self) -> bool:
        return sum(self.counts) > len(self.statuses)

    def cut_short(self, ts: float) -> None:
        place = -1
        while (place := self.statuses.find(IN_FLIGHT, place + 1)) >= 0:
            self.statuses[place], self.ended[place] = CANCELLED, ts
        self.counts[CANCELLED] += self.counts[IN_FLIGHT]
        self.counts[IN_FLIGHT] = 0

    def after(self, index: int, status: int | None) -> Iterator[Iteration]:
        """Those from an index on, all or of one status."""
        place = index
        while 0 <= (place := self._next(place, status)) < len(self.statuses):
            yield self._iteration(place)
            place += 1
        if status in (None, NOT_STARTED) and not self.is_cut:
            for waiting in range(max(len(self.statuses), index), self.total):
                yield Iteration(waiting, NOT_STARTED)

    def _next(self, place: int, status: int | None) -> int:
        return place if status is None else self.statuses.find(status, place)

    def _iteration(self, index: int) -> Iteration:
        status = self.statuses[index]
        return Iteration(
            index,
            status,
            None if status == NOT_STARTED else self.started[index],
            None if status in (IN_FLIGHT, NOT_STARTED) else self.ended[index],
            self.attempts[index],
            self.errors.get(index, 0),
            self.inner_runs.get(index, 0),
        )


class Iterations:
    """The loops of one execution, by run: an inner loop has a run of its own."""

    def __init__(self, messages: Words) -> None:
        self.loops: dict[int, Loop] = {}
        self._messages = messages
        self._kept = 0
        self._notes = 0

    @property
    def size_bytes(self) -> int:
        return ITERATION_BYTES * self._kept + LOOP_BYTES * len(self.loops) + NOTE_BYTES * self._notes

    def begin_loop(self, _seq: int, event: LoopStarted) -> None:
        self.loops[event.run] = Loop(event.step, event.count)
        outer = self.loops.get(event.parent_run) if event.parent_run else None
        if outer is not None and 0 <= event.parent_iter < len(outer.statuses):
            outer.inner_runs[event.parent_iter] = event.run
            self._notes += 1

    def begin(self, _seq: int, event: LoopIterationStarted) -> None:
        loop = self.loops.get(event.run)
        if loop is None:
            return
        loop.counts[IN_FLIGHT] += 1
        if event.iter < len(loop.statuses):
            loop.statuses[event.iter], loop.started[event.iter] = IN_FLIGHT, event.ts
            return
        if event.iter != len(loop.statuses) or self._kept >= ITERATIONS_MAX:
            return
        self._kept += 1
        loop.statuses.append(IN_FLIGHT)
        loop.started.append(event.ts)
        loop.ended.append(0.0)
        loop.attempts.append(0)

    def attempt(self, _seq: int, event: TaskStarted) -> None:
        if event.iter >= 0:
            loop = self.loops.get(event.run)
            if loop is not None and event.iter < len(loop.attempts):
                loop.attempts[event.iter] += 1

    def done(self, _seq: int, event: LoopIterationDone) -> None:
        self._end(event, DONE)

    def failed(self, _seq: int, event: LoopIterationFailed) -> None:
        loop = self._end(event, FAILED)
        if loop is not None and 0 <= event.iter < len(loop.statuses):
            loop.errors[event.iter] = self._messages.message(event.error)
            self._notes += 1

    def cancelled(self, _seq: int, event: LoopIterationCancelled) -> None:
        self._end(event, CANCELLED)

    def reopened(self, _seq: int, event: LoopReopened) -> None:
        """Of a fork: it is to be done again."""
        loop = self.loops.get(event.run)
        if loop is None or event.iter < 0:
            return
        loop.counts[IN_FLIGHT] -= 1
        if event.iter < len(loop.statuses):
            loop.statuses[event.iter] = NOT_STARTED

    def cut_runs(self, runs: Iterable[int], ts: float) -> None:
        """Runs have ended, and with them what was in flight in their loops."""
        for loop in [self.loops[run] for run in runs if run in self.loops]:
            if loop.counts[IN_FLIGHT]:
                loop.cut_short(ts)

    def _end(self, event: Event, status: int) -> Loop | None:
        loop = self.loops.get(event.run)
        if loop is None:
            return None
        loop.counts[IN_FLIGHT] -= 1
        loop.counts[status] += 1
        if 0 <= event.iter < len(loop.statuses):
            loop.statuses[event.iter] = status
            loop.ended[event.iter] = event.ts
        return loop
