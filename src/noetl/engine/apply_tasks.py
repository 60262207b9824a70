"""Folding what happened to the tasks of a pipeline. See apply.py."""

from __future__ import annotations

from noetl.engine import events as facts
from noetl.engine.events import Event
from noetl.engine.progress import fold
from noetl.engine.runs import outermost, write
from noetl.engine.state import Job, State
from noetl.errors import BrokenInvariant


def _job(state: State, event: Event) -> Job:
    run = state.runs.get(event.run)
    job = run.jobs.get(event.iter) if run else None
    if job is None:
        raise BrokenInvariant(
            "I4", f"run {event.run}, iteration {event.iter} has no job, but {facts.name_of(event)} came"
        )
    return job


def task_started(state: State, event: facts.TaskStarted) -> None:
    fold(_job(state, event).progress, event)


def task_done(state: State, event: facts.TaskDone) -> None:
    job = _job(state, event)
    job.waits_until = 0.0
    fold(job.progress, event)
    if event.patches:
        write(state, outermost(state, state.runs[event.run]), event.patches)


def task_waiting(state: State, event: facts.TaskWaiting) -> None:
    job = _job(state, event)
    job.waits_until, job.child = event.until, event.child


def child_done(state: State, event: facts.ChildDone) -> None:
    job = _job(state, event)
    job.child, job.waits_until = None, 0.0
    job.progress.child = {
        "execution_id": event.child_execution_id,
        "result": event.result,
        "output": event.output,
        "error": event.error,
    }
