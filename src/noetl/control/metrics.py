"""What a server measures of itself: the words its parts use. This class hears them and does nothing.

A part gets a `Meters` handed in and tells it what happened, once for each batch, never once for each event. In a
server that is scraped it is a `Prometheus` (`control/prometheus.py`); elsewhere it is this one, so that `noetl run`
imports nothing for it. Times are seconds of the monotonic clock. Nothing here may raise or wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from noetl.engine.events import Event

FIRED, SKIPPED, FAILED = "fired", "skipped", "failed"  # what became of a due time of a schedule


class Meters:
    """See above: a null object, and the contract."""

    # --- pumps -------------------------------------------------------------------------------------------------------

    def committed(self, *, operations: int, events: int, seconds: float, wait_seconds: float = 0.0) -> None:
        """A batch stands: what it held, how long it took, how long its oldest operation had waited before."""

    def refused(self, *, operations: int) -> None:
        """A batch does not stand, or nobody knows: its callers were told to ask again."""

    def judged(self, word: str, count: int = 1) -> None:
        """Reports of a batch that got this answer: ok, dup or stale."""

    def started(self, count: int) -> None:
        """Executions that a batch began."""

    def ended(self, status: str, count: int = 1) -> None:
        """Executions that a batch ended: success, failed, cancelled."""

    def recorded(self, execution_id: int, events: Sequence[Event]) -> None:
        """One log's share of a batch, once it stands: tasks and result bytes are counted from it."""

    # --- handing out -------------------------------------------------------------------------------------------------

    def claimed(self, *, count: int, seconds: float) -> None:
        """A claim was answered by the store with so many jobs; 0: it found none."""

    def handed_out(self, count: int) -> None:
        """Jobs that were written as leased already, for polls that waited."""

    # --- sweeping ----------------------------------------------------------------------------------------------------

    def expired(self, count: int) -> None:
        """Leases that ran out."""

    def lost(self, count: int) -> None:
        """Jobs that were lost too often and failed."""

    # --- at the edges ------------------------------------------------------------------------------------------------

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """A request of HTTP. `route` is the pattern, never the path that was asked for."""

    def scheduled(self, outcome: str, count: int = 1) -> None:
        """Due times of schedules: FIRED, SKIPPED or FAILED."""

    def triggered(self, outcome: str) -> None:
        """A webhook or a message of a trigger: FIRED, SKIPPED (seen before, or too many) or FAILED."""

    def exported(self, *, events: int, lag_seconds: float) -> None:
        """Events were handed to the stream; how old the newest of them is."""

    def traced(self, *, sent: int = 0, dropped: int = 0) -> None:
        """Spans that the collector took, and those that were given up."""


NOTHING = Meters()
