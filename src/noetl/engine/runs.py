"""Step runs in the state, as several events change them: their jobs, their writes, their end."""

from __future__ import annotations

from typing import Any

from noetl.engine import events as facts
from noetl.engine.events import Event, Patch
from noetl.engine.lifecycle import move
from noetl.engine.patches import patched
from noetl.engine.state import Job, Progress, Run, State


def outermost(state: State, run: Run) -> Run:
    """The step run that an inner loop belongs to."""
    while run.parent_run:
        run = state.runs[run.parent_run]
    return run


def is_put_by(state: State, run: Run) -> bool:
    """Whether it is an inner loop of an iteration that waits to be done again."""
    while run.parent_run:
        outer = state.runs[run.parent_run]
        if outer.loop is not None and run.parent_iter in outer.loop.again:
            return True
        run = outer
    return False


def add_job(run: Run, index: int, ctx: dict[str, Any], step: dict[str, Any]) -> None:
    run.jobs[index] = Job(progress=Progress(ctx=ctx, step=step), pool=run.pool, priority=run.priority)


def start_clock(run: Run, now: float) -> None:
    """Of a fork: what a run may take, it may take from here on."""
    if run.deadline_at:
        run.deadline_at += now - run.scheduled_at
    run.scheduled_at = now
    run.started_at = now if run.started_at else 0.0


def write(state: State, run: Run, patches: list[Patch]) -> None:
    """Writes that apply now: to ctx, and to the values of the step run."""
    if patches:
        state.ctx = patched(state.ctx, patches, "ctx")
        run.step_values = patched(run.step_values, patches, "step")


def end_run(state: State, event: Event, output: facts.Envelope, error: dict[str, Any] | None) -> None:
    """A step run has ended: it stays until its arcs were evaluated."""
    run = state.runs[event.run]
    run.phase = move(run, event)
    run.jobs, run.loop = {}, None
    if run.compensates:
        del state.runs[run.id]
        return
    run.output, run.error = output, error
    run.boundary, run.boundary_seq = facts.name_of(event), state.seq
    run.boundary_at, run.boundary_source = event.ts, facts.source_of(event)
    state.outputs[run.step] = output
    state.counts[run.step].status = "failed" if error else "success"


def drop_inner_runs(state: State, run_id: int) -> None:
    inner = [run.id for run in state.runs.values() if run.parent_run == run_id]
    for inner_id in inner:
        drop_inner_runs(state, inner_id)
        del state.runs[inner_id]
