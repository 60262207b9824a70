"""Folding what happened to tokens, step runs and arcs. See apply.py."""

from __future__ import annotations

from typing import Any

from noetl.engine import events as facts
from noetl.engine import views
from noetl.engine.lifecycle import move
from noetl.engine.patches import patched
from noetl.engine.runs import add_job, drop_inner_runs, end_run, write
from noetl.engine.state import Run, State, StepCount, Token, Undoable


def scheduled(state: State, event: facts.StepScheduled) -> None:
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
        add_job(run, -1, state.ctx, run.step_values)


def _carried(tokens: list[Token], is_join: bool) -> facts.Envelope | None:
    if not is_join:
        return tokens[0].output if tokens else None
    return views.joined({token.source_step: views.handed_on(token.output) for token in tokens})


def _prepare_compensation(state: State, run: Run) -> None:
    undone = next(one for one in state.undoable if one.run == run.compensates)
    run.args, run.ctx, run.carried = undone.args, undone.ctx, undone.carried
    run.output, run.step_values = undone.output, undone.step_values
    state.undoing.remove(run.compensates)


def step_waiting(state: State, event: facts.StepWaiting) -> None:
    token = state.tokens[event.token]
    token.is_denied, token.is_for_signal = True, event.is_for_signal


def step_skipped(state: State, event: facts.StepSkipped) -> None:
    del state.tokens[event.token]
    count = state.counts.setdefault(event.step, StepCount())
    if not count.runs:
        count.status = "skipped"


def step_started(state: State, event: facts.StepStarted) -> None:
    run = state.runs[event.run]
    run.phase, run.started_at = move(run, event), event.ts


def step_done(state: State, event: facts.StepDone) -> None:
    write(state, state.runs[event.run], event.patches)
    end_run(state, event, event.output, None)
    if event.is_plan:
        state.runs[event.run].is_planning = True


def step_failed(state: State, event: facts.StepFailed) -> None:
    drop_inner_runs(state, event.run)
    end_run(state, event, event.output or views.failed(event.error), event.error)


def step_cancelled(state: State, event: facts.StepCancelled) -> None:
    run = state.runs[event.run]
    run.phase = move(run, event)
    drop_inner_runs(state, event.run)
    del state.runs[event.run]
    if not run.compensates:
        state.counts[run.step].status = "cancelled"


def next_evaluated(state: State, event: facts.NextEvaluated) -> None:
    run = state.runs.pop(event.run)
    if event.patches:
        state.ctx = patched(state.ctx, event.patches, "ctx")
    view = views.boundary(state.execution_id, run)
    for fired in event.fired:
        if fired.dedupe:
            state.sent.setdefault(fired.step, []).append(fired.dedupe)
        if not fired.is_duplicate:
            _add_token(state, run, fired, view)
    if event.is_undoable and not run.error:
        state.undoable.append(
            Undoable(
                run=run.id,
                step=run.step,
                args=run.args,
                ctx=run.ctx,
                carried=run.carried,
                output=run.output,
                step_values=run.step_values,
            )
        )
    if event.ends_branch:
        state.output = run.output


def _add_token(state: State, run: Run, fired: facts.Fired, view: dict[str, Any]) -> None:
    state.last_token = fired.token or state.last_token + 1
    state.tokens[state.last_token] = Token(
        id=state.last_token,
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
