"""What tasks took and what they left behind, counted from the log: workers have no endpoint that could be asked.

Comes in: events that stand, one execution's share of a batch at a time. Goes out: how many tasks of each kind ended in
which way, how long they took, how many bytes of results were stored. Each event is committed by one server, so the
counts of several servers add up. Plain numbers: the metrics are made from them when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from noetl.engine.events import ERROR, SKIPPED, Event, TaskDone, TaskStarted, status_of
from noetl.references import reference_of

OK = "ok"
OUTCOMES = {ERROR: "error", SKIPPED: "skipped"}
SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
UNKNOWN = "unknown"  # its start was reported to another server, or long ago
OTHER = "other"
KINDS_MAX = 64
STARTED_MAX = 100_000


class Spread:
    """How times are spread over SECONDS: `counts` has one place more, for what is above them all."""

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(SECONDS, value)] += 1
        self.total += value


class Tallies:
    """Since the server began."""

    def __init__(self) -> None:
        self.ended: Counter[tuple[str, str]] = Counter()  # by kind and outcome
        self.seconds: dict[str, Spread] = {}  # by kind
        self.result_bytes = 0
        self._kinds: dict[tuple[int, int, int], str] = {}  # of the task under way; a pipeline has one at once

    def apply(self, execution_id: int, events: Sequence[Event]) -> None:
        for event in events:
            kind = type(event)
            if kind is TaskStarted:
                self._begin(execution_id, event)  # type: ignore[arg-type]  # it is one
            elif kind is TaskDone:
                self._end(execution_id, event)  # type: ignore[arg-type]  # it is one

    def _begin(self, execution_id: int, event: TaskStarted) -> None:
        self._kinds[execution_id, event.run, event.iter] = event.kind
        if len(self._kinds) > STARTED_MAX:  # tasks that never ended: their executions did
            del self._kinds[next(iter(self._kinds))]

    def _end(self, execution_id: int, event: TaskDone) -> None:
        kind = self._kinds.pop((execution_id, event.run, event.iter), UNKNOWN)
        if kind not in self.seconds:
            kind = kind if len(self.seconds) < KINDS_MAX else OTHER
            self.seconds.setdefault(kind, Spread())
        self.ended[kind, OUTCOMES.get(status_of(event), OK)] += 1
        if event.output is None:
            return
        self.seconds[kind].add(event.output.get("meta", {}).get("duration_ms", 0.0) / 1000)
        if event.output.get("ref") and (found := reference_of(event.output["ref"])):
            self.result_bytes += found.bytes or 0
