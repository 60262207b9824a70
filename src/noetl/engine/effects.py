"""event → what must follow outside this log: jobs in and out of the queue, timers (protocol §3).

The queue is a projection of the log: `pending` gives the same changes for a whole state, after a restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from noetl.engine import events as facts
from noetl.engine.commands import (
    Change,
    ChildWanted,
    JobAdded,
    JobGone,
    JobParked,
    JobReady,
    Key,
    ListWanted,
    TimerSet,
)
from noetl.engine.events import Event
from noetl.engine.runs import is_put_by
from noetl.engine.state import INCIDENT, Job, Run, State
from noetl.traceparent import attempt_span_id

ENDS_A_JOB = (
    facts.StepDone,
    facts.StepFailed,
    facts.StepCancelled,
    facts.LoopIterationDone,
    facts.LoopIterationFailed,
    facts.LoopIterationCancelled,
)


def effects(state: State, event: Event) -> Sequence[Change]:
    """What follows from an event that has just been applied."""
    kind = type(event)
    key = (state.execution_id, event.run, event.iter)
    if kind is facts.LoopIterationStarted:
        run = state.runs[event.run]
        return (added(state, run, event.iter),) if event.iter in run.jobs else ()
    if kind in ENDS_A_JOB:
        return (JobGone(key=key, is_revoked=not event.lease),)
    if kind is facts.StepScheduled:
        return _scheduled(state, state.runs[event.run])
    if kind is facts.StepStarted:
        run = state.runs[event.run]
        return (timer(state, run, run.timeout_at, "timeout_s"),) if run.timeout_at else ()
    if isinstance(event, facts.TaskWaiting):
        return list(parked(state, key, event.task, state.runs[event.run].jobs[event.iter]))
    if kind is facts.ChildDone:
        return (JobReady(key=key),)
    if kind is facts.EngineError:  # an incident waits: its jobs come back when it is taken up again
        return list(_all_gone(state))
    return ()


def _scheduled(state: State, run: Run) -> list[Change]:
    found: list[Change] = [added(state, run, index) for index in run.jobs]
    if run.deadline_at:
        found.append(timer(state, run, run.deadline_at, "deadline_s"))
    return found


def _all_gone(state: State) -> Iterator[Change]:
    for run in state.runs.values():
        for index in run.jobs:
            yield JobGone(key=(state.execution_id, run.id, index))


def added(state: State, run: Run, index: int) -> JobAdded:
    job = run.jobs[index]
    return JobAdded(
        key=(state.execution_id, run.id, index), pool=job.pool, priority=job.priority, group=group(state, run)
    )


def group(state: State, run: Run) -> int:
    """LP-05: the jobs of a local loop stay with one worker: whoever holds its outermost local run."""
    if not run.parent_run:
        return run.id if run.loop and run.loop.is_local else 0
    found = 0
    while True:
        if run.loop and run.loop.is_local:
            found = run.id
        if not run.parent_run:
            return found
        run = state.runs[run.parent_run]


def timer(state: State, run: Run, at: float, knob: str) -> TimerSet:
    return TimerSet(execution_id=state.execution_id, run=run.id, at=at, message=f"lifecycle.{knob} has passed")


def parked(state: State, key: Key, task: str, job: Job) -> Iterator[Change]:
    yield JobParked(key=key, until=job.waits_until, is_for_child=job.child is not None)
    if job.child is not None:
        yield _child_wanted(state, key, task, job.child, job.progress.attempt)
        if job.waits_until:
            yield _child_timer(key, task, job.waits_until, job.child["key"])


def _child_wanted(state: State, key: Key, task: str, child: dict[str, Any], attempt: int) -> ChildWanted:
    task_run = str(child["key"]).rpartition(".")[0]
    return ChildWanted(
        key=key,
        task=task,
        child=child,
        depth=state.depth + 1,
        trace_id=state.trace_id,
        parent_span_id=attempt_span_id(state.trace_id, task_run, attempt),
    )


def _child_timer(key: Key, task: str, at: float, child_key: str) -> TimerSet:
    execution_id, run, index = key
    message = "the child took longer than its caller waits (spec.timeout)"
    return TimerSet(
        execution_id=execution_id, run=run, iter=index, task=task, at=at, message=message, child_key=child_key
    )


def is_needed(state: State, timer: TimerSet) -> bool:
    """Whether what a timer was set for is still under way. An incident sets its timers anew when it is taken up."""
    run = state.runs.get(timer.run)
    if run is None or run.boundary or state.status == INCIDENT:
        return False
    job = run.jobs.get(timer.iter)
    return not timer.child_key or (job is not None and job.child is not None and job.child["key"] == timer.child_key)


def pending(state: State) -> Iterator[Change]:
    """All that a whole state waits for: what a process does when it takes an execution up."""
    for run in state.runs.values():
        yield from _timers(state, run)
        for index, job in run.jobs.items():
            yield added(state, run, index)
            if job.child is not None or job.waits_until:
                label = job.progress.label or ""
                yield from parked(state, (state.execution_id, run.id, index), label, job)
        yield from _loop_pending(state, run)


def _timers(state: State, run: Run) -> Iterator[Change]:
    if run.deadline_at:
        yield timer(state, run, run.deadline_at, "deadline_s")
    if run.timeout_at:
        yield timer(state, run, run.timeout_at, "timeout_s")


def _loop_pending(state: State, run: Run) -> Iterator[Change]:
    loop = run.loop
    if loop is not None and loop.is_over and loop.is_spilled and not is_put_by(state, run):
        yield ListWanted(execution_id=state.execution_id, run=run.id)
