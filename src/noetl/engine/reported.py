"""What a worker may say of a job, and when: its own events, in the order in which a pipeline goes (RO-03, I2, I3).

A report that is accepted becomes the log, so what does not fit is refused before anything of it is recorded. Only what
is reported is asked here: a log that stands is folded as it is.
"""

from __future__ import annotations

from typing import Any

from noetl.engine import events as facts
from noetl.engine.commands import Report
from noetl.engine.events import WORKER_EVENTS, Event
from noetl.engine.state import Progress, State
from noetl.errors import BrokenInvariant
from noetl.ids import iteration_id

OF_TASKS = frozenset((facts.TaskStarted, facts.TaskDone, facts.TaskWaiting))


def check_reported(state: State, report: Report, event: Event) -> None:
    """Refuse what is not of this job, or not what can have happened next."""
    kind = type(event)
    if kind not in WORKER_EVENTS or event.run != report.run or event.iter != report.iter:
        raise BrokenInvariant("I2", f"a worker may not report {facts.name_of(event)} of run {event.run}")
    if kind in OF_TASKS:
        run = state.runs.get(event.run)
        job = run.jobs.get(event.iter) if run else None
        if job is not None:  # else folding it says what is wrong
            _check_order(job.progress, event)
        if isinstance(event, facts.TaskWaiting) and event.child is not None:
            _refuse_foreign_child(report, event.child)


def _check_order(progress: Progress, event: Event) -> None:
    """An attempt begins where the pipeline stands, and ends if it has begun."""
    kind = type(event)
    is_next = progress.label is None or progress.label == event.task
    if kind is not facts.TaskWaiting:
        is_end = kind is facts.TaskDone
        is_again = progress.is_open or progress.attempt > 1
        visit = progress.visits.get(event.task, 0) + (0 if is_again else 1)
        is_next = is_next and progress.is_open == is_end and event.visit == visit and event.attempt == progress.attempt
    if not is_next:
        at = f'"{event.task}", visit {event.visit}, attempt {event.attempt}'
        raise BrokenInvariant("I3", f"{facts.name_of(event)} of task {at} is not what can have happened next")


def _refuse_foreign_child(report: Report, child: dict[str, Any]) -> None:
    """Children are found by the key of their call: under another job's key is another's child, and what it gave."""
    if not str(child.get("key")).startswith(f"{iteration_id(report.execution_id, report.run, report.iter)}:"):
        raise BrokenInvariant("I2", "a worker may not wait for the child of another job")
