"""Which events tell why a step ran, waited, was skipped, was passed by or failed: where in the log to look.

Fed in order, each event once. Of a step that was visited often the first and the last visits are kept, and the number
of all. A token is followed from the arcs that made it to the run that took it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from noetl.engine import events as facts
from noetl.engine.events import Event

FIRST_MAX, LAST_MAX = 10, 40
RAN, WAITED, SKIPPED, REFUSED, NOT_REACHED = "ran", "waited", "skipped", "refused", "not_reached"
FAILED = "failed"


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """One event about a step. `sent_by`: the events whose arcs made its tokens; 0: the beginning."""

    seq: int
    ts: float
    happened: str
    run: int = 0
    sent_by: tuple[int, ...] = ()


class Routed(msgspec.Struct, frozen=True, kw_only=True):
    """The arcs of a step were evaluated: which steps got a token."""

    seq: int
    ts: float
    run: int
    targets: frozenset[str]


class Often:
    """Things that may be many: the first few, the last few, and how many there were."""

    def __init__(self) -> None:
        self.first: list[Any] = []
        self.last: deque[Any] = deque(maxlen=LAST_MAX)
        self.count = 0

    def add(self, one: Any) -> None:
        self.count += 1
        if len(self.first) < FIRST_MAX:
            self.first.append(one)
        else:
            self.last.append(one)

    def __iter__(self) -> Iterator[Any]:
        yield from self.first
        yield from self.last


class Visits:
    """The visits of every step of one log."""

    def __init__(self) -> None:
        self.of_steps: dict[str, Often] = {}
        self.routed: dict[str, Often] = {}  # by the step whose arcs they are
        self.failed: dict[str, Often] = {}  # tasks that ended their pipeline badly, by step
        self._tokens: dict[int, int] = {}  # of tokens that wait: the event that made them
        self._last_token = 0

    def apply(self, seq: int, event: Event) -> None:
        look = LOOKS.get(type(event))
        if look is not None:
            look(self, seq, event)

    def _add(self, step: str, visit: Visit) -> None:
        self.of_steps.setdefault(step, Often()).add(visit)

    def _began(self, seq: int, event: facts.WorkflowStarted) -> None:
        self._tokens[event.token] = 0
        self._last_token = event.token

    def _scheduled(self, seq: int, event: facts.StepScheduled) -> None:
        sent_by = tuple(dict.fromkeys(self._tokens.pop(token, 0) for token in event.tokens))
        self._add(event.step, Visit(seq=seq, ts=event.ts, happened=RAN, run=event.run, sent_by=sent_by))

    def _waiting(self, seq: int, event: facts.StepWaiting) -> None:
        sent_by = (self._tokens.get(event.token, 0),)
        self._add(event.step, Visit(seq=seq, ts=event.ts, happened=WAITED, sent_by=sent_by))

    def _skipped(self, seq: int, event: facts.StepSkipped) -> None:
        sent_by = (self._tokens.pop(event.token, 0),)
        self._add(event.step, Visit(seq=seq, ts=event.ts, happened=SKIPPED, sent_by=sent_by))

    def _task_done(self, seq: int, event: facts.TaskDone) -> None:
        step = event.error.get("step") if event.do == "fail" and event.error else None
        if isinstance(step, str):
            visit = Visit(seq=seq, ts=event.ts, happened=FAILED, run=event.run)
            self.failed.setdefault(step, Often()).add(visit)

    def _evaluated(self, seq: int, event: facts.NextEvaluated) -> None:
        targets = frozenset(one.step for one in event.fired if not one.is_duplicate)
        routed = Routed(seq=seq, ts=event.ts, run=event.run, targets=targets)
        self.routed.setdefault(event.step, Often()).add(routed)
        for one in event.fired:
            if not one.is_duplicate:
                self._last_token = one.token or self._last_token + 1
                self._tokens[self._last_token] = seq


LOOKS: dict[type[Event], Any] = {
    facts.WorkflowStarted: Visits._began,
    facts.StepScheduled: Visits._scheduled,
    facts.StepWaiting: Visits._waiting,
    facts.StepSkipped: Visits._skipped,
    facts.TaskDone: Visits._task_done,
    facts.NextEvaluated: Visits._evaluated,
}
