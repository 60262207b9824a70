"""Where an execution stands: the fold that the live display, the summary and `noetl show` read.

Comes in: the events of one execution, in order. It keeps one row per step and what is in flight, never one per
iteration or per step run, so it can watch a loop of a million iterations. It decides nothing: what it says is what the
log says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.engine.events import (
    ChildDone,
    EngineError,
    Event,
    ExecutionForked,
    ExecutionRecovered,
    LoopDone,
    NextEvaluated,
    PlaybookCancelRequested,
    PlaybookExecutionRequested,
    PlaybookProcessed,
    PlaybookRequestEvaluated,
    SignalReceived,
    StepDone,
    StepScheduled,
    StepSkipped,
    StepWaiting,
    TaskDone,
    TaskWaiting,
    WorkflowFailing,
    WorkflowFinished,
)
from noetl.projections.context import folded
from noetl.projections.runs import CANCELLED, FAILED, RUNNING, SUCCESS, Counts, Run, Runs

WAITING, INCIDENT, SKIPPED, NOT_RUN = "waiting", "incident", "skipped", "not_run"
CHILD_IDS_MAX = 100  # of each path; the others are counted


class Step(msgspec.Struct, kw_only=True):
    """All runs of one step together."""

    step: str
    runs: int = 0
    live: int = 0
    ended: str = ""  # how the latest run ended
    started_at: float | None = None
    ended_at: float | None = None
    retries: int = 0
    compensations: int = 0
    loop: Counts | None = None
    nested: Counts | None = None
    error: dict[str, Any] | None = None
    failed_task: str = ""
    failed_iteration: int = -1

    @property
    def status(self) -> str:
        return RUNNING if self.live else self.ended or NOT_RUN


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A token that its step has not admitted."""

    step: str
    token: int
    since: float
    is_for_signal: bool


class Children(msgspec.Struct, kw_only=True):
    """The executions of one other playbook that tasks called."""

    path: str
    started: int = 0
    done: int = 0
    failed: int = 0
    ids: list[int] = []  # of those that ended, the first CHILD_IDS_MAX


class Progress:
    """One execution, event by event."""

    def __init__(self) -> None:
        self.path = ""
        self.version = 0
        self.parent_execution_id: int | None = None
        self.forked_from: tuple[int, int] | None = None  # of a rerun: what it does again, and how many events it keeps
        self.requested_at: float | None = None  # when its log begins
        self.began_at: float | None = None  # of a fork later than its log: when it was forked
        self.ended_at: float | None = None
        self.seq = 0  # how many events were taken in
        self.result = ""
        self.is_cancelling = False
        self.incident = ""
        self.workload: dict[str, Any] = {}
        self.ctx: dict[str, Any] = {}
        self.output: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.runs = Runs()
        self.ended_steps: dict[str, Step] = {}  # by name, in the order of first scheduling
        self.waiting: dict[int, Waiting] = {}  # by token
        self.called: dict[tuple[int, int], str] = {}  # run and iteration → path of the child it waits for
        self.children: dict[str, Children] = {}  # by path

    @property
    def status(self) -> str:
        """running, waiting (for a signal) or incident; at the end success, failed or cancelled."""
        if self.result:
            return self.result
        if self.incident:
            return INCIDENT
        stands_still = not self.runs.places and any(one.is_for_signal for one in self.waiting.values())
        return WAITING if stands_still else RUNNING

    @property
    def duration_ms(self) -> int | None:
        """How long it took itself; what a fork keeps of another execution is not its time."""
        return self.until_end_ms(self.began_at)

    @property
    def log_ms(self) -> int | None:
        """How long its log lasts, what it keeps of another execution included."""
        return self.until_end_ms(self.requested_at)

    def until_end_ms(self, since: float | None) -> int | None:
        return None if since is None or self.ended_at is None else round((self.ended_at - since) * 1000)

    @property
    def steps(self) -> list[Step]:
        """Every step that was scheduled or skipped, with the runs under way counted in."""
        rows = {name: msgspec.structs.replace(step, live=0) for name, step in self.ended_steps.items()}
        for name, step in rows.items():
            step.loop, step.nested = copy_of(self.ended_steps[name].loop), copy_of(self.ended_steps[name].nested)
        for run in self.runs.live:
            if not run.compensates:
                rows[run.step].live += 1
                add_run(rows[run.step], run)
        return list(rows.values())

    def tasks_under_way(self, step: str) -> dict[str, int]:
        """How many of each task of a step run now; one that waits for time or a child counts too."""
        found: dict[str, int] = {}
        for now in self.runs.current.values():
            if now.run.step == step:
                found[now.task] = found.get(now.task, 0) + 1
        return found

    def apply(self, event: Event) -> None:
        """Take one event in."""
        self.seq += 1
        ended = self.runs.apply(event)
        handler = HANDLERS.get(type(event))
        if handler:
            handler(self, event)
        if ended:
            self.keep(ended)

    def keep(self, run: Run) -> None:
        """Add a run that has ended to its step's row."""
        step = self.step(run.step)
        if run.compensates:
            step.compensations += 1
            return
        add_run(step, run)
        step.ended, step.ended_at = run.status, run.ended_at

    def step(self, name: str) -> Step:
        if name not in self.ended_steps:
            self.ended_steps[name] = Step(step=name)
        return self.ended_steps[name]

    def fail(self, error: dict[str, Any], step: str = "") -> None:
        """Keep why it failed, with the step, the task and the iteration where they are known."""
        name = str(error.get("step") or step)
        row = self.ended_steps.get(name)
        iteration = error.get("iteration", row.failed_iteration if row else -1)
        self.error = {
            "kind": error.get("kind", "exception"),
            "message": error.get("message", ""),
            "step": name or None,
            "task": error.get("task") or (row.failed_task if row else "") or None,
            **({} if iteration in (-1, "") else {"iteration": numbered(iteration)}),
        }


def numbered(iteration: int | str) -> int | str:
    """An iteration as a number; of nested loops it is a text such as 3.7."""
    return int(iteration) if isinstance(iteration, str) and iteration.isdecimal() else iteration


def copy_of(counts: Counts | None) -> Counts | None:
    return msgspec.structs.replace(counts) if counts else None


def add_run(step: Step, run: Run) -> None:
    """Add what one run came to, or has come to so far, to the row of its step."""
    if step.started_at is None:
        step.started_at = run.began_at
    step.retries += run.retries
    if run.loop:
        step.loop = step.loop or Counts()
        step.loop.add(run.loop)
    if run.nested:
        step.nested = step.nested or Counts()
        step.nested.add(run.nested)
    if run.error:
        step.error = run.error
    if run.status == FAILED:
        step.failed_task, step.failed_iteration = run.failed_task, run.failed_iteration


def patched(progress: Progress, event: TaskDone | StepDone | LoopDone | NextEvaluated | SignalReceived) -> None:
    progress.ctx = folded(progress.ctx, event.patches)


def requested(progress: Progress, event: PlaybookExecutionRequested) -> None:
    progress.path, progress.version = event.path, event.version
    progress.requested_at = progress.began_at = event.ts
    progress.parent_execution_id = event.parent_execution_id
    if event.rerun_of:
        progress.forked_from = event.rerun_of, 0


def forked(progress: Progress, event: ExecutionForked) -> None:
    """As in `engine.apply`: what went before is another's, and this one is nobody's child."""
    progress.path, progress.version, progress.parent_execution_id = event.path, event.version, None
    progress.forked_from = event.source_execution_id, event.source_seq
    progress.began_at = event.ts
    progress.ctx, progress.incident = folded(progress.ctx, event.patches), ""
    if event.workload is not None or event.ref is not None:
        progress.workload = event.workload or {}


def evaluated(progress: Progress, event: PlaybookRequestEvaluated) -> None:
    progress.workload = event.workload
    if event.error:
        progress.fail(event.error)


def failing(progress: Progress, event: WorkflowFailing) -> None:
    progress.fail(event.error, event.step)


def finished(progress: Progress, event: WorkflowFinished) -> None:
    progress.result, progress.output = event.result, event.output
    progress.ended_at = event.ts
    if event.error and not (progress.is_cancelling and event.result == CANCELLED):  # the request said why
        progress.fail(event.error, (progress.error or {}).get("step") or "")
    if event.result == SUCCESS:
        progress.error = None


def processed(progress: Progress, event: PlaybookProcessed) -> None:
    progress.result, progress.ended_at = event.result, event.ts


def cancel_requested(progress: Progress, event: PlaybookCancelRequested) -> None:
    progress.is_cancelling, progress.incident = True, ""
    progress.error = {
        "kind": "cancelled",
        "message": event.reason or "cancelled on request",
        "step": None,
        "task": None,
    }


def broken(progress: Progress, event: EngineError) -> None:
    progress.incident = event.message


def recovered(progress: Progress, _event: ExecutionRecovered) -> None:
    progress.incident = ""


def scheduled(progress: Progress, event: StepScheduled) -> None:
    step = progress.step(event.step)
    if not event.compensates:
        step.runs += 1
    for token in event.tokens:
        progress.waiting.pop(token, None)


def token_waits(progress: Progress, event: StepWaiting) -> None:
    progress.waiting[event.token] = Waiting(
        step=event.step, token=event.token, since=event.ts, is_for_signal=event.is_for_signal
    )


def skipped(progress: Progress, event: StepSkipped) -> None:
    progress.waiting.pop(event.token, None)
    step = progress.step(event.step)
    if not step.runs:
        step.ended = SKIPPED


def task_waiting(progress: Progress, event: TaskWaiting) -> None:
    if event.child:
        path = str(event.child.get("path", ""))
        progress.called[event.run, event.iter] = path
        progress.children.setdefault(path, Children(path=path)).started += 1


def child_done(progress: Progress, event: ChildDone) -> None:
    path = progress.called.pop((event.run, event.iter), "")
    children = progress.children.setdefault(path, Children(path=path))
    if event.result == SUCCESS:
        children.done += 1
    else:
        children.failed += 1
    if len(children.ids) < CHILD_IDS_MAX:
        children.ids.append(event.child_execution_id)


HANDLERS: dict[type[Event], Callable[[Progress, Any], None]] = {
    PlaybookExecutionRequested: requested,
    PlaybookRequestEvaluated: evaluated,
    WorkflowFailing: failing,
    WorkflowFinished: finished,
    PlaybookProcessed: processed,
    PlaybookCancelRequested: cancel_requested,
    EngineError: broken,
    ExecutionForked: forked,
    ExecutionRecovered: recovered,
    SignalReceived: patched,
    StepDone: patched,
    LoopDone: patched,
    NextEvaluated: patched,
    StepScheduled: scheduled,
    StepWaiting: token_waits,
    StepSkipped: skipped,
    TaskDone: patched,
    TaskWaiting: task_waiting,
    ChildDone: child_done,
}
