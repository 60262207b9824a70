"""(state, event) → state: the only place where state changes. Replay is this and nothing else (EV-05).

No playbook, no template, no clock: an event holds all that its consequences need. One small function per event, in a
table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noetl.engine import apply_loops as loops
from noetl.engine import apply_steps as steps
from noetl.engine import apply_tasks as tasks
from noetl.engine import events as facts
from noetl.engine import views
from noetl.engine.events import Event
from noetl.engine.lifecycle import check_open
from noetl.engine.patches import patched
from noetl.engine.runs import start_clock
from noetl.engine.state import ENDED_STATUSES, INCIDENT, RUNNING, State, Token


def apply(state: State, event: Event) -> None:
    """Fold one event into the state."""
    kind = type(event)
    if state.is_finished or state.status in ENDED_STATUSES:
        check_open(state, event)
    state.seq += 1
    if state.recoveries and kind is not facts.ExecutionRecovered:
        state.recoveries = 0
    HANDLERS[kind](state, event)


def replay(execution_id: int, log: list[Event]) -> State:
    """The state after a log."""
    state = State(execution_id=execution_id)
    for event in log:
        apply(state, event)
    return state


def _requested(state: State, event: facts.PlaybookExecutionRequested) -> None:
    state.path, state.version, state.sha = event.path, event.version, event.sha
    state.parent_execution_id, state.parent_key = event.parent_execution_id, event.parent_key
    state.depth, state.trace_id = event.depth, event.trace_id
    state.created_at = event.ts


def _evaluated(state: State, event: facts.PlaybookRequestEvaluated) -> None:
    state.workload, state.workload_ref, state.error = event.workload, event.ref, event.error


def _workflow_started(state: State, event: facts.WorkflowStarted) -> None:
    view = views.beginning(state.execution_id, state.seq, event)
    state.tokens[event.token] = Token(id=event.token, step=event.entry, event=view)
    state.last_token = event.token


def _workflow_finished(state: State, event: facts.WorkflowFinished) -> None:
    state.output, state.error, state.is_finished = event.output, event.error, True
    state.undoable, state.undoing, state.sent = [], [], {}


def _processed(state: State, event: facts.PlaybookProcessed) -> None:
    state.status, state.ended_at = event.result, event.ts


def _cancel_requested(state: State, _event: facts.PlaybookCancelRequested) -> None:
    state.is_cancelled = True
    state.incident, state.status = "", RUNNING  # an incident can be cancelled


def _failing(state: State, event: facts.WorkflowFailing) -> None:
    state.is_failing, state.is_best_effort, state.error = True, event.is_best_effort, event.error


def _extended(state: State, event: facts.WorkflowExtended) -> None:
    state.planned.append(event.steps)
    state.runs[event.run].is_planning = False


def _compensating(state: State, event: facts.WorkflowCompensating) -> None:
    state.is_compensating, state.undoing = True, list(event.runs)


def _signal(state: State, event: facts.SignalReceived) -> None:
    state.ctx = patched(state.ctx, event.patches, "ctx")


def _recovered(state: State, event: facts.ExecutionRecovered) -> None:
    """It counts as a try only where something was at work: what waits does not move by being taken up."""
    jobs = [job for run in state.runs.values() for job in run.jobs.values()]
    if any(job.child is None and job.waits_until <= event.ts for job in jobs):
        state.recoveries += 1
    state.incident, state.status = "", RUNNING


def _forked(state: State, event: facts.ExecutionForked) -> None:
    """It is nobody's child, and whoever it called it calls anew."""
    state.path, state.version, state.sha = event.path, event.version, event.sha
    state.forked_from, state.trace_id, state.created_at = event.source_execution_id, event.trace_id, event.ts
    state.parent_execution_id, state.parent_key, state.depth = None, None, 0
    state.incident, state.status = "", RUNNING
    if event.workload is not None or event.ref is not None:
        state.workload, state.workload_ref = event.workload or {}, event.ref
    state.ctx = patched(state.ctx, event.patches, "ctx")
    for run in state.runs.values():
        if event.is_clock_anew:
            start_clock(run, event.ts)
        for job in run.jobs.values():
            if job.child is not None:
                job.child = {**job.child, "key": f"{state.execution_id}:{job.child['key'].partition(':')[2]}"}


def _engine_error(state: State, event: facts.EngineError) -> None:
    state.incident, state.status = event.message, INCIDENT


def _emitted(_state: State, _event: facts.Emitted) -> None:
    """An author's own event changes nothing."""


HANDLERS: dict[type[Event], Callable[[State, Any], None]] = {
    facts.PlaybookExecutionRequested: _requested,
    facts.PlaybookRequestEvaluated: _evaluated,
    facts.WorkflowStarted: _workflow_started,
    facts.WorkflowFinished: _workflow_finished,
    facts.PlaybookProcessed: _processed,
    facts.PlaybookCancelRequested: _cancel_requested,
    facts.WorkflowFailing: _failing,
    facts.WorkflowExtended: _extended,
    facts.WorkflowCompensating: _compensating,
    facts.SignalReceived: _signal,
    facts.ExecutionRecovered: _recovered,
    facts.ExecutionForked: _forked,
    facts.EngineError: _engine_error,
    facts.StepScheduled: steps.scheduled,
    facts.StepWaiting: steps.step_waiting,
    facts.StepSkipped: steps.step_skipped,
    facts.StepStarted: steps.step_started,
    facts.StepDone: steps.step_done,
    facts.StepFailed: steps.step_failed,
    facts.StepCancelled: steps.step_cancelled,
    facts.NextEvaluated: steps.next_evaluated,
    facts.Emitted: _emitted,
    facts.LoopStarted: loops.loop_started,
    facts.LoopIterationStarted: loops.iteration_started,
    facts.LoopIterationDone: loops.iteration_done,
    facts.LoopIterationFailed: loops.iteration_failed,
    facts.LoopIterationCancelled: loops.iteration_cancelled,
    facts.LoopDone: loops.loop_done,
    facts.LoopReopened: loops.loop_reopened,
    facts.TaskStarted: tasks.task_started,
    facts.TaskDone: tasks.task_done,
    facts.TaskWaiting: tasks.task_waiting,
    facts.ChildDone: tasks.child_done,
}
