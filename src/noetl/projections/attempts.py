"""The attempts of tasks, one record each, as they began.

Comes in: the events of one log, in order. An attempt is 72 bytes in one long row of bytes, since a loop of ten thousand
iterations has tens of thousands of them; names and messages are numbers of `Words`. What began is packed when it
begins, the rest when it ends. Bounded: of more than ATTEMPTS_MAX the first are kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from noetl.engine.events import ChildDone, Event, TaskDone, TaskStarted, TaskWaiting
from noetl.projections.words import Words

ATTEMPTS_MAX = 400_000
BEGINNING = Struct("<IIiIIIId")  # seq, run, iteration, task, kind, visit, attempt, when
ENDING = Struct("<BB?xIIiIdd")  # status, do, has a reference, seq, to, rule, error, delay, when
RECORD_BYTES = BEGINNING.size + ENDING.size
SEQ, ITERATION = Struct("<I"), Struct("<i")
ITERATION_AT = 8  # bytes into a record
RUNNING, OK, ERROR, WAITING, SKIPPED, CANCELLED = range(6)
STATUSES = ("running", "ok", "error", "waiting", "skipped", "cancelled")
DOS = ("", "continue", "retry", "jump", "break", "fail", "skip")
DO_NUMBERS = {do: number for number, do in enumerate(DOS)}
STATUS = Struct("<B")
OPEN = ENDING.pack(RUNNING, 0, False, 0, 0, -1, 0, 0.0, 0.0)
RUN_BYTES = 200  # of the index of a run


class Attempt(NamedTuple):
    """One attempt, as it is packed; names and messages are numbers of `Words`."""

    seq_started: int
    run: int
    iteration: int  # -1: of no loop
    task: int
    kind: int
    visit: int
    attempt: int
    started_at: float
    status: int
    do: int
    has_ref: bool
    seq_ended: int  # 0: it has not ended
    to: int
    rule: int
    error: int
    delay_seconds: float
    ended_at: float


class Attempts:
    """The attempts of one execution."""

    def __init__(self, names: Words, messages: Words) -> None:
        self.count = 0
        self.is_cut = False
        self._names = names
        self._messages = messages
        self._records = bytearray()
        self._open: dict[tuple[int, int], int] = {}  # by run and iteration: a pipeline has one task at once
        self._of_runs: dict[int, array[int]] = {}  # run: its attempts, in order

    @property
    def size_bytes(self) -> int:
        return len(self._records) + 4 * self.count + RUN_BYTES * (len(self._of_runs) + len(self._open))

    # --- taking in ---------------------------------------------------------------------------------------------------

    def begin(self, seq: int, event: TaskStarted) -> None:
        if self.count >= ATTEMPTS_MAX:
            self.is_cut = True
            return
        run, number = event.run, self._names.number
        self._records += BEGINNING.pack(
            seq, run, event.iter, number(event.task), number(event.kind), event.visit, event.attempt, event.ts
        )
        self._records += OPEN
        self._open[run, event.iter] = self.count
        of_run = self._of_runs.get(run)
        if of_run is None:
            of_run = self._of_runs[run] = array("I")
        of_run.append(self.count)
        self.count += 1

    def end(self, seq: int, event: TaskDone) -> None:
        found = self._open.pop((event.run, event.iter), None)
        if found is None:
            return
        output, error = event.output, event.error
        status, has_ref = OK, False
        if output is not None:
            has_ref = bool(output.get("ref"))
            error = error or output.get("error")
            status = ERROR if output.get("status") == "error" else OK
        if event.do == "skip":
            status = SKIPPED
        elif event.error is not None:
            status = ERROR
        ENDING.pack_into(
            self._records,
            found * RECORD_BYTES + BEGINNING.size,
            status,
            DO_NUMBERS.get(event.do, 0),
            has_ref,
            seq,
            self._names.number(event.to),
            event.rule,
            self._messages.message(error) if error else 0,
            event.delay_seconds,
            event.ts,
        )

    def park(self, _seq: int, event: TaskWaiting) -> None:
        self._mark(event, WAITING)

    def unpark(self, _seq: int, event: ChildDone) -> None:
        self._mark(event, RUNNING)

    def _mark(self, event: Event, status: int) -> None:
        found = self._open.get((event.run, event.iter))
        if found is not None:
            STATUS.pack_into(self._records, found * RECORD_BYTES + BEGINNING.size, status)

    def cut_short(self, seq: int, event: Event) -> None:
        """An iteration, or a step run without a loop, has ended: what it had under way gives no answer any more."""
        if self._open:
            self._cut(self._open.pop((event.run, event.iter), None), seq, event.ts)

    def cut_runs(self, runs: Collection[int], seq: int, ts: float) -> None:
        """The same for whole runs: that of a loop, and those of the loops inside."""
        for key in [key for key in self._open if key[0] in runs]:
            self._cut(self._open.pop(key), seq, ts)

    def _cut(self, found: int | None, seq: int, ts: float) -> None:
        if found is not None:
            end = (CANCELLED, 0, False, seq, 0, -1, 0, 0.0, ts)
            ENDING.pack_into(self._records, found * RECORD_BYTES + BEGINNING.size, *end)

    # --- giving out --------------------------------------------------------------------------------------------------

    def after(self, seq: int, run: int | None, iteration: int | None) -> Iterator[Attempt]:
        """Those that began after an event: all, or of one run, or of one iteration."""
        numbers: Sequence[int] = range(self.count) if run is None else self._of_runs.get(run, ())
        first = bisect_right(numbers, seq, key=self._seq_of)
        for place in range(first, len(numbers)):
            number = numbers[place]
            if iteration is None or self._iteration_of(number) == iteration:
                yield self._attempt(number)

    def _seq_of(self, number: int) -> int:
        seq: int = SEQ.unpack_from(self._records, number * RECORD_BYTES)[0]
        return seq

    def _iteration_of(self, number: int) -> int:
        iteration: int = ITERATION.unpack_from(self._records, number * RECORD_BYTES + ITERATION_AT)[0]
        return iteration

    def _attempt(self, number: int) -> Attempt:
        start = number * RECORD_BYTES
        began = BEGINNING.unpack_from(self._records, start)
        return Attempt(*began, *ENDING.unpack_from(self._records, start + BEGINNING.size))
