"""The end of a loop: its data as one list, the writes of its iterations made one, and exactly one boundary (RT-03)."""

from __future__ import annotations

from typing import Any

from noetl.engine import events as facts
from noetl.engine import views
from noetl.engine.collections import blob, encode
from noetl.engine.commands import ListWanted
from noetl.engine.decision import Decision
from noetl.engine.events import Envelope, Patch
from noetl.engine.merging import MergeFault, finished
from noetl.engine.output import Error
from noetl.engine.patches import patched
from noetl.engine.routing import fail_step, route
from noetl.engine.rows import check_written, payload_bytes_max
from noetl.engine.state import Loop, Run
from noetl.engine.values import Fault, check_ctx, writes


def finish(decision: Decision, run: Run) -> None:
    """All iterations have ended."""
    loop = run.loop
    assert loop is not None  # noqa: S101 - only loops are finished
    if loop.error and not loop.is_best_effort:
        fail(decision, run, loop.error)
    elif loop.is_spilled:
        decision.after(ListWanted(execution_id=decision.state.execution_id, run=run.id))
    else:
        _close_inline(decision, run, loop)


def _close_inline(decision: Decision, run: Run, loop: Loop) -> None:
    data = [loop.data.get(index) for index in range(loop.count)]
    output: Envelope = {**views.NOTHING, "data": data}
    if decision.step(run).wants_reference and not run.parent_run:
        output["ref"] = blob(decision, encode(data))
    close(decision, run, output)


def close(decision: Decision, run: Run, output: Envelope) -> None:
    """The loop's data is known: merge what its iterations wrote, and end."""
    loop = run.loop
    assert loop is not None  # noqa: S101
    output = {**output, "loop": counts(loop)}
    try:
        if run.parent_run:
            _check_inner(decision, run, loop)
            _close_inner(decision, run, loop, output)
        else:
            patches = merged_writes(run, loop)
            patches += _step_set(decision, run, output, patches)
            check_ctx(decision.state.ctx, patches, decision.step(run).place)
            check_written(decision.playbook, [patches], decision.step(run).place)
            _close_outermost(decision, run, loop, output, patches)
    except MergeFault as problem:
        fail(decision, run, Error(kind=problem.kind, message=problem.message).as_data())
    except Fault as problem_fault:
        fail(decision, run, problem_fault.error.as_data())


def counts(loop: Loop) -> dict[str, Any]:
    return {
        "total": loop.count,
        "done": loop.done,
        "failed": loop.failed,
        "skipped": loop.count - loop.done - loop.failed,
    }


def merged_writes(run: Run, loop: Loop) -> list[Patch]:
    """SC-12: folded once, from the values before the loop."""
    return finished(loop.folds(), {"ctx": run.ctx, "step": run.step_values}, loop.reducers) if loop.is_held else []


def _check_inner(decision: Decision, run: Run, loop: Loop) -> None:
    outer = decision.state.runs[run.parent_run].loop
    if loop.is_held and outer is not None:
        finished(loop.folds(), {"ctx": outer.ctx, "step": outer.step}, loop.reducers)


def _close_inner(decision: Decision, run: Run, loop: Loop, output: Envelope) -> None:
    outer, index = decision.state.runs[run.parent_run], run.parent_iter
    decision.emit(
        facts.LoopDone(ts=decision.now, run=run.id, step=run.step, output=views.without_data(output), **counts(loop))
    )
    decision.emit(facts.LoopIterationDone(ts=decision.now, run=outer.id, iter=index, output=output))
    decision.look_at(outer)


def _step_set(decision: Decision, run: Run, output: Envelope, patches: list[Patch]) -> list[Patch]:
    """SC-11: with a loop the server evaluates the step's set, at the boundary."""
    step = decision.step(run)
    return writes(step.set, set_scope(decision, run, output, patches)) if step.set else []


def set_scope(decision: Decision, run: Run, output: Envelope, patches: list[Patch]) -> dict[str, Any]:
    """What a step's set reads after a loop whose iterations wrote `patches`."""
    return decision.scope(
        run,
        ctx=patched(decision.state.ctx, patches, "ctx"),
        step=patched(run.step_values, patches, "step"),
        input=decision.step_input(run),
        output=views.readable(output),
    )


def _close_outermost(decision: Decision, run: Run, loop: Loop, output: Envelope, patches: list[Patch]) -> None:
    """The loop's boundary; data that the writes leave no room for is stored (RS-01)."""
    if patches and "data" in output and len(encode([output, patches])) > payload_bytes_max(decision.playbook):
        output = views.stored(output, output["ref"] or blob(decision, encode(output["data"])))
    decision.emit(
        facts.LoopDone(ts=decision.now, run=run.id, step=run.step, output=output, patches=patches, **counts(loop))
    )
    route(decision, run)


def fail(decision: Decision, run: Run, error: dict[str, Any]) -> None:
    """A loop has failed: an inner one takes its iteration along, the outermost one its step."""
    loop = run.loop
    assert loop is not None  # noqa: S101
    if not run.parent_run:
        fail_step(decision, run, error, counts(loop))
        return
    outer, index = decision.state.runs[run.parent_run], run.parent_iter
    output = {**views.failed(error), "loop": counts(loop)}
    decision.emit(
        facts.LoopDone(ts=decision.now, run=run.id, step=run.step, output=output, error=error, **counts(loop))
    )
    decision.emit(facts.LoopIterationFailed(ts=decision.now, run=outer.id, iter=index, error=error, output=output))
    decision.look_at(outer)
