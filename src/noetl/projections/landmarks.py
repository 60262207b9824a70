"""Events worth a mark on a slider over a log: beginnings and ends, failures, waits, signals.

Fed in order, each event once. It keeps few marks whatever the length of the log: of the sort of which there are most,
every second one goes, so what is rare stays.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from noetl.engine import events as facts
from noetl.engine.events import Event, name_of, timestamp

MARKS_MAX = 500
STEP, FAILURE, WAIT, SIGNAL, LOOP, EXECUTION = "step", "failure", "wait", "signal", "loop", "execution"
SORTS: dict[type[Event], str] = {
    facts.StepScheduled: STEP,
    facts.StepDone: STEP,
    facts.StepSkipped: STEP,
    facts.StepCancelled: STEP,
    facts.StepFailed: FAILURE,
    facts.LoopIterationFailed: FAILURE,
    facts.WorkflowFailing: FAILURE,
    facts.EngineError: FAILURE,
    facts.StepWaiting: WAIT,
    facts.TaskWaiting: WAIT,
    facts.SignalReceived: SIGNAL,
    facts.PlaybookCancelRequested: SIGNAL,
    facts.LoopStarted: LOOP,
    facts.LoopDone: LOOP,
    facts.LoopReopened: LOOP,
    facts.PlaybookExecutionRequested: EXECUTION,
    facts.WorkflowStarted: EXECUTION,
    facts.WorkflowExtended: EXECUTION,
    facts.WorkflowCompensating: EXECUTION,
    facts.ExecutionRecovered: EXECUTION,
    facts.ExecutionForked: EXECUTION,
    facts.WorkflowFinished: EXECUTION,
    facts.PlaybookProcessed: EXECUTION,
}
OF_RUNS = (facts.StepScheduled, facts.LoopStarted)
ENDS_OF_RUNS = (facts.StepDone, facts.StepFailed, facts.StepCancelled, facts.LoopDone)


class Landmark(msgspec.Struct, frozen=True):
    """One mark; `number`: among those of its sort, from 0."""

    seq: int
    ts: float
    name: str
    step: str
    kind: str
    number: int

    def as_data(self) -> dict[str, Any]:
        at, step = timestamp(self.ts), self.step or None
        return {"seq": self.seq, "at": at, "name": self.name, "step": step, "kind": self.kind}


class Landmarks:
    """The marks of one log."""

    def __init__(self) -> None:
        self._kept: list[Landmark] = []
        self._counts: Counter[str] = Counter()  # of each sort, how many there were
        self._strides: dict[str, int] = {}  # of each sort, every how many one is kept; not there: all are
        self._steps: dict[int, str] = {}  # of runs that have not ended

    def apply(self, seq: int, event: Event) -> None:
        sort = SORTS.get(type(event))
        if sort is None:
            return
        step = getattr(event, "step", "") or self._steps.get(event.run, "")
        if isinstance(event, OF_RUNS):
            self._steps[event.run] = step
        elif isinstance(event, ENDS_OF_RUNS):
            self._steps.pop(event.run, None)
        number = self._counts[sort]
        self._counts[sort] += 1
        if number % self._strides.get(sort, 1) == 0:
            self._kept.append(Landmark(seq, event.ts, name_of(event), step, sort, number))
            if len(self._kept) > MARKS_MAX:
                self._thin()

    def _thin(self) -> None:
        """Let every second mark go, of the sort that has most."""
        ((most, _),) = Counter(mark.kind for mark in self._kept).most_common(1)
        stride = self._strides[most] = 2 * self._strides.get(most, 1)
        self._kept = [mark for mark in self._kept if mark.kind != most or mark.number % stride == 0]

    def marks(self) -> list[dict[str, Any]]:
        """At most MARKS_MAX of them, in order."""
        return [mark.as_data() for mark in self._kept]
