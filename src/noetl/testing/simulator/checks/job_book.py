"""One job, as its log tells it: which attempt of which task is open, what comes next, what it waits for (I3).

A job is read strictly: after a retry comes the next attempt of that visit, after everything else the first attempt of
the next visit of the label that the task before named. So no attempt can be recorded twice or out of order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from noetl.engine import events as facts
from noetl.engine.events import Envelope, Event
from noetl.testing.simulator.checks import edges
from noetl.testing.simulator.checks.lineage import seen_by, signature, value_of

END = ""  # the label after the last
Attempt = tuple[str, int, int]  # label, visit, attempt


class JobBook:
    """See above. Its methods answer with what is wrong, or with nothing."""

    __slots__ = (
        "attempt",
        "child_key",
        "lease",
        "leases_before",
        "next_label",
        "opened",
        "previous",
        "until",
        "visits",
    )

    def __init__(self, received: Envelope | None) -> None:
        self.opened: Attempt | None = None
        self.next_label: str | None = None  # None: at the beginning
        self.attempt = 1
        self.visits: dict[str, int] = {}
        self.previous: Any = value_of(received)  # what `_prev` is
        self.lease = 0  # under which it was reported last
        self.leases_before: list[int] = []
        self.until = 0.0  # parked, until then
        self.child_key = ""  # parked, until this child has ended

    @property
    def phase(self) -> str:
        return "open" if self.opened else "idle"

    def reported(self, lease: int) -> str:
        """I2, as far as a log can tell: once another lease was heard, the one before is over."""
        if lease == self.lease:
            return ""
        if lease in self.leases_before:
            return f"it was reported under lease {lease} again, after lease {self.lease}"
        if self.lease:
            self.leases_before.append(self.lease)
        self.lease = lease
        return ""

    def read(self, event: Event, seen: Counter[str]) -> str:
        """Take in what happened to one of its tasks."""
        if edges.JOB.after(self.phase, event, seen) is None:
            return f"{facts.name_of(event)} came while {self._where()}"
        if self.child_key and not isinstance(event, facts.ChildDone):
            return f"{facts.name_of(event)} came while it waits for child {self.child_key}"
        return _READERS[type(event)](self, event, seen)

    def _where(self) -> str:
        return "task {} (visit {}, attempt {}) is open".format(*self.opened) if self.opened else "no task is open"

    def _started(self, event: facts.TaskStarted, _seen: Counter[str]) -> str:
        if self.next_label not in (None, event.task):
            return f"task {event.task!r} began, but {self.next_label!r} is next"
        visit = self.visits.get(event.task, 0) + (1 if self.attempt == 1 else 0)
        if (event.visit, event.attempt) != (visit, self.attempt):
            found = f"visit {event.visit}, attempt {event.attempt}"
            return f"task {event.task} began with {found}, but visit {visit}, attempt {self.attempt} is next"
        self.opened, self.until = (event.task, event.visit, event.attempt), 0.0
        self.visits[event.task] = event.visit
        return ""

    def _done(self, event: facts.TaskDone, seen: Counter[str]) -> str:
        if (event.task, event.visit, event.attempt) != self.opened:
            return f"task {event.task} (visit {event.visit}, attempt {event.attempt}) ended, but {self._where()}"
        if problem := self._lineage(event):
            return problem
        seen[f"task.done: {event.do}"] += 1
        self.opened, self.until = None, 0.0
        self.next_label, self.attempt = (event.task, event.attempt + 1) if event.do == "retry" else (event.to, 1)
        if event.previous:
            self.previous = event.previous[0]
        elif event.output is not None and event.do != "retry":
            self.previous = value_of(event.output)
        return ""

    def _lineage(self, event: facts.TaskDone) -> str:
        """I3: the `_prev` it saw is the result recorded before it."""
        saw, before = seen_by(event.task, event.output), signature(self.previous)
        if saw is None or before is None or saw == before:
            return ""
        return f"task {event.task} saw the result of {saw}, but before it that of {before} is recorded"

    def _waiting(self, event: facts.TaskWaiting, _seen: Counter[str]) -> str:
        if event.child is not None and (event.task, event.visit, event.attempt) != self.opened:
            return f"task {event.task} waits for a child, but {self._where()}"
        self.until, self.child_key = event.until, event.child["key"] if event.child else ""
        return ""

    def _child_done(self, event: facts.ChildDone, _seen: Counter[str]) -> str:
        if not self.child_key:
            return f"child {event.child_execution_id} ended, but it waits for none"
        self.until, self.child_key = 0.0, ""
        return ""

    def ended(self, event: Event, seen: Counter[str]) -> str:
        """Whether it may end so. A failure and a cancel may come at any time, a success only after its last task."""
        names = edges.JOB_ENDS.get(type(event))
        if names is not None:
            seen[names[1 if self.opened else 0]] += 1
            return ""
        if self.opened or self.next_label not in (None, END):
            return f"it ended with {facts.name_of(event)}, but {self._where()} and {self.next_label!r} is next"
        return ""

    def forked(self, execution_id: int) -> None:
        """It goes on in another execution: nobody holds it there, and its child is called anew."""
        self.lease, self.leases_before = 0, []
        if self.child_key:
            self.child_key = f"{execution_id}:{self.child_key.partition(':')[2]}"


_READERS: dict[type[Event], Callable[[JobBook, Any, Counter[str]], str]] = {
    facts.TaskStarted: JobBook._started,
    facts.TaskDone: JobBook._done,
    facts.TaskWaiting: JobBook._waiting,
    facts.ChildDone: JobBook._child_done,
}


class Recorded(msgspec.Struct, frozen=True):
    """An attempt whose end a log has: under which lease, where, and when that was committed."""

    lease: int
    seq: int
    at: float
    error_kind: str = ""
