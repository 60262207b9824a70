"""What to say at once to a person who watches an execution: a step began, ended, failed, tries again, waits.

Comes in: events as they are committed. Goes out: few `Notice`s, as facts; the command line makes sentences of them.
What happens once per iteration is left to the counts of progress, but for failures and retries, which the reader of
notices may thin out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from noetl.engine.events import (
    ChildDone,
    EngineError,
    Event,
    ExecutionRecovered,
    LoopDone,
    LoopIterationFailed,
    LoopReopened,
    LoopStarted,
    PlaybookCancelRequested,
    SignalReceived,
    StepCancelled,
    StepDone,
    StepFailed,
    StepScheduled,
    StepSkipped,
    StepWaiting,
    TaskDone,
    TaskWaiting,
    WorkflowCompensating,
    WorkflowExtended,
)
from noetl.projections.progress import Progress
from noetl.projections.runs import Run

What = Literal[
    "started",
    "loop",
    "reopened",
    "done",
    "failed",
    "cancelled",
    "skipped",
    "waiting",
    "retry",
    "iteration_failed",
    "parked",
    "child",
    "child_done",
    "child_failed",
    "signal",
    "cancelling",
    "compensating",
    "extended",
    "recovered",
    "incident",
]


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened."""

    what: What
    step: str = ""
    task: str = ""
    iteration: int | str = -1  # of nested loops a text such as 3.7
    attempt: int = 0
    seconds: float = 0.0  # how long it took, or how long it waits
    retries: int = 0
    total: int = -1  # of a loop: iterations, and below how they went; -1: no loop
    done: int = 0
    failed: int = 0
    message: str = ""
    path: str = ""  # of a child
    execution_id: int = 0  # of a child
    is_compensation: bool = False


def notices(progress: Progress, events: Iterable[Event]) -> list[Notice]:
    """Take events in and tell what is worth saying."""
    found = []
    for event in events:
        make = MAKERS.get(type(event))
        # Before it is applied: a run that ends is still there to be asked how long it took.
        notice = make(progress, event) if make else None
        progress.apply(event)
        if notice:
            found.append(notice)
    return found


def began(_progress: Progress, event: StepScheduled) -> Notice:
    return Notice(what="started", step=event.step, is_compensation=bool(event.compensates))


def loop_began(_progress: Progress, event: LoopStarted) -> Notice | None:
    return None if event.parent_run else Notice(what="loop", step=event.step, total=event.count)


def reopened(progress: Progress, event: LoopReopened) -> Notice | None:
    """Of a step's loop, once; what is said of its iterations is said by their ends."""
    run = progress.runs.run(event.run)
    if run is None or run.id != event.run or event.iter >= 0 or run.loop is None:
        return None
    return Notice(what="reopened", step=run.step, total=run.loop.total, done=run.loop.done)


def ended(what: What) -> Callable[[Progress, Any], Notice | None]:
    def make(progress: Progress, event: StepDone | StepCancelled) -> Notice | None:
        run = progress.runs.run(event.run)
        return end_of(run, event, what) if run and run.id == event.run else None

    return make


def end_of(run: Run, event: Event, what: What, message: str = "", task: str = "", iteration: int | str = -1) -> Notice:
    return Notice(
        what=what,
        step=run.step,
        task=task,
        iteration=iteration,
        message=message,
        seconds=event.ts - run.began_at,
        retries=run.retries,
        is_compensation=bool(run.compensates),
        total=run.loop.total if run.loop else -1,
        done=run.loop.done if run.loop else 0,
        failed=run.loop.failed if run.loop else 0,
    )


def failed(progress: Progress, event: StepFailed) -> Notice | None:
    run = progress.runs.run(event.run)
    if run is None:
        return None
    message, iteration = str(event.error.get("message", "")), event.error.get("iteration", run.failed_iteration)
    return end_of(run, event, "failed", message=message, task=run.failed_task, iteration=iteration)


def iteration_failed(progress: Progress, event: LoopIterationFailed) -> Notice:
    return Notice(
        what="iteration_failed",
        step=step_of(progress, event),
        task=event.task,
        iteration=progress.runs.iteration(event),
        message=str(event.error.get("message", "")),
    )


def retried(progress: Progress, event: TaskDone) -> Notice | None:
    if event.do != "retry":
        return None
    error = (event.output or {}).get("error") or {}
    return Notice(
        what="retry",
        step=step_of(progress, event),
        task=event.task,
        iteration=progress.runs.iteration(event),
        attempt=event.attempt,
        seconds=event.delay_seconds,
        message=str(error.get("message", "")),
    )


def parked(progress: Progress, event: TaskWaiting) -> Notice:
    path = str(event.child.get("path", "")) if event.child else ""
    wait_seconds = max(event.until - event.ts, 0.0) if event.until else 0.0
    return Notice(
        what="child" if event.child else "parked",
        step=step_of(progress, event),
        task=event.task,
        iteration=progress.runs.iteration(event),
        seconds=wait_seconds,
        path=path,
    )


def child_ended(progress: Progress, event: ChildDone) -> Notice:
    return Notice(
        what="child_done" if event.result == "success" else "child_failed",
        step=step_of(progress, event),
        path=progress.called.get((event.run, event.iter), ""),
        execution_id=event.child_execution_id,
        message=str((event.error or {}).get("message", "")),
    )


def waits(_progress: Progress, event: StepWaiting) -> Notice | None:
    return Notice(what="waiting", step=event.step) if event.is_for_signal else None


def step_of(progress: Progress, event: Event) -> str:
    run = progress.runs.run(event.run)
    return run.step if run else ""


def said(what: What, text: Callable[[Any], str] = lambda _: "") -> Callable[[Progress, Any], Notice]:
    def make(_progress: Progress, event: Event) -> Notice:
        return Notice(what=what, step=getattr(event, "step", ""), message=text(event))

    return make


MAKERS: dict[type[Event], Callable[[Progress, Any], Notice | None]] = {
    StepScheduled: began,
    LoopStarted: loop_began,
    LoopReopened: reopened,
    StepDone: ended("done"),
    LoopDone: ended("done"),
    StepCancelled: ended("cancelled"),
    StepFailed: failed,
    StepSkipped: said("skipped", lambda event: event.reason),
    StepWaiting: waits,
    LoopIterationFailed: iteration_failed,
    TaskDone: retried,
    TaskWaiting: parked,
    ChildDone: child_ended,
    SignalReceived: said("signal", lambda event: ", ".join(patch.path for patch in event.patches)),
    PlaybookCancelRequested: said("cancelling", lambda event: event.reason),
    WorkflowCompensating: said("compensating", lambda event: str(len(event.runs))),
    WorkflowExtended: said("extended", lambda event: str(len(event.steps))),
    ExecutionRecovered: said("recovered"),
    EngineError: said("incident", lambda event: event.message),
}
