"""Which step each run number of a log is of, at any event: what envelopes need to begin in the middle of a log.

Comes in: the events of one log, in order. Goes out: the names that `Envelopes` would have had after an event, if it
had been fed from the first on.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

from noetl.engine.events import Event, LoopStarted, StepScheduled
from noetl.projections.words import Words

NAME_BYTES = 100
NEVER = 2**32 - 1


class RunNames:
    """The run numbers of one log."""

    def __init__(self, names: Words) -> None:
        self._names = names
        self._began = array("I")
        self._ended = array("I")
        self._runs = array("I")
        self._steps = array("I")
        self._open: dict[int, int] = {}

    @property
    def size_bytes(self) -> int:
        return 16 * len(self._runs) + NAME_BYTES * len(self._open)

    def begin(self, seq: int, event: StepScheduled | LoopStarted) -> None:
        self.end(seq, event)  # a loop says again what its step run said
        self._open[event.run] = len(self._runs)
        self._runs.append(event.run)
        self._steps.append(self._names.number(event.step))
        self._began.append(seq)
        self._ended.append(NEVER)

    def end(self, seq: int, event: Event) -> None:
        place = self._open.pop(event.run, None)
        if place is not None:
            self._ended[place] = seq

    def at(self, seq: int) -> dict[int, str]:
        """The step of each run that had begun, and not ended, after an event."""
        begun = bisect_right(self._began, seq)
        return {
            self._runs[place]: self._names[self._steps[place]] for place in range(begun) if self._ended[place] > seq
        }
