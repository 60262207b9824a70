"""Loops: the collection rendered once, iterations started in index order under a window, one boundary at the end.

    begin ─→ loop.started ─→ fill ─→ loop.iteration.started … ─→ ended ─→ fill … ─→ close ─→ loop.done | step.failed

An inner loop is a run of its own that stands in one iteration of the outer one; when it has ended, that iteration has.
Nothing here is proportional to the length of a collection: a long one is kept outside the state, and so is the list of
what its iterations gave (`commands.ListWanted`).
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from noetl.dsl.model import Loop as LoopModel
from noetl.dsl.model import Step
from noetl.engine import events as facts
from noetl.engine import scopes, views
from noetl.engine.apply import outermost
from noetl.engine.commands import (
    Around,
    BlobMade,
    Counted,
    CountWanted,
    ElementRead,
    ElementWanted,
    ListWanted,
    MoreWanted,
)
from noetl.engine.decision import Decision
from noetl.engine.events import Envelope, Patch
from noetl.engine.merging import MergeFault, finished
from noetl.engine.output import Error
from noetl.engine.patches import patched
from noetl.engine.routing import route
from noetl.engine.state import Loop, Run, State
from noetl.engine.values import Fault, fault, plain, rendered, writes
from noetl.references import JSON, Reference, is_reference

WINDOW_MAX = 1000  # iterations in flight where max_in_flight is not set
EVENTS_MAX = 5000  # of one decision; what is left comes with the next
ROW_RESERVE_BYTES = 8 * 1024  # of an event row, for all but its data

encode = msgspec.json.Encoder().encode


def begin(decision: Decision, run: Run) -> None:
    """A step with a loop was scheduled: it starts at once, on the server."""
    decision.emit(facts.StepStarted(ts=decision.now, run=run.id, step=run.step))
    reopen(decision, run)


def reopen(decision: Decision, run: Run) -> None:
    """Make the collection of a step run that has none yet."""
    loop = decision.step(run).loop
    if loop:
        _open(decision, loop, Spot(run.id))


class Spot(msgspec.Struct, frozen=True):
    """Where a loop stands: the run it is, or will be; and the loop and the iteration outside it."""

    run: int
    outer: Run | None = None
    index: int = -1


def _open(decision: Decision, loop: LoopModel, spot: Spot) -> None:
    """Render a collection and start its loop."""
    top = _top(decision, spot)
    try:
        found = rendered(loop.collection, _scope(decision, top, loop, spot))
        if is_reference(found):
            run = spot.outer.id if spot.outer else spot.run
            decision.after(CountWanted(execution_id=decision.state.execution_id, run=run, iter=spot.index, ref=found))
            return
        collection = _collection(decision, found, loop)
    except Fault as problem:
        _cannot_open(decision, top, spot, problem.error.as_data())
        return
    start(decision, loop, spot, collection)


def _top(decision: Decision, spot: Spot) -> Run:
    return outermost(decision.state, spot.outer or decision.state.runs[spot.run])


def counted(decision: Decision, run: Run, op: Counted) -> None:
    """The length of a stored list is known."""
    model = model_of(decision, run)
    if op.iter < 0:
        loop, spot = model, Spot(run.id)
    else:
        assert model.inner is not None  # noqa: S101 - an iteration was asked for, so there is an inner loop
        loop, spot = model.inner, Spot(decision.state.last_run + 1, run, op.iter)
    if op.error:
        _cannot_open(decision, _top(decision, spot), spot, op.error)
    else:
        start(decision, loop, spot, {"count": op.count, "ref": op.ref})


def _scope(decision: Decision, top: Run, loop: LoopModel, spot: Spot) -> dict[str, Any]:
    outer = spot.outer
    scope = scopes.server_scope(decision.state, top, output=views.readable(top.carried))
    if "input" in loop.collection.reads:
        scope["input"] = decision.step_input(top)
    if outer is not None and outer.loop is not None:
        chain = around(decision.state, outer, spot.index)
        scope.update({**scopes.iterators(chain), **{name: scope[name] for name in ("workload", "ctx", "input")}})
        scope["iter"] = scopes.iteration(chain, {})
        if outer.loop.is_held:
            scope["ctx"] = outer.loop.ctx
    return scope


def around(state: State, run: Run, index: int) -> list[Around]:
    """The iterations that iteration `index` of a run's loop stands in, itself last."""
    loop = run.loop
    outside = around(state, state.runs[run.parent_run], run.parent_iter) if run.parent_run else []
    if loop is None:
        return outside
    element = loop.elements.get(index) if loop.ref else element_at(loop, index)
    return [*outside, Around(iterator=loop.iterator, index=index, total=loop.count, element=element)]


def element_at(loop: Loop, index: int) -> Any:
    """The element of a loop whose collection is in the state."""
    if loop.range is not None:
        start, _, step = loop.range
        return start + index * step
    return loop.items[index] if loop.items is not None else None


def _collection(decision: Decision, found: Any, loop: LoopModel) -> dict[str, Any]:
    """LP-02: a list, a lazy range; anything else is an error."""
    if isinstance(found, range):
        return {"count": len(found), "range": [found.start, found.stop, found.step]}
    if not isinstance(found, list | tuple):
        kind = {dict: "a mapping", str: "text", type(None): "nothing"}.get(type(found), type(found).__name__)
        raise fault("type", f"loop.in needs a list, a range or a reference to a list, but got {kind}", loop.place)
    items = plain(found, loop.place)
    data = encode(items)
    if len(data) <= inline_bytes_max(decision):
        return {"count": len(items), "items": items}
    return {"count": len(items), "ref": blob(decision, data)}


def inline_bytes_max(decision: Decision) -> int:
    limit = decision.playbook.settings.max_payload_bytes
    return max(limit - ROW_RESERVE_BYTES, limit // 2)


def blob(decision: Decision, data: bytes) -> dict[str, Any]:
    """Have bytes stored before the events are committed; gives their reference."""
    sha256 = hashlib.sha256(data).hexdigest()
    decision.after(BlobMade(data=data, sha256=sha256))
    return Reference(
        type="blob", locator=f"sha256:{sha256}", content_type=JSON, bytes=len(data), sha256=sha256
    ).as_data()


def start(decision: Decision, loop: LoopModel, spot: Spot, collection: dict[str, Any]) -> None:
    """The collection is known: the loop begins."""
    step = decision.step(_top(decision, spot))
    in_flight = (loop.max_in_flight or WINDOW_MAX) if loop.is_parallel else 1
    decision.emit(
        facts.LoopStarted(
            ts=decision.now,
            run=spot.run,
            step=step.name,
            iterator=loop.iterator,
            is_parallel=loop.is_parallel,
            max_in_flight=min(in_flight, WINDOW_MAX),
            is_local=not loop.is_distributed,
            is_best_effort=step.is_best_effort,
            is_held=is_held(step),
            reducers=loop.reducers,
            has_inner=loop.inner is not None,
            inline_bytes_max=inline_bytes_max(decision),
            parent_run=spot.outer.id if spot.outer else 0,
            parent_iter=spot.index,
            **collection,
        )
    )
    ended(decision, decision.state.runs[spot.run])


def is_held(step: Step) -> bool:
    """Whether some loop of a nest is parallel."""
    loop = step.loop
    while loop and not loop.is_parallel:
        loop = loop.inner
    return loop is not None


def _cannot_open(decision: Decision, top: Run, spot: Spot, error: dict[str, Any]) -> None:
    error = {**error, "step": top.step}
    if spot.outer is None:
        fail_step(decision, top, error)
        return
    outer = spot.outer
    decision.emit(facts.LoopIterationFailed(ts=decision.now, run=outer.id, iter=spot.index, error=error))
    ended(decision, outer)


def model_of(decision: Decision, run: Run) -> LoopModel:
    """The loop of the playbook that a run is an instance of."""
    depth, here = 0, run
    while here.parent_run:
        depth, here = depth + 1, decision.state.runs[here.parent_run]
    loop = decision.step(run).loop
    for _ in range(depth):
        assert loop is not None  # noqa: S101 - a run of an inner loop is made from one
        loop = loop.inner
    assert loop is not None  # noqa: S101
    return loop


def fill(decision: Decision, run: Run) -> None:
    """Start as many iterations as the window allows."""
    model = model_of(decision, run)
    while run.loop and has_room(run.loop) and len(decision.events) <= EVENTS_MAX:
        if model.inner and run.loop.ref:
            index = run.loop.next
            decision.after(ElementWanted(execution_id=decision.state.execution_id, run=run.id, iter=index))
            return
        _start_iteration(decision, run, run.loop.next, model.inner)
    if run.loop and has_room(run.loop):
        decision.after(MoreWanted(execution_id=decision.state.execution_id, run=run.id))


def has_room(loop: Loop) -> bool:
    """Whether another iteration may start."""
    return not loop.is_closed and loop.next < loop.count and len(loop.in_flight) < loop.max_in_flight


def _start_iteration(decision: Decision, run: Run, index: int, inner: LoopModel | None, *element: Any) -> None:
    decision.emit(facts.LoopIterationStarted(ts=decision.now, run=run.id, iter=index, element=list(element)))
    if inner:
        _open(decision, inner, Spot(decision.state.last_run + 1, run, index))


def element_read(decision: Decision, run: Run, op: ElementRead) -> None:
    """The element of a stored list is here: its iteration begins."""
    if run.loop is None or op.iter != run.loop.next or not has_room(run.loop):
        return
    if op.error:
        decision.emit(facts.LoopIterationStarted(ts=decision.now, run=run.id, iter=op.iter))
        decision.emit(facts.LoopIterationFailed(ts=decision.now, run=run.id, iter=op.iter, error=op.error))
    else:
        _start_iteration(decision, run, op.iter, model_of(decision, run).inner, op.element)
    ended(decision, run)


def reopen_inner(decision: Decision, run: Run) -> None:
    """Make the inner loops of iterations that began and have none yet."""
    inner = model_of(decision, run).inner
    for index, inner_run in list(run.loop.in_flight.items()) if run.loop and inner else ():
        if not inner_run and inner:
            _open(decision, inner, Spot(decision.state.last_run + 1, run, index))


def ended(decision: Decision, run: Run) -> None:
    """An iteration of this run has ended, or none has begun yet: the loop is to be looked at."""
    decision.agenda.append(run.id)


def tend(decision: Decision) -> None:
    """Go on with every loop that is to be looked at, or end it. A list, not recursion: loops may nest and be empty."""
    while decision.agenda:
        run = decision.state.runs.get(decision.agenda.pop(0))
        if run is None or run.loop is None or run.output is not None:
            continue
        if run.loop.is_over:
            finish(decision, run)
        elif len(decision.events) > EVENTS_MAX:
            decision.after(MoreWanted(execution_id=decision.state.execution_id, run=run.id))
        else:
            fill(decision, run)


def finish(decision: Decision, run: Run) -> None:
    """All iterations have ended."""
    loop = run.loop
    assert loop is not None  # noqa: S101 - only loops are finished
    if loop.error and not loop.is_best_effort:
        _fail(decision, run, loop.error)
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
            patches = _merged(run, loop)
            _close_outermost(decision, run, loop, output, [*patches, *_step_set(decision, run, output, patches)])
    except MergeFault as problem:
        _fail(decision, run, Error(kind=problem.kind, message=problem.message).as_data())
    except Fault as problem_fault:
        _fail(decision, run, problem_fault.error.as_data())


def counts(loop: Loop) -> dict[str, Any]:
    return {
        "total": loop.count,
        "done": loop.done,
        "failed": loop.failed,
        "skipped": loop.count - loop.done - loop.failed,
    }


def _merged(run: Run, loop: Loop) -> list[Patch]:
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
    ended(decision, outer)


def _step_set(decision: Decision, run: Run, output: Envelope, patches: list[Patch]) -> list[Patch]:
    """SC-11: with a loop the server evaluates the step's set, at the boundary."""
    step, state = decision.step(run), decision.state
    if not step.set:
        return []
    scope = scopes.server_scope(
        state,
        run,
        ctx=patched(state.ctx, patches, "ctx"),
        step=patched(run.step_values, patches, "step"),
        input=decision.step_input(run),
        output=views.readable(output),
    )
    return writes(step.set, scope)


def _close_outermost(decision: Decision, run: Run, loop: Loop, output: Envelope, patches: list[Patch]) -> None:
    decision.emit(
        facts.LoopDone(ts=decision.now, run=run.id, step=run.step, output=output, patches=patches, **counts(loop))
    )
    route(decision, run)


def _fail(decision: Decision, run: Run, error: dict[str, Any]) -> None:
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
    ended(decision, outer)


def fail_step(decision: Decision, run: Run, error: dict[str, Any], loop_counts: dict[str, Any] | None = None) -> None:
    """A step run ends badly; its arcs may handle that."""
    error = {"step": run.step, **error}
    output = {**views.failed(error), **({"loop": loop_counts} if loop_counts else {})}
    decision.emit(facts.StepFailed(ts=decision.now, run=run.id, step=run.step, error=error, output=output))
    route(decision, run)
