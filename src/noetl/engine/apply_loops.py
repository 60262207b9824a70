"""Folding what happened to loops and their iterations. See apply.py."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.engine import events as facts
from noetl.engine.events import Event, Patch
from noetl.engine.lifecycle import move
from noetl.engine.merging import begin, finished, insert, joined
from noetl.engine.patches import patched
from noetl.engine.runs import add_job, drop_inner_runs, end_run, outermost, start_clock, write
from noetl.engine.state import STARTED, Loop, Run, State
from noetl.errors import BrokenInvariant

encode = msgspec.json.Encoder().encode
NULL_BYTES = 4  # LP-08: the place of a failed iteration is null


def loop_started(state: State, event: facts.LoopStarted) -> None:
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


def iteration_started(state: State, event: facts.LoopIterationStarted) -> None:
    run = state.runs[event.run]
    loop = _loop_of(run)
    if event.iter != loop.next and event.iter not in loop.again:
        raise BrokenInvariant("I6", f"iteration {event.iter} of run {run.id} began, but {loop.following} is next")
    if len(loop.in_flight) >= loop.max_in_flight:
        raise BrokenInvariant("I7", f"run {run.id} has {len(loop.in_flight)} iterations in flight already")
    if event.iter == loop.next:
        loop.next += 1
    loop.in_flight[event.iter] = loop.again.pop(event.iter, 0)
    if event.element:
        loop.elements[event.iter] = event.element[0]
    if not loop.has_inner:
        ctx = loop.ctx if loop.is_held else state.ctx
        add_job(run, event.iter, ctx, loop.step if loop.is_held else outermost(state, run).step_values)


def _loop_of(run: Run) -> Loop:
    if run.loop is None:
        raise BrokenInvariant("I6", f"run {run.id} of step {run.step} has no loop under way")
    return run.loop


def iteration_done(state: State, event: facts.LoopIterationDone) -> None:
    run = state.runs[event.run]
    loop = _loop_of(run)
    inner = _end_iteration(state, run, loop, event)
    loop.done += 1
    if not loop.is_spilled:
        _keep_data(loop, event.iter, event.output)
    if loop.is_held:
        if inner and inner.loop:
            folds = inner.loop.folds()
        else:
            folds = begin(event.patches, loop.reducers) if event.patches else {}
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


def _end_iteration(state: State, run: Run, loop: Loop, event: Event) -> Run | None:
    """Take an iteration out of flight; gives the run of its inner loop."""
    inner = loop.in_flight.pop(event.iter, None)
    if inner is None:
        raise BrokenInvariant("I6", f"iteration {event.iter} of run {run.id} ended twice")
    run.jobs.pop(event.iter, None)
    if loop.elements:
        loop.elements.pop(event.iter, None)
    if not inner:
        return None
    found = state.runs.pop(inner, None)
    if found and found.loop and found.loop.again:
        drop_inner_runs(state, inner)
    return found


def _keep_data(loop: Loop, index: int, output: facts.Envelope) -> None:
    """Keep an iteration's data while all of it is small; else it is collected from the log when the loop ends."""
    if "data" not in output:
        loop.is_spilled, loop.data = True, {}
        return
    data = loop.data[index] = output["data"]
    _count_bytes(loop, NULL_BYTES if data is None else len(encode(data)))


def _count_bytes(loop: Loop, size: int) -> None:
    loop.data_bytes += size + 1
    if loop.data_bytes > loop.inline_bytes_max:
        loop.is_spilled, loop.data = True, {}


def iteration_failed(state: State, event: facts.LoopIterationFailed) -> None:
    run = state.runs[event.run]
    loop = _loop_of(run)
    _end_iteration(state, run, loop, event)
    loop.failed += 1
    _count_bytes(loop, NULL_BYTES)
    loop.error = loop.error or event.error
    loop.is_closed = loop.is_closed or not loop.is_best_effort
    if loop.is_held:
        _hold(loop, event.iter, {})


def iteration_cancelled(state: State, event: facts.LoopIterationCancelled) -> None:
    run = state.runs[event.run]
    loop = _loop_of(run)
    _end_iteration(state, run, loop, event)
    loop.is_closed = True


def loop_done(state: State, event: facts.LoopDone) -> None:
    run = state.runs[event.run]
    if run.parent_run:
        run.phase = move(run, event)
        run.output, run.error = event.output, event.error
        return
    write(state, run, event.patches)
    end_run(state, event, event.output, None)


def loop_reopened(state: State, event: facts.LoopReopened) -> None:
    run = state.runs[event.run]
    loop = _loop_of(run)
    run.phase = move(run, event)
    if event.iter >= 0:
        _put_back(run, loop, event.iter)
        return
    start_clock(run, event.ts)
    run.ctx, loop.ctx = patched(run.ctx, event.patches, "ctx"), patched(loop.ctx, event.patches, "ctx")
    loop.max_in_flight = event.max_in_flight or loop.max_in_flight
    loop.again = dict(sorted(loop.again.items()))


def _put_back(run: Run, loop: Loop, index: int) -> None:
    """Out of flight, to what is still to do; an inner loop stays as far as it is."""
    if index not in loop.in_flight:
        raise BrokenInvariant("I6", f"iteration {index} of run {run.id} is reopened, but not in flight")
    inner = loop.again[index] = loop.in_flight.pop(index)
    run.jobs.pop(index, None)
    if not inner:
        loop.elements.pop(index, None)
