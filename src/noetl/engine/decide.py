"""(playbook, state, operation) → events. The only authority for admission, routing, looping and endings (RT-07).

One small function per operation, in a table; and one per event of a worker that leads on. Whatever an operation did,
the net is settled after it: tokens are admitted, and an execution with nothing live ends, in the same batch that says
why.
"""

from __future__ import annotations

from typing import Any

from noetl.dsl.model import Playbook
from noetl.engine import commands as ops
from noetl.engine import events as facts
from noetl.engine import looping, views
from noetl.engine.admission import admit_all, break_standstill
from noetl.engine.collections import blob, encode
from noetl.engine.commands import Operation
from noetl.engine.decision import Decision, Handler
from noetl.engine.effects import pending
from noetl.engine.ending import cancel_iterations, conclude, must_wind_down, wind_down
from noetl.engine.events import Event
from noetl.engine.loop_ends import close, fail
from noetl.engine.net import Net
from noetl.engine.reported import check_reported
from noetl.engine.routing import fail_step, leave_planner, route
from noetl.engine.rows import payload_bytes_max
from noetl.engine.runs import is_put_by
from noetl.engine.state import INCIDENT, RUNNING, WAITING, Run, State
from noetl.errors import BrokenInvariant

RECOVERIES_MAX = 5
SETTLE_ROUNDS_MAX = 100_000


def decide(playbook: Playbook, net: Net, state: State, operation: Operation, now: float) -> Decision:
    """What an operation leads to. The events are applied to the state; if this raises, the state is to be dropped."""
    decision = Decision(playbook, net, state, now)
    OPERATIONS[type(operation)](decision, operation)
    _settle(decision)
    return decision


def row_status(state: State) -> str:
    """What the list of executions says: an execution that only a signal can move is waiting."""
    if state.status != RUNNING:
        return state.status
    return WAITING if not state.runs and state.tokens else RUNNING


def _settle(decision: Decision) -> None:
    """Move tokens until every one of them runs, waits or is gone; end what has nothing live."""
    state = decision.state
    for _ in range(SETTLE_ROUNDS_MAX):
        looping.tend(decision)
        if state.is_finished or state.status == INCIDENT or not (state.last_token or state.is_cancelled):
            return
        if must_wind_down(state):
            wind_down(decision)
        elif admit_all(decision) or must_wind_down(state):  # the latter: a gate failed
            _begin_loops(decision)
            continue
        if state.runs:
            return
        if not state.tokens:
            conclude(decision)
        elif not break_standstill(decision):
            return  # only a signal can move what waits
        _begin_loops(decision)
    raise BrokenInvariant("I15", "the net does not come to rest")


def _begin_loops(decision: Decision) -> None:
    for run in [run for run in decision.state.runs.values() if run.has_loop and run.phase == "scheduled"]:
        looping.begin(decision, run)


# --- operations ------------------------------------------------------------------------------------------------------


def _start(decision: Decision, op: ops.Start) -> None:
    now, playbook = decision.now, decision.playbook
    decision.emit(
        facts.PlaybookExecutionRequested(
            ts=now,
            path=op.path,
            version=op.version,
            sha=op.sha,
            payload=op.payload if (ref := _kept_outside(decision, op.payload)) is None else {},
            payload_ref=ref,
            parent_execution_id=op.parent_execution_id,
            parent_key=op.parent_key,
            depth=op.depth,
            trace_id=op.trace_id,
            parent_span_id=op.parent_span_id,
            rerun_of=op.rerun_of,
        )
    )
    workload = merged(playbook.workload, op.payload)
    ref = _kept_outside(decision, workload)
    decision.emit(facts.PlaybookRequestEvaluated(ts=now, workload={} if ref else workload, ref=ref))
    decision.state.workload = workload  # the same, or what the reference stands for
    decision.emit(facts.WorkflowStarted(ts=now, entry=playbook.entry, token=1))


def _kept_outside(decision: Decision, data: dict[str, Any]) -> dict[str, Any] | None:
    """The reference of data that no row can hold (RS-01)."""
    encoded = encode(data)
    return blob(decision, encoded) if len(encoded) > payload_bytes_max(decision.playbook) else None


def merged(defaults: dict[str, Any], payload: dict[str, Any]) -> dict[str, Any]:
    """SC-01: the payload over the defaults; mappings merge, lists replace."""
    both = dict(defaults)
    for key, value in payload.items():
        below = both.get(key)
        both[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return both


def _report(decision: Decision, op: ops.Report) -> None:
    for event in op.events:
        check_reported(decision.state, op, event)
        decision.emit(event)
        follow = CONSEQUENCES.get(type(event))
        if follow:
            follow(decision, event)


def _run_ended(decision: Decision, event: Event) -> None:
    run = decision.state.runs.get(event.run)
    if run is not None:  # a compensation run is gone: nothing is routed
        route(decision, run)


def _iteration_ended(decision: Decision, event: Event) -> None:
    decision.look_at(decision.state.runs[event.run])


CONSEQUENCES: dict[type[Event], Handler] = {
    facts.StepDone: _run_ended,
    facts.StepFailed: _run_ended,
    facts.LoopIterationDone: _iteration_ended,
    facts.LoopIterationFailed: _iteration_ended,
}


def _cancel(decision: Decision, op: ops.Cancel) -> None:
    state = decision.state
    if state.is_cancelled:
        return
    is_held_up = state.status == INCIDENT and state.is_compensating
    decision.emit(facts.PlaybookCancelRequested(ts=decision.now, reason=op.reason))
    if is_held_up:  # what undoes it is not stopped by a cancel, and its jobs left the queue with the incident
        _take_up(decision)


def _expire(decision: Decision, op: ops.Expire) -> None:
    run = decision.state.runs.get(op.run)
    if run is None or run.boundary or decision.state.status == INCIDENT:
        return
    _drop_children(decision, run, op.iter)
    error = {"kind": op.kind, "retryable": True, "message": op.message, "details": {}, "step": run.step}
    if op.iter >= 0:
        _expire_iteration(decision, run, op.iter, error)
        return
    cancel_iterations(decision, run, op.message)
    if run.compensates:
        output = views.failed(error)
        decision.emit(facts.StepFailed(ts=decision.now, run=run.id, step=run.step, error=error, output=output))
    else:
        fail_step(decision, run, error)


def _drop_children(decision: Decision, run: Run, index: int) -> None:
    """Nobody waits any more for the children of a run, or of one of its iterations."""
    for job_index, job in run.jobs.items():
        if job.child is not None and index in (-1, job_index):
            decision.after(ops.ChildDropped(parent_key=job.child["key"]))
    for inner in decision.state.runs.values():
        if inner.parent_run == run.id and index in (-1, inner.parent_iter):
            _drop_children(decision, inner, -1)


def _expire_iteration(decision: Decision, run: Run, index: int, error: dict[str, Any]) -> None:
    if index in run.jobs:
        decision.emit(facts.LoopIterationFailed(ts=decision.now, run=run.id, iter=index, error=error))
        decision.look_at(run)


def _child_ended(decision: Decision, op: ops.ChildEnded) -> None:
    run = decision.state.runs.get(op.run)
    job = run.jobs.get(op.iter) if run else None
    if job is None or job.child is None or job.child.get("key") != op.key:
        return
    if op.result == ops.TIMEOUT:
        decision.after(ops.ChildDropped(parent_key=op.key))
    decision.emit(
        facts.ChildDone(
            ts=decision.now,
            run=op.run,
            iter=op.iter,
            task=op.task,
            child_execution_id=op.child_execution_id,
            result=op.result,
            output=_fitting(decision, op.output),
            error=op.error,
        )
    )


def _fitting(decision: Decision, output: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a child came to, as its caller's log can hold it: the child may have had a wider limit (RS-06)."""
    if output is None or len(encode(output)) <= payload_bytes_max(decision.playbook):
        return output
    kept = {name: output.get(name) for name in ("status", "ref", "error", "meta")}
    if output.get("data") is None:
        return kept
    return views.stored(kept, kept["ref"] or blob(decision, encode(output["data"])))


def _signal(decision: Decision, op: ops.Signal) -> None:
    decision.emit(facts.SignalReceived(ts=decision.now, patches=op.patches))


def _fork(decision: Decision, op: ops.Fork) -> None:
    """The state is that of the prefix; whatever was under way there is taken up here."""
    ref = _kept_outside(decision, op.workload) if op.workload is not None else None
    decision.emit(
        facts.ExecutionForked(
            ts=decision.now,
            source_execution_id=op.source_execution_id,
            source_seq=len(op.prefix),
            path=op.path,
            version=op.version,
            sha=op.sha,
            trace_id=op.trace_id,
            workload=None if ref else op.workload,
            ref=ref,
            patches=op.patches,
            is_clock_anew=True,
        )
    )
    decision.ask_every_gate()
    if op.workload is not None:
        decision.state.workload = op.workload  # the same, or what the reference stands for
    if op.reopened:
        looping.go_on(decision, decision.state.runs[op.reopened], op.patches)
    _take_up(decision)


def _recover(decision: Decision, _op: ops.Recover) -> None:
    decision.emit(facts.ExecutionRecovered(ts=decision.now))
    if not decision.state.last_token:
        decision.emit(facts.EngineError(ts=decision.now, message="it never began, so it cannot go on; start it anew"))
        return
    if decision.state.recoveries >= RECOVERIES_MAX:
        message = f"taken up {RECOVERIES_MAX} times in a row without one step forward; does a task end the process?"
        decision.emit(facts.EngineError(ts=decision.now, message=message))
        return
    _take_up(decision)


def _take_up(decision: Decision) -> None:
    decision.changes.extend(pending(decision.state))
    for run in list(decision.state.runs.values()):
        _recover_run(decision, run)
    _begin_loops(decision)


def _recover_run(decision: Decision, run: Run) -> None:
    """What was asked of the outside and is not in the log is asked again."""
    if run.is_planning or run.boundary:
        route(decision, run)
    elif run.has_loop and run.phase == "started" and run.loop is None:
        looping.reopen(decision, run)
    elif run.loop:
        if is_put_by(decision.state, run):
            return  # its iteration takes it up
        looping.reopen_inner(decision, run)
        looping.fill(decision, run)
        if not run.loop.is_spilled:
            decision.look_at(run)  # a fork may begin right after its last iteration


def _collected(decision: Decision, op: ops.Collected) -> None:
    run = decision.state.runs.get(op.run)
    if run is None or run.loop is None or not run.loop.is_over:
        return
    if op.error is not None:
        fail(decision, run, op.error)
        return
    close(decision, run, views.stored(views.NOTHING, op.ref))


def _counted(decision: Decision, op: ops.Counted) -> None:
    run = decision.state.runs.get(op.run)
    if run is None or run.boundary:
        return
    inner = run.loop.in_flight.get(op.iter) if run.loop else None
    if (run.loop is None) if op.iter < 0 else (inner == 0):
        looping.counted(decision, run, op)


def _element_read(decision: Decision, op: ops.ElementRead) -> None:
    run = decision.state.runs.get(op.run)
    if run is not None:
        looping.element_read(decision, run, op)


def _continue(decision: Decision, op: ops.Continue) -> None:
    run = decision.state.runs.get(op.run)
    if run is not None and run.loop is not None:
        decision.look_at(run)


def _planned(decision: Decision, op: ops.Planned) -> None:
    run = decision.state.runs.get(op.run)
    if run is None or not run.is_planning:
        return
    decision.emit(facts.WorkflowExtended(ts=decision.now, run=run.id, steps=op.steps))
    if op.error is None and not op.steps:
        route(decision, run)
    else:
        leave_planner(decision, run, op)


def _incident(decision: Decision, op: ops.Incident) -> None:
    if decision.state.status != INCIDENT:
        decision.emit(facts.EngineError(ts=decision.now, message=op.message))


OPERATIONS: dict[type[Operation], Handler] = {
    ops.Start: _start,
    ops.Fork: _fork,
    ops.Report: _report,
    ops.Cancel: _cancel,
    ops.Expire: _expire,
    ops.ChildEnded: _child_ended,
    ops.Signal: _signal,
    ops.Recover: _recover,
    ops.Collected: _collected,
    ops.Counted: _counted,
    ops.ElementRead: _element_read,
    ops.Continue: _continue,
    ops.Planned: _planned,
    ops.Incident: _incident,
}
