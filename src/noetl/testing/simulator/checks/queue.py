"""I9: the queue is the projection of the logs; I12: whatever is live has a job, a child, or a wait with a name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from noetl.engine import events as facts
from noetl.engine.commands import Key
from noetl.engine.events import Event
from noetl.stores.contract import RUNNING
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks.job_book import JobBook
from noetl.testing.simulator.checks.log_book import LogBook
from noetl.testing.simulator.checks.view import JobSeen, View

SECONDS_OFF_MAX = 0.001
Books = Mapping[int, LogBook]


def check_queue(books: Books, jobs: Mapping[Key, JobSeen]) -> None:
    """I9: the same jobs, and the same of them parked, for the same child, until the same time."""
    expected = {
        (book.execution_id, *place): job
        for book in books.values()
        if not book.is_ended and book.incident == "none"
        for place, job in book.jobs.items()
    }
    if expected.keys() != jobs.keys():
        lost = [key for key in expected if key not in jobs]
        foreign = [key for key in jobs if key not in expected]
        key = (lost or foreign)[0]
        raise Violation("I9", f"the queue lacks {lost[:5]} and has {foreign[:5]} that no log has", key[0])
    for key, job in expected.items():
        if problem := _difference(job, jobs[key]):
            raise Violation("I9", f"job {key}: {problem}", key[0])


def _difference(job: JobBook, seen: JobSeen) -> str:
    if seen.is_for_child != bool(job.child_key):
        return f"by the log it waits for child {job.child_key or 'none'}, by the queue for {seen.child_key or 'none'}"
    if seen.child_key is not None and seen.child_key != job.child_key:
        return f"it waits for child {job.child_key!r}, by the queue for {seen.child_key!r}"
    is_parked = job.until and not job.child_key and not seen.lease and seen.ready_at is not None
    if is_parked and abs((seen.ready_at or 0.0) - job.until) > SECONDS_OFF_MAX:
        return f"it waits until {job.until}, by the queue until {seen.ready_at}"
    return ""


def check_moving(book: LogBook, is_followed: bool | None) -> None:
    """I12, right after a commit. `is_followed`: somebody said that he follows it up; None: nobody has to say so."""
    if book.status != RUNNING or book.jobs:
        return
    if not book.is_ours_to_move:
        book.fail("I12", "it is running, but has no job and waits for nothing that has a name")
    if is_followed is False:
        book.fail("I12", "it has no job, and no server said that it follows it up")


def check_children(book: LogBook, events: Iterable[Event], children: Collection[str]) -> None:
    """I12: whoever waits for a child has one since the same commit."""
    if book.incident == "open" or not any(isinstance(one, facts.TaskWaiting) and one.child for one in events):
        return
    for job in book.jobs.values():
        if job.child_key and job.child_key not in children:
            book.fail("I12", f"it waits for child {job.child_key}, which there is not")


def unfollowed(books: Books, view: View) -> Iterator[tuple[LogBook, Violation]]:
    """Executions that have no job and are marked as nobody's, each with what is wrong about it."""
    for row in view.rows():
        book = books.get(row.execution.id)
        if book is not None and row.is_followed is not None:
            try:
                check_moving(book, row.is_followed)
            except Violation as found:
                yield book, found
