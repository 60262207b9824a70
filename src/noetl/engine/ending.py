"""How an execution ends: nothing is live, a failure nobody handled, or a cancel; compensation; the last event."""

from __future__ import annotations

from noetl.engine import events as facts
from noetl.engine.admission import retire
from noetl.engine.commands import ChildrenCancelled, ParentTold
from noetl.engine.decision import Decision
from noetl.engine.state import CANCELLED, FAILED, SUCCESS, Run, State


def must_wind_down(state: State) -> bool:
    """Whether what is live has to stop."""
    return (state.is_cancelled or (state.is_failing and not state.is_best_effort)) and not state.is_compensating


def wind_down(decision: Decision) -> None:
    """Stop all that runs and waits. Log order decides every race: later reports find no job."""
    state = decision.state
    reason = "the execution was cancelled" if state.is_cancelled else "the workflow failed"
    for run in [run for run in state.runs.values() if not run.parent_run]:
        cancel_run(decision, run, reason)
    retire(decision, sorted(state.tokens.values(), key=lambda token: token.id), reason)
    decision.after(ChildrenCancelled(execution_id=state.execution_id))


def cancel_run(decision: Decision, run: Run, reason: str) -> None:
    cancel_iterations(decision, run, reason)
    decision.emit(facts.StepCancelled(ts=decision.now, run=run.id, step=run.step, reason=reason))


def cancel_iterations(decision: Decision, run: Run, reason: str) -> None:
    """End the iterations of a run that are in flight, inner loops first."""
    if run.loop is None:
        return
    for index, inner in list(run.loop.in_flight.items()):
        if inner:
            cancel_iterations(decision, decision.state.runs[inner], reason)
        decision.emit(facts.LoopIterationCancelled(ts=decision.now, run=run.id, iter=index, reason=reason))


def conclude(decision: Decision) -> None:
    """Nothing is live any more: undo what can be undone, then end."""
    state = decision.state
    if not state.is_compensating and (state.is_failing or state.is_cancelled) and state.undoable:
        runs = [one.run for one in reversed(state.undoable)]  # ST-12: reverse order of completion
        decision.emit(facts.WorkflowCompensating(ts=decision.now, runs=runs))
    if state.undoing:
        _undo(decision, state.undoing[0])
    else:
        finish(decision)


def _undo(decision: Decision, run_id: int) -> None:
    undone = next(one for one in decision.state.undoable if one.run == run_id)
    step = decision.playbook.steps[undone.step]
    decision.emit(
        facts.StepScheduled(
            ts=decision.now,
            run=decision.state.last_run + 1,
            step=undone.step,
            tokens=[],
            priority=step.priority,
            pool=step.pool or "",
            compensates=run_id,
        )
    )


def finish(decision: Decision) -> None:
    """The last events: why it ended, and that it is over."""
    state = decision.state
    result = CANCELLED if state.is_cancelled else FAILED if state.is_failing else SUCCESS
    output = _output(decision) if result == SUCCESS else state.output
    decision.emit(facts.WorkflowFinished(ts=decision.now, result=result, output=output, error=_error(state)))
    decision.emit(facts.PlaybookProcessed(ts=decision.now, result=result))
    tell_parent(decision)


def _output(decision: Decision) -> facts.Envelope | None:
    """RT-13: that of the last step run that ended a branch; executor.spec.output may name a step."""
    named = decision.playbook.output_step
    return decision.state.outputs.get(named) if named else decision.state.output


def _error(state: State) -> dict[str, object] | None:
    if state.is_cancelled and not state.is_failing:
        return {"kind": "cancelled", "retryable": False, "message": "the execution was cancelled", "details": {}}
    return state.error


def tell_parent(decision: Decision) -> None:
    state = decision.state
    if state.parent_execution_id is not None and state.parent_key is not None:
        decision.after(
            ParentTold(
                parent_execution_id=state.parent_execution_id,
                parent_key=state.parent_key,
                child_execution_id=state.execution_id,
                result=state.status,
                output=state.output,
                outputs=state.outputs,
                error=state.error,
            )
        )
