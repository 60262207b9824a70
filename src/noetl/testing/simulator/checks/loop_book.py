"""One loop, as its log tells it: what has begun, what is in flight, what has ended (I6, I7)."""

from __future__ import annotations

from noetl.engine import events as facts
from noetl.engine.events import Event

WINDOW_MAX = 1000  # iterations in flight where a playbook sets none


class LoopBook:
    """See above. Its methods answer with what is wrong, or with nothing."""

    __slots__ = ("cancelled", "count", "done", "failed", "has_inner", "in_flight", "is_best_effort", "next", "window")

    def __init__(self, event: facts.LoopStarted, window: int) -> None:
        self.count = event.count
        self.window = window
        self.is_best_effort = event.is_best_effort
        self.has_inner = event.has_inner
        self.next = 0
        self.in_flight: dict[int, int] = {}  # index: the run of its inner loop, or 0
        self.done = self.failed = self.cancelled = 0

    @property
    def is_closed(self) -> bool:
        """No further iteration may begin."""
        return bool(self.cancelled or (self.failed and not self.is_best_effort))

    @property
    def is_stuck(self) -> bool:
        """Only the server can move it: everything that has begun has ended, or there is room for more."""
        return not self.in_flight or (self.next < self.count and len(self.in_flight) < self.window)

    def begun(self, event: facts.LoopIterationStarted) -> tuple[str, str]:
        """An invariant and what breaks it; two empty strings: it may begin."""
        if event.iter != self.next or event.iter >= self.count:
            return "I6", f"iteration {event.iter} began, but {self.next} of {self.count} is next"
        if self.is_closed:
            return "I6", f"iteration {event.iter} began after one had failed or was cancelled"
        if len(self.in_flight) >= self.window:
            return "I7", f"iteration {event.iter} began with {len(self.in_flight)} in flight, and {self.window} may be"
        self.next += 1
        self.in_flight[event.iter] = 0
        return "", ""

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
        if self.next < self.count and not self.is_closed:
            return f"loop.done came after {self.next} of {self.count} iterations"
        if self.failed and not self.is_best_effort and event.error is None:
            return f"loop.done came though {self.failed} iterations failed"
        return ""
