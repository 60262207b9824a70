"""Loops and their iterations, read from a log into its book (I6, I7). See log_reading.py."""

from __future__ import annotations

from noetl.engine import events as facts
from noetl.testing.simulator.checks import edges
from noetl.testing.simulator.checks.job_book import JobBook
from noetl.testing.simulator.checks.log_book import LogBook, RunBook
from noetl.testing.simulator.checks.loop_book import WINDOW_MAX, LoopBook
from noetl.testing.simulator.checks.net_reading import end_job, end_run

Ended = facts.LoopIterationDone | facts.LoopIterationFailed | facts.LoopIterationCancelled


def loop_started(book: LogBook, event: facts.LoopStarted) -> None:
    if event.parent_run:
        _begin_inner(book, event)
    run = book.move_run(event)
    run.loop = LoopBook(event, _window(book, event, run))


def _begin_inner(book: LogBook, event: facts.LoopStarted) -> None:
    """An inner loop is a run of its own, in an iteration of the loop around it."""
    outer = book.runs.get(event.parent_run)
    if outer is None or outer.loop is None or outer.loop.in_flight.get(event.parent_iter) != 0:
        book.fail("I6", f"a loop began in iteration {event.parent_iter} of run {event.parent_run}, not in flight")
    run = RunBook(event.step, edges.INNER_LOOP, outer.received)
    run.parent_run, run.parent_iter, run.has_loop = event.parent_run, event.parent_iter, True
    book.new_run(event, run)
    outer.loop.in_flight[event.parent_iter] = event.run


def _window(book: LogBook, event: facts.LoopStarted, run: RunBook) -> int:
    if not event.is_parallel and event.max_in_flight > 1:
        book.fail("I7", f"the loop of {event.step} is sequential, and allows itself {event.max_in_flight} in flight")
    return _window_in(book, run, event.max_in_flight)


def _window_in(book: LogBook, run: RunBook, said: int) -> int:
    """I7: how many may be in flight: by the playbook, and where that is not known by what the loop says of itself."""
    depth, here = 0, run
    while here.parent_run:
        depth, here = depth + 1, book.runs[here.parent_run]
    known = book.windows.get(book.sha, {}).get(run.step, ())
    window = known[depth] if depth < len(known) else min(said, WINDOW_MAX)
    if said > window:
        book.fail("I7", f"the loop of {run.step} allows itself {said} in flight, not {window}")
    return window


def _loop_of(book: LogBook, event: facts.LoopIterationStarted | facts.LoopReopened | Ended) -> tuple[RunBook, LoopBook]:
    run = book.run_of(event)
    if run.loop is None:
        book.fail("I6", f"{facts.name_of(event)} of run {event.run} ({run.step}), which has no loop under way")
    return run, run.loop


def iteration_started(book: LogBook, event: facts.LoopIterationStarted) -> None:
    run, loop = _loop_of(book, event)
    invariant, problem = loop.begun(event)
    if problem:
        book.fail(invariant, f"run {event.run}: {problem}")
    edges.ITERATION.after("new", event, book.seen)
    if not loop.has_inner:
        book.jobs[event.run, event.iter] = JobBook(run.received)


def iteration_ended(book: LogBook, event: Ended) -> None:
    _, loop = _loop_of(book, event)
    inner = book.runs.get(loop.in_flight.get(event.iter, 0))
    if inner is not None:
        _end_inner(book, event, inner)
        del book.runs[loop.in_flight[event.iter]]
    elif loop.has_inner and isinstance(event, facts.LoopIterationDone):
        book.fail("I6", f"iteration {event.iter} of run {event.run} is done without its inner loop")
    if problem := loop.ended(event):
        book.fail("I6", f"run {event.run}: {problem}")
    edges.ITERATION.after("started", event, book.seen)
    end_job(book, event)


def _end_inner(book: LogBook, event: Ended, inner: RunBook) -> None:
    """An iteration ends with its inner loop's end, or when both are cancelled."""
    is_cut = isinstance(event, facts.LoopIterationCancelled)
    if inner.phase != "ended" and not is_cut:
        book.fail("I6", f"iteration {event.iter} of run {event.run} ended before its inner loop")
    if inner.loop is not None and inner.loop.in_flight:
        book.fail(
            "I6", f"iteration {event.iter} of run {event.run} ended, but of its inner loop {inner.loop.in_flight}"
        )


def loop_reopened(book: LogBook, event: facts.LoopReopened) -> None:
    """I6: in a fork, what had failed or was cancelled is to be done again; only in the log that it took over, or with
    the fork itself."""
    run, loop = _loop_of(book, event)
    if run.parent_run:
        if edges.REOPENED.after(run.phase, event, book.seen) is None:
            book.fail("I11", f"the inner loop of run {event.run} is reopened while it is {run.phase}")
    else:
        book.move_run(event)
    if event.iter < 0:
        if event.max_in_flight:
            loop.window = _window_in(book, run, event.max_in_flight)
        return
    if problem := loop.reopened(event.iter):
        book.fail("I6", f"run {event.run}: {problem}")
    edges.PUT_BACK.after("started", event, book.seen)
    book.jobs.pop((event.run, event.iter), None)
    for key in [key for key in book.recorded if key[:2] == (event.run, event.iter)]:
        del book.recorded[key]  # its attempts are made anew


def loop_done(book: LogBook, event: facts.LoopDone) -> None:
    run = book.run_of(event)
    if run.loop is not None and (problem := run.loop.closed(event)):
        book.fail("I6", f"run {event.run}: {problem}")
    if not run.parent_run:
        book.write(event.patches)
    end_run(book, event, event.output)
