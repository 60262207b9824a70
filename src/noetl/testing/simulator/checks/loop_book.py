"""One loop, as its log tells it: what has begun, what is in flight, what has ended (I6, I7)."""

from __future__ import annotations

from noetl.engine import events as facts
from noetl.engine.events import Event

WINDOW_MAX = 1000  # iterations in flight where a playbook sets none


class LoopBook:
    """See above. Its methods answer with what is wrong, or with nothing."""

    __slots__ = (
        "again",
        "cancelled",
        "count",
        "done",
        "failed",
        "has_inner",
        "in_flight",
        "is_best_effort",
        "next",
        "window",
    )

    def __init__(self, event: facts.LoopStarted, window: int) -> None:
        self.count = event.count
        self.window = window
        self.is_best_effort = event.is_best_effort
        self.has_inner = event.has_inner
        self.next = 0
        self.again: dict[int, int] = {}  # of a fork: put back, with the run of its inner loop, or 0
        self.in_flight: dict[int, int] = {}  # index: the run of its inner loop, or 0
        self.done = self.failed = self.cancelled = 0

    @property
    def is_closed(self) -> bool:
        """No further iteration may begin."""
        return bool(self.cancelled or (self.failed and not self.is_best_effort))

    @property
    def is_stuck(self) -> bool:
        """Only the server can move it: everything that has begun has ended, or there is room for more."""
        return not self.in_flight or (self.is_any_left and len(self.in_flight) < self.window)

    @property
    def is_any_left(self) -> bool:
        return bool(self.again) or self.next < self.count

    def begun(self, event: facts.LoopIterationStarted) -> tuple[str, str]:
        """An invariant and what breaks it; two empty strings: it may begin."""
        is_again = event.iter in self.again
        if not is_again and (event.iter != self.next or event.iter >= self.count):
            return "I6", f"iteration {event.iter} began, but {self.next} of {self.count} is next"
        if self.is_closed:
            return "I6", f"iteration {event.iter} began after one had failed or was cancelled"
        if len(self.in_flight) >= self.window:
            return "I7", f"iteration {event.iter} began with {len(self.in_flight)} in flight, and {self.window} may be"
        self.next += not is_again
        self.in_flight[event.iter] = self.again.pop(event.iter, 0)
        return "", ""

    def reopened(self, index: int) -> str:
        if index not in self.in_flight:
            return f"iteration {index} is reopened, but it is not in flight"
        self.again[index] = self.in_flight.pop(index)
        return ""

    def ended(self, event: Event) -> str:
        if event.iter not in self.in_flight:
            return f"iteration {event.iter} ended with {facts.name_of(event)}, but it is not in flight"
        del self.in_flight[event.iter]
        if isinstance(event, facts.LoopIterationDone):
            self.done += 1
        elif isinstance(event, facts.LoopIterationFailed):
            self.failed += 1
        else:
            self.cancelled += 1
        return ""

    def closed(self, event: facts.LoopDone) -> str:
        """Whether the counts of its boundary are those of its iterations."""
        counts = (self.count, self.done, self.failed, self.count - self.done - self.failed)
        said = (event.total, event.done, event.failed, event.skipped)
        if said != counts:
            return f"loop.done says total, done, failed, skipped {said}, but its iterations give {counts}"
        if self.is_any_left and not self.is_closed:
            return f"loop.done came after {self.next} of {self.count} iterations"
        if self.failed and not self.is_best_effort and event.error is None:
            return f"loop.done came though {self.failed} iterations failed"
        return ""
