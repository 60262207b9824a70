"""Tokens, step runs, jobs and their tasks, read from a log into its book (I3, I4, I5). See log_reading.py."""

from __future__ import annotations

from noetl.engine import events as facts
from noetl.engine.events import Envelope, Event
from noetl.testing.simulator.checks import edges
from noetl.testing.simulator.checks.job_book import JobBook, Recorded
from noetl.testing.simulator.checks.lineage import value_of
from noetl.testing.simulator.checks.log_book import LogBook, RunBook, TokenBook


def scheduled(book: LogBook, event: facts.StepScheduled) -> None:
    """I5: a step runs because tokens were admitted, or because an earlier run of it is undone."""
    if event.compensates:
        run = _compensation(book, event)
    else:
        tokens = [book.move_token(number, event.step, event) for number in event.tokens]
        if not tokens:
            book.fail("I5", f"run {event.run} of step {event.step} was scheduled without a token")
        run = RunBook(event.step, edges.RUN, _carried(tokens, event.is_join))
    run.has_loop = event.has_loop
    book.new_run(event, run)
    book.move_run(event)
    if not event.has_loop:
        book.jobs[event.run, -1] = JobBook(run.received)


def _compensation(book: LogBook, event: facts.StepScheduled) -> RunBook:
    if event.compensates not in book.undoing:
        book.fail("I5", f"run {event.run} undoes run {event.compensates}, which is not to be undone")
    book.undoing.remove(event.compensates)
    book.compensations.add(event.run)
    run = RunBook(event.step, edges.UNDOING, book.undoable[event.compensates])
    run.compensates = event.compensates
    return run


def _carried(tokens: list[TokenBook], is_join: bool) -> Envelope | None:
    if not is_join:
        return tokens[0].output
    return {"data": {token.source_step: value_of(token.output) for token in tokens}}


def step_waiting(book: LogBook, event: facts.StepWaiting | facts.StepSkipped) -> None:
    book.move_token(event.token, event.step, event)


# --- the end of a run ------------------------------------------------------------------------------------------------


def step_done(book: LogBook, event: facts.StepDone) -> None:
    book.write(event.patches)
    end_run(book, event, event.output)


def step_failed(book: LogBook, event: facts.StepFailed) -> None:
    run = end_run(book, event, event.output or {"data": None})
    run.is_failed = True


def step_cancelled(book: LogBook, event: facts.StepCancelled) -> None:
    end_run(book, event, None)


def end_run(book: LogBook, event: Event, output: Envelope | None) -> RunBook:
    """I4: once; I6: a loop only when nothing of it is in flight."""
    run = book.move_run(event)
    if run.loop is not None and run.loop.in_flight:
        book.fail("I6", f"run {event.run} ended with iterations {sorted(run.loop.in_flight)} in flight")
    end_job(book, event)
    run.loop, run.output = None, output
    if run.phase == "gone":
        del book.runs[event.run]
    return run


def end_job(book: LogBook, event: Event) -> None:
    """A run whose work is done in iterations has no job of its own."""
    job = book.jobs.pop((event.run, event.iter), None)
    if job is not None and (problem := job.ended(event, book.seen)):
        book.fail("I3", f"run {event.run}, iteration {event.iter}: {problem}")


def next_evaluated(book: LogBook, event: facts.NextEvaluated) -> None:
    run = book.move_run(event)
    del book.runs[event.run]
    book.write(event.patches)
    for fired in event.fired:
        if not fired.is_duplicate:
            book.new_token(fired.token, TokenBook(fired.step, run.step, run.output))
    if event.is_undoable and not run.is_failed:
        book.undoable[event.run] = run.output


# --- tasks -----------------------------------------------------------------------------------------------------------


def task_moved(book: LogBook, event: Event) -> None:
    job = book.jobs.get((event.run, event.iter))
    if job is None:
        book.fail("I4", f"{facts.name_of(event)} of run {event.run}, iteration {event.iter}, which has no job")
    if problem := job.read(event, book.seen):
        book.fail("I3", f"run {event.run}, iteration {event.iter}: {problem}")


def task_done(book: LogBook, event: facts.TaskDone) -> None:
    place = (event.run, event.iter, event.task, event.visit, event.attempt)
    if place in book.recorded:
        book.fail("I3", f"task {event.task} (visit {event.visit}, attempt {event.attempt}) is recorded twice")
    task_moved(book, event)
    error = (event.output or {}).get("error") or {}
    book.recorded[place] = Recorded(event.lease, book.head, book.now, error.get("kind") or "")
    if event.patches:
        book.write(event.patches)
