"""(state, event) → state: the only place where state changes. Replay is this and nothing else (EV-05).

No playbook, no template, no clock: an event holds all that its consequences need. One small function per event, in a
table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never, cast

import msgspec

from noetl.engine import events as facts
from noetl.engine import views
from noetl.engine.events import Event, Patch
from noetl.engine.lifecycle import check_open, move
from noetl.engine.merging import begin, finished, insert, joined
from noetl.engine.patches import patched
from noetl.engine.progress import fold
from noetl.engine.state import (
    INCIDENT,
    RUNNING,
    STARTED,
    Job,
    Loop,
    Progress,
    Run,
    State,
    StepCount,
    Token,
    Undoable,
)
from noetl.errors import BrokenInvariant

encode = msgspec.json.Encoder().encode


def apply(state: State, event: Event) -> None:
    """Fold one event into the state."""
    check_open(state, event)
    state.seq += 1
    if type(event) is not facts.ExecutionRecovered:
        state.recoveries = 0
    HANDLERS[type(event)](state, cast(Never, event))


def replay(execution_id: int, log: list[Event]) -> State:
    """The state after a log."""
    state = State(execution_id=execution_id)
    for event in log:
        apply(state, event)
    return state


# --- the execution ---------------------------------------------------------------------------------------------------


def _requested(state: State, event: facts.PlaybookExecutionRequested) -> None:
    state.path, state.version, state.sha = event.path, event.version, event.sha
    state.parent_execution_id, state.parent_key = event.parent_execution_id, event.parent_key
    state.depth, state.trace_id = event.depth, event.trace_id
    state.created_at = event.ts


def _evaluated(state: State, event: facts.PlaybookRequestEvaluated) -> None:
    state.workload, state.error = event.workload, event.error


def _workflow_started(state: State, event: facts.WorkflowStarted) -> None:
    view = views.boundary(state.execution_id, state.seq, "workflow.started", "", 0, None, None)
    state.tokens[event.token] = Token(id=event.token, step=event.entry, event=view)
    state.last_token = event.token


def _workflow_finished(state: State, event: facts.WorkflowFinished) -> None:
    state.output, state.error, state.is_finished = event.output, event.error, True
    state.undoable, state.undoing, state.sent = [], [], {}


def _processed(state: State, event: facts.PlaybookProcessed) -> None:
    state.status, state.ended_at = event.result, event.ts


def _cancel_requested(state: State, _event: facts.PlaybookCancelRequested) -> None:
    state.is_cancelled = True


def _failing(state: State, event: facts.WorkflowFailing) -> None:
    state.is_failing, state.is_best_effort, state.error = True, event.is_best_effort, event.error


def _extended(state: State, event: facts.WorkflowExtended) -> None:
    state.planned.append(event.steps)
    state.runs[event.run].is_planning = False


def _compensating(state: State, event: facts.WorkflowCompensating) -> None:
    state.is_compensating, state.undoing = True, list(event.runs)


def _signal(state: State, event: facts.SignalReceived) -> None:
    state.ctx = patched(state.ctx, event.patches, "ctx")


def _recovered(state: State, _event: facts.ExecutionRecovered) -> None:
    state.recoveries += 1
    state.incident, state.status = "", RUNNING


def _engine_error(state: State, event: facts.EngineError) -> None:
    state.incident, state.status = event.message, INCIDENT


def _emitted(_state: State, _event: facts.Emitted) -> None:
    """An author's own event changes nothing."""


# --- tokens, steps, arcs ---------------------------------------------------------------------------------------------


def _scheduled(state: State, event: facts.StepScheduled) -> None:
    tokens = [state.tokens.pop(token) for token in event.tokens]
    run = Run(
        id=event.run,
        step=event.step,
        args={name: value for token in tokens for name, value in token.args.items()},
        carried=_carried(tokens, event.is_join),
        sources=[token.source_step for token in tokens],
        ctx=state.ctx,
        scheduled_at=event.ts,
        deadline_at=event.ts + event.deadline_seconds if event.deadline_seconds else 0.0,
        timeout_seconds=event.timeout_seconds or 0.0,
        priority=event.priority,
        pool=event.pool,
        partition=tokens[0].partition if tokens else None,
        compensates=event.compensates,
        has_loop=event.has_loop,
    )
    state.runs[run.id] = run
    state.last_run = run.id
    if run.compensates:
        _prepare_compensation(state, run)
    else:
        count = state.counts.setdefault(event.step, StepCount())
        count.runs, count.status = count.runs + 1, "running"
    if not event.has_loop:
        _add_job(run, -1, state.ctx, run.step_values)


def _carried(tokens: list[Token], is_join: bool) -> facts.Envelope | None:
    if not is_join:
        return tokens[0].output if tokens else None
    return views.joined({token.source_step: views.handed_on(token.output) for token in tokens})


def _prepare_compensation(state: State, run: Run) -> None:
    undone = next(one for one in state.undoable if one.run == run.compensates)
    run.args, run.carried, run.step_values = undone.args, undone.output, undone.step_values
    state.undoing.remove(run.compensates)


def _add_job(run: Run, index: int, ctx: dict[str, Any], step: dict[str, Any]) -> None:
    run.jobs[index] = Job(progress=Progress(ctx=ctx, step=step), pool=run.pool, priority=run.priority)


def _step_waiting(state: State, event: facts.StepWaiting) -> None:
    token = state.tokens[event.token]
    token.is_denied, token.is_for_signal = True, event.is_for_signal


def _step_skipped(state: State, event: facts.StepSkipped) -> None:
    del state.tokens[event.token]
    count = state.counts.setdefault(event.step, StepCount())
    if not count.runs:
        count.status = "skipped"


def _step_started(state: State, event: facts.StepStarted) -> None:
    run = state.runs[event.run]
    run.phase, run.started_at = move(run, event), event.ts


def _step_done(state: State, event: facts.StepDone) -> None:
    _write(state, state.runs[event.run], event.patches)
    _end_run(state, event, event.output, None)
    if event.is_plan:
        state.runs[event.run].is_planning = True


def _step_failed(state: State, event: facts.StepFailed) -> None:
    _drop_inner_runs(state, event.run)
    _end_run(state, event, event.output or views.failed(event.error), event.error)


def _step_cancelled(state: State, event: facts.StepCancelled) -> None:
    run = state.runs[event.run]
    run.phase = move(run, event)
    _drop_inner_runs(state, event.run)
    del state.runs[event.run]
    if not run.compensates:
        state.counts[run.step].status = "cancelled"


def _drop_inner_runs(state: State, run_id: int) -> None:
    inner = [run.id for run in state.runs.values() if run.parent_run == run_id]
    for inner_id in inner:
        _drop_inner_runs(state, inner_id)
        del state.runs[inner_id]


def _end_run(state: State, event: Event, output: facts.Envelope, error: dict[str, Any] | None) -> None:
    """A step run has ended: it stays until its arcs were evaluated."""
    run = state.runs[event.run]
    run.phase = move(run, event)
    run.jobs, run.loop = {}, None
    if run.compensates:
        del state.runs[run.id]
        return
    run.output, run.error = output, error
    run.boundary, run.boundary_seq = facts.name_of(event), state.seq
    state.outputs[run.step] = output
    state.counts[run.step].status = "failed" if error else "success"


def _next_evaluated(state: State, event: facts.NextEvaluated) -> None:
    run = state.runs.pop(event.run)
    state.ctx = patched(state.ctx, event.patches, "ctx")
    view = views.boundary(
        state.execution_id, event.boundary_seq, event.boundary, run.step, run.id, run.output, run.error
    )
    for fired in event.fired:
        if fired.dedupe:
            state.sent.setdefault(fired.step, []).append(fired.dedupe)
        if not fired.is_duplicate:
            _add_token(state, run, fired, view)
    if event.is_undoable and not run.error:
        state.undoable.append(
            Undoable(run=run.id, step=run.step, args=run.args, output=run.output, step_values=run.step_values)
        )
    if event.ends_branch:
        state.output = run.output


def _add_token(state: State, run: Run, fired: facts.Fired, view: dict[str, Any]) -> None:
    state.last_token = fired.token
    state.tokens[fired.token] = Token(
        id=fired.token,
        step=fired.step,
        args=fired.args,
        output=run.output,
        event=view,
        source_run=run.id,
        source_step=run.step,
        arc=fired.arc,
        priority=fired.priority,
        partition=fired.partition,
    )


# --- loops -----------------------------------------------------------------------------------------------------------


def _loop_started(state: State, event: facts.LoopStarted) -> None:
    run = state.runs.get(event.run) or _inner_run(state, event)
    run.phase = move(run, event)
    outer = state.runs[run.parent_run].loop if run.parent_run else None
    run.loop = Loop(
        count=event.count,
        items=event.items,
        range=event.range,
        ref=event.ref,
        iterator=event.iterator,
        is_parallel=event.is_parallel,
        is_local=event.is_local,
        is_best_effort=event.is_best_effort,
        is_held=event.is_held,
        has_inner=event.has_inner,
        max_in_flight=event.max_in_flight,
        reducers=event.reducers,
        inline_bytes_max=event.inline_bytes_max,
        ctx=outer.ctx if outer else state.ctx,
        step=outer.step if outer else run.step_values,
    )


def _inner_run(state: State, event: facts.LoopStarted) -> Run:
    outer = state.runs[event.parent_run]
    run = Run(
        id=event.run,
        step=event.step,
        phase=STARTED,
        args=outer.args,
        carried=outer.carried,
        ctx=outer.ctx,
        scheduled_at=event.ts,
        started_at=event.ts,
        priority=outer.priority,
        pool=outer.pool,
        parent_run=event.parent_run,
        parent_iter=event.parent_iter,
        has_loop=True,
    )
    state.runs[run.id] = run
    state.last_run = run.id
    outer_loop = outer.loop
    assert outer_loop is not None  # noqa: S101 - an inner loop stands in an iteration of an outer one
    outer_loop.in_flight[event.parent_iter] = run.id
    return run


def outermost(state: State, run: Run) -> Run:
    """The step run that an inner loop belongs to."""
    while run.parent_run:
        run = state.runs[run.parent_run]
    return run


def _iteration_started(state: State, event: facts.LoopIterationStarted) -> None:
    run = state.runs[event.run]
    loop = _loop_of(run)
    if event.iter != loop.next:
        raise BrokenInvariant("I6", f"iteration {event.iter} of run {run.id} began, but {loop.next} is next")
    if len(loop.in_flight) >= loop.max_in_flight:
        raise BrokenInvariant("I7", f"run {run.id} has {len(loop.in_flight)} iterations in flight already")
    loop.next += 1
    loop.in_flight[event.iter] = 0
    if event.element:
        loop.elements[event.iter] = event.element[0]
    if not loop.has_inner:
        ctx = loop.ctx if loop.is_held else state.ctx
        _add_job(run, event.iter, ctx, loop.step if loop.is_held else outermost(state, run).step_values)


def _loop_of(run: Run) -> Loop:
    if run.loop is None:
        raise BrokenInvariant("I6", f"run {run.id} of step {run.step} has no loop under way")
    return run.loop


def _iteration_done(state: State, event: facts.LoopIterationDone) -> None:
    run = state.runs[event.run]
    loop = _loop_of(run)
    inner = _end_iteration(state, run, event)
    loop.done += 1
    _keep_data(loop, event.iter, event.output)
    if loop.is_held:
        folds = inner.loop.folds() if inner and inner.loop else begin(event.patches, loop.reducers)
        _hold(loop, event.iter, folds)
        if not loop.is_parallel:
            _show(loop, _seen_writes(loop, inner, event.patches))


def _seen_writes(loop: Loop, inner: Run | None, patches: list[Patch]) -> list[Patch]:
    """What the next iteration of a sequential loop sees of this one's writes."""
    if inner is None or inner.loop is None:
        return patches
    return finished(inner.loop.folds(), {"ctx": loop.ctx, "step": loop.step}, loop.reducers)


def _show(loop: Loop, patches: list[Patch]) -> None:
    loop.ctx = patched(loop.ctx, patches, "ctx")
    loop.step = patched(loop.step, patches, "step")


def _hold(loop: Loop, index: int, folds: dict[str, Any]) -> None:
    insert(
        loop.stretches,
        loop.starts,
        index,
        folds,
        lambda left, right: joined(left, right, loop.reducers, loop.is_parallel),
    )


def _end_iteration(state: State, run: Run, event: Event) -> Run | None:
    """Take an iteration out of flight; gives the run of its inner loop."""
    loop = _loop_of(run)
    if event.iter not in loop.in_flight:
        raise BrokenInvariant("I6", f"iteration {event.iter} of run {run.id} ended twice")
    inner = state.runs.pop(loop.in_flight.pop(event.iter), None)
    run.jobs.pop(event.iter, None)
    loop.elements.pop(event.iter, None)
    return inner


def _keep_data(loop: Loop, index: int, output: facts.Envelope) -> None:
    """Keep an iteration's data while all of it is small; else it is collected from the log when the loop ends."""
    if loop.is_spilled:
        return
    if "data" not in output:
        loop.is_spilled, loop.data = True, {}
        return
    loop.data[index] = output["data"]
    loop.data_bytes += len(encode(output["data"])) + 1
    if loop.data_bytes > loop.inline_bytes_max:
        loop.is_spilled, loop.data = True, {}


def _iteration_failed(state: State, event: facts.LoopIterationFailed) -> None:
    run = state.runs[event.run]
    loop = _loop_of(run)
    _end_iteration(state, run, event)
    loop.failed += 1
    loop.error = loop.error or event.error
    loop.is_closed = loop.is_closed or not loop.is_best_effort
    if loop.is_held:
        _hold(loop, event.iter, {})


def _iteration_cancelled(state: State, event: facts.LoopIterationCancelled) -> None:
    run = state.runs[event.run]
    _end_iteration(state, run, event)
    _loop_of(run).is_closed = True


def _loop_done(state: State, event: facts.LoopDone) -> None:
    run = state.runs[event.run]
    if run.parent_run:
        run.phase = move(run, event)
        run.output, run.error = event.output, event.error
        return
    _write(state, run, event.patches)
    _end_run(state, event, event.output, None)


# --- tasks -----------------------------------------------------------------------------------------------------------


def _job(state: State, event: Event) -> Job:
    run = state.runs.get(event.run)
    job = run.jobs.get(event.iter) if run else None
    if job is None:
        raise BrokenInvariant(
            "I4", f"run {event.run}, iteration {event.iter} has no job, but {facts.name_of(event)} came"
        )
    return job


def _task_started(state: State, event: facts.TaskStarted) -> None:
    fold(_job(state, event).progress, event)


def _task_done(state: State, event: facts.TaskDone) -> None:
    job = _job(state, event)
    job.waits_until = 0.0
    job.is_child_done = False
    fold(job.progress, event)
    if event.patches:
        _write(state, outermost(state, state.runs[event.run]), event.patches)


def _write(state: State, run: Run, patches: list[Patch]) -> None:
    """Writes that apply now: to ctx, and to the values of the step run."""
    state.ctx = patched(state.ctx, patches, "ctx")
    run.step_values = patched(run.step_values, patches, "step")


def _task_waiting(state: State, event: facts.TaskWaiting) -> None:
    job = _job(state, event)
    job.waits_until, job.child = event.until, event.child


def _child_done(state: State, event: facts.ChildDone) -> None:
    job = _job(state, event)
    job.child, job.is_child_done = None, True
    job.progress.child = {
        "execution_id": event.child_execution_id,
        "result": event.result,
        "output": event.output,
        "error": event.error,
    }


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
    facts.EngineError: _engine_error,
    facts.StepScheduled: _scheduled,
    facts.StepWaiting: _step_waiting,
    facts.StepSkipped: _step_skipped,
    facts.StepStarted: _step_started,
    facts.StepDone: _step_done,
    facts.StepFailed: _step_failed,
    facts.StepCancelled: _step_cancelled,
    facts.NextEvaluated: _next_evaluated,
    facts.Emitted: _emitted,
    facts.LoopStarted: _loop_started,
    facts.LoopIterationStarted: _iteration_started,
    facts.LoopIterationDone: _iteration_done,
    facts.LoopIterationFailed: _iteration_failed,
    facts.LoopIterationCancelled: _iteration_cancelled,
    facts.LoopDone: _loop_done,
    facts.TaskStarted: _task_started,
    facts.TaskDone: _task_done,
    facts.TaskWaiting: _task_waiting,
    facts.ChildDone: _child_done,
}
