"""Events into a book: a second reader of every log, which shares no rule with the engine.

Events come in, in order, as they are committed; a `Violation` goes out at the first one that cannot be: a gap (I1), a
lease that was over (I2), an attempt out of order (I3), a second end (I4), a run without a token (I5), an index out of
order (I6), a window that is too full (I7), or anything after the end (I11). One small function per event, in a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from noetl.engine import events as facts
from noetl.engine.events import NAMES, Event
from noetl.testing.simulator.checks import loop_reading as loops
from noetl.testing.simulator.checks import net_reading as net
from noetl.testing.simulator.checks.log_book import LogBook, TokenBook

WORKING = ("running", "failing", "cancelled", "compensating")  # in these phases steps may run
OF_THE_EXECUTION = frozenset(  # they have moves of their own
    (
        facts.PlaybookExecutionRequested,
        facts.PlaybookRequestEvaluated,
        facts.WorkflowStarted,
        facts.WorkflowFailing,
        facts.WorkflowCompensating,
        facts.WorkflowFinished,
        facts.PlaybookProcessed,
        facts.PlaybookCancelRequested,
        facts.SignalReceived,
        facts.ExecutionRecovered,
        facts.ExecutionForked,
        facts.EngineError,
    )
)
BROKEN = re.compile(r"(I\d+): ")  # how `errors.BrokenInvariant` begins
UNPLANTED = re.compile(r"(?!RuntimeError )\w+ while (deciding|handing out)")  # worlds plant RuntimeErrors
TAKEN_UP_MAX = 5  # protocol §5
GIVEN_UP = "taken up "  # how the message of an incident begins that says so
IN_AN_INCIDENT = (facts.ExecutionRecovered, facts.PlaybookCancelRequested, facts.SignalReceived, facts.ExecutionForked)


def read_appended(book: LogBook, first_seq: int, events: Iterable[Event], now: float) -> None:
    """Take in what was appended at a time."""
    book.now = now
    if first_seq != book.head + 1:
        book.fail("I1", f"the log ends with event {book.head}, but events from {first_seq} on were appended")
    for event in events:
        read(book, event)


def read(book: LogBook, event: Event) -> None:
    book.head += 1
    book.times.append(book.now)
    kind = type(event)
    book.names[NAMES[kind]] += 1
    if book.phase not in WORKING or book.incident == "open":
        _check_open(book, event)
    if event.lease:
        _check_report(book, event)
    _check_taken_up(book, event)
    HANDLERS[kind](book, event)


def _check_open(book: LogBook, event: Event) -> None:
    """I11: nothing follows the end, nothing comes before the beginning, and an incident waits."""
    name = facts.name_of(event)
    if book.phase == "ended" or (book.phase == "finished" and not isinstance(event, facts.PlaybookProcessed)):
        book.fail("I11", f"{name} follows the end")
    if book.incident == "open" and not isinstance(event, IN_AN_INCIDENT):
        book.fail("I11", f"{name} came though it waits as an incident")
    if type(event) not in OF_THE_EXECUTION:
        book.fail("I11", f"{name} came while the execution is {book.phase}")


def _check_report(book: LogBook, event: Event) -> None:
    """I4: a worker speaks only of a job that there is; I2: under one lease after the other."""
    book.events_under[event.run, event.iter, event.lease] += 1
    job = book.jobs.get((event.run, event.iter))
    if job is None:
        book.fail("I4", f"{facts.name_of(event)} of run {event.run}, iteration {event.iter}, which has no job")
    if problem := job.reported(event.lease):
        book.fail("I2", f"run {event.run}, iteration {event.iter}: {problem}")


# --- the execution ---------------------------------------------------------------------------------------------------


def _requested(book: LogBook, event: facts.PlaybookExecutionRequested) -> None:
    book.move(event)
    book.sha = event.sha


def _workflow_started(book: LogBook, event: facts.WorkflowStarted) -> None:
    book.move(event)
    book.new_token(event.token, TokenBook(event.entry))


def _finished(book: LogBook, event: facts.WorkflowFinished) -> None:
    if book.tokens or book.runs:
        book.fail("I11", f"it finished with tokens {sorted(book.tokens)} and runs {sorted(book.runs)} on the net")
    book.move(event)
    book.result = event.result


def _processed(book: LogBook, event: facts.PlaybookProcessed) -> None:
    book.move(event)
    if event.result != book.result:
        book.fail("I11", f"it was processed as {event.result}, but finished as {book.result}")


def _cancel_requested(book: LogBook, event: facts.PlaybookCancelRequested) -> None:
    book.move(event)
    if book.incident == "open":
        book.move_incident(event)
    if book.cancelled_at is None:
        book.cancelled_at = book.now


def _compensating(book: LogBook, event: facts.WorkflowCompensating) -> None:
    book.move(event)
    if event.runs != list(reversed(book.undoable)):
        book.fail("I5", f"runs {event.runs} are to be undone, but {list(reversed(book.undoable))} can be, last first")
    book.undoing = list(event.runs)


def _signal(book: LogBook, event: facts.SignalReceived) -> None:
    book.signalled.update(patch.path for patch in event.patches)
    book.write(event.patches)


def _forked(book: LogBook, event: facts.ExecutionForked) -> None:
    """The log so far is another's: its leases are over, and the attempts it has were not made here."""
    book.sha, book.incident = event.sha, "none"
    book.write(event.patches)
    book.events_under.clear()
    book.recorded.clear()
    for job in book.jobs.values():
        job.forked(book.execution_id)


def _check_taken_up(book: LogBook, event: Event) -> None:
    """A job that takes its process down every time is given up after five times, and no earlier. What only waits does
    not count: being taken up is not what moves it."""
    is_given_up = isinstance(event, facts.EngineError) and event.message.startswith(GIVEN_UP)
    is_fork = isinstance(event, facts.ExecutionForked)  # it goes on from before the incident
    if is_given_up != (book.taken_up >= TAKEN_UP_MAX) and not is_fork:
        book.fail("I12", f"it was taken up {book.taken_up} times in a row, and then came {facts.name_of(event)}")
    if isinstance(event, facts.ExecutionRecovered):
        book.taken_up += any(not job.child_key and job.until <= event.ts for job in book.jobs.values())
    else:
        book.taken_up = 0


def _engine_error(book: LogBook, event: facts.EngineError) -> None:
    """An incident. One by which the product says itself that an invariant is broken is broken for us, too."""
    book.move_incident(event)
    if found := BROKEN.match(event.message):
        book.fail(found[1], f"the engine stopped it: {event.message}")
    if UNPLANTED.match(event.message):
        book.fail("engine", f"a fault that nobody planted: {event.message}")


def _nothing(_book: LogBook, _event: facts.Emitted) -> None:
    """An author's own event changes nothing."""


HANDLERS: dict[type[Event], Callable[[LogBook, Any], object]] = {
    facts.PlaybookExecutionRequested: _requested,
    facts.PlaybookRequestEvaluated: LogBook.move,
    facts.WorkflowStarted: _workflow_started,
    facts.WorkflowFinished: _finished,
    facts.PlaybookProcessed: _processed,
    facts.PlaybookCancelRequested: _cancel_requested,
    facts.WorkflowFailing: LogBook.move,
    facts.WorkflowExtended: LogBook.move_run,
    facts.WorkflowCompensating: _compensating,
    facts.SignalReceived: _signal,
    facts.ExecutionRecovered: LogBook.move_incident,
    facts.ExecutionForked: _forked,
    facts.EngineError: _engine_error,
    facts.StepScheduled: net.scheduled,
    facts.StepWaiting: net.step_waiting,
    facts.StepSkipped: net.step_waiting,
    facts.StepStarted: LogBook.move_run,
    facts.StepDone: net.step_done,
    facts.StepFailed: net.step_failed,
    facts.StepCancelled: net.step_cancelled,
    facts.NextEvaluated: net.next_evaluated,
    facts.Emitted: _nothing,
    facts.LoopStarted: loops.loop_started,
    facts.LoopIterationStarted: loops.iteration_started,
    facts.LoopIterationDone: loops.iteration_ended,
    facts.LoopIterationFailed: loops.iteration_ended,
    facts.LoopIterationCancelled: loops.iteration_ended,
    facts.LoopDone: loops.loop_done,
    facts.LoopReopened: loops.loop_reopened,
    facts.TaskStarted: net.task_moved,
    facts.TaskDone: net.task_done,
    facts.TaskWaiting: net.task_moved,
    facts.ChildDone: net.task_moved,
}
