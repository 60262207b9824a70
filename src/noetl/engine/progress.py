"""Where a pipeline is: the fold of its tasks' events, the same on the server and in the worker (TK-15).

A worker folds what it does as it does it; the server folds what was reported. What both hold after the same events is
equal, so a redelivered job goes on at the first task whose completion is not recorded.
"""

from __future__ import annotations

from noetl.engine.events import Event, TaskDone, TaskStarted
from noetl.engine.patches import patched
from noetl.engine.state import Progress

KEPT = "_prev"  # among outputs, and no label: what a task that follows itself found, while it is tried again


def copy_of(progress: Progress) -> Progress:
    """A progress that can be folded on without touching this one; data itself is never changed, so it is shared."""
    made: Progress = progress.__copy__()  # type: ignore[attr-defined]  # a shallow copy, as every Struct has it
    made.visits, made.outputs, made.held = dict(made.visits), dict(made.outputs), list(made.held)
    return made


def fold(progress: Progress, event: Event) -> None:
    """Take one event of the pipeline in."""
    kind = type(event)
    if kind is TaskDone:
        _fold_done(progress, event)  # type: ignore[arg-type]  # it is one
    elif kind is TaskStarted:
        progress.is_open = True
        progress.label = event.task
        progress.visits[event.task] = event.visit
        if progress.ready_at:
            _end_wait(progress)


def _end_wait(progress: Progress) -> None:
    """A retry has begun: it waits no more, whatever the clock of the next worker says of that moment."""
    progress.ready_at = 0.0


def _fold_done(progress: Progress, event: TaskDone) -> None:
    progress.is_open, progress.child = False, None
    progress.task_runs += 1
    progress.visits[event.task] = event.visit
    _fold_output(progress, event)
    _fold_writes(progress, event)
    if event.do == "retry":
        progress.label, progress.attempt = event.task, event.attempt + 1
        progress.answered += 1 if event.is_definite else 0
        progress.ready_at = event.ts + event.delay_seconds
        return
    progress.label, progress.attempt, progress.answered, progress.ready_at = event.to, 1, 0, 0.0
    if event.do == "fail":
        progress.is_failed, progress.error = True, event.error


def _fold_output(progress: Progress, event: TaskDone) -> None:
    if event.output is not None:
        if event.do == "retry":
            _keep_previous(progress, event.task)
        else:
            progress.outputs.pop(KEPT, None)
            progress.previous_label, progress.previous = event.task, []
        progress.outputs[event.task] = event.output
        progress.last = event.task
    if event.previous:
        progress.previous_label, progress.previous = "", event.previous


def _keep_previous(progress: Progress, label: str) -> None:
    """SC-07: after a jump to itself a task finds its own output as `_prev`, which an attempt that failed is not."""
    if progress.previous_label == label:
        progress.outputs[KEPT] = progress.outputs[label]
        progress.previous_label = KEPT


def _fold_writes(progress: Progress, event: TaskDone) -> None:
    if not (event.patches or event.held):
        return
    for patches in (event.patches, event.held):
        if patches:
            progress.ctx = patched(progress.ctx, patches, "ctx")
            progress.step = patched(progress.step, patches, "step")
            progress.iter = patched(progress.iter, patches, "iter")
    progress.held.extend(event.held)
