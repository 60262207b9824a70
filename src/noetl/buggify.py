"""Places where a simulator may make the product behave unusually, though legally, or strike it.

Whatever happens at a point is something that may happen anyway, only seldom: a small batch, a cold cache, a beat left
out, a process that dies at that very moment. Outside a simulator nothing does: there is no hook then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Point(NamedTuple):
    """A place in the code. `is_moment`: nothing depends on the answer; it is a time at which to be struck."""

    name: str
    meaning: str
    is_moment: bool = False


POINTS = (
    # The pump, around the numbered steps of protocol §5.
    Point("pump.begin", "before a batch's transaction begins", is_moment=True),
    Point("pump.locked", "rows are locked and reports fenced; memory is not up to the log yet", is_moment=True),
    Point("pump.opened", "the batch holds its executions, as their logs have them", is_moment=True),
    Point("pump.decided", "all is decided, in memory only", is_moment=True),
    Point("pump.commit", "large values are stored, and the commit is about to be asked for", is_moment=True),
    Point("pump.committed", "it stands in the log, and nobody knows", is_moment=True),
    Point("pump.concluded", "those who waited have their answers", is_moment=True),
    Point("pump.batch_of_one", "a batch has one operation, whatever waits"),
    Point("pump.batch_of_three", "a batch has at most three operations"),
    Point("pump.careful", "a batch is not decided before its rows are locked, though memory may know the answer"),
    # What memory keeps, and how it is made again.
    Point("snapshot.often", "a log gets a snapshot every few events"),
    Point("executions.forget", "all executions but one are forgotten, and read again from their logs"),
    Point("log.read_in_threes", "a log is read three events at a time"),
    Point("ids.few", "execution ids are reserved for one execution"),
    # The way to workers.
    Point("handout.none", "a new job is not handed to the poll that waits for it, but written as ready"),
    Point("claim.one", "a poll claims one job, though it has room for more"),
    Point("poll.short", "a poll does not wait"),
    Point("doorbell.silent", "no other server is told of ready jobs"),
    Point("answer.in_parts", "a small answer is kept to be fetched, as large ones are"),
    # Servers, looking after what is due.
    Point("sweep.rows_few", "a look of the sweep finds one row at most"),
    Point("follow.slow", "what follows from a decision is asked for late"),
    # Workers.
    Point("heartbeat.skip", "one heartbeat is left out"),
    Point("report.at_once", "each task is reported when it has ended"),
    Point("report.late", "what a job has to report waits for seconds while its tool runs"),
    Point("park.early", "a job is given back for a short wait, as it is for a long one"),
)

hook: Callable[[str], bool] | None = None  # set by a simulator, for as long as it runs


def buggify(point: str) -> bool:
    """Whether to behave unusually here."""
    return hook is not None and hook(point)
