"""Loops: the collection rendered once, iterations started in index order under a window, one boundary at the end.

    begin ─→ loop.started ─→ fill ─→ loop.iteration.started … ─→ ended ─→ fill … ─→ close ─→ loop.done | step.failed

An inner loop is a run of its own that stands in one iteration of the outer one; when it has ended, that iteration has.
Nothing here is proportional to the length of a collection: a long one is kept outside the state, and so is the list of
what its iterations gave (`commands.ListWanted`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.model import Loop as LoopModel
from noetl.dsl.model import Step
from noetl.engine import events as facts
from noetl.engine import scopes, views
from noetl.engine.collections import around, collection_of, encode
from noetl.engine.commands import Counted, CountWanted, ElementRead, ElementWanted, MoreWanted
from noetl.engine.decision import Decision
from noetl.engine.events import Patch
from noetl.engine.loop_ends import finish
from noetl.engine.routing import fail_step
from noetl.engine.rows import payload_bytes_max
from noetl.engine.runs import outermost
from noetl.engine.state import Loop, Run
from noetl.engine.values import Fault, fault, rendered
from noetl.references import is_reference

WINDOW_MAX = 1000  # iterations in flight where max_in_flight is not set
EVENTS_MAX = 5000  # of one decision; what is left comes with the next


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
        found = rendered(loop.collection, collection_scope(decision, top, loop, spot))
        if is_reference(found):
            run = spot.outer.id if spot.outer else spot.run
            decision.after(CountWanted(execution_id=decision.state.execution_id, run=run, iter=spot.index, ref=found))
            return
        collection = collection_of(decision, found, loop)
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


def collection_scope(decision: Decision, top: Run, loop: LoopModel, spot: Spot) -> dict[str, Any]:
    """What `loop.in` reads."""
    outer = spot.outer
    scope = decision.scope(top, output=views.readable(top.carried))
    if "input" in loop.collection.reads:
        scope["input"] = decision.step_input(top)
    if outer is not None and outer.loop is not None:
        chain = around(decision.state, outer, spot.index)
        scope.update({**scopes.iterators(chain), **{name: scope[name] for name in ("workload", "ctx", "input")}})
        scope["iter"] = scopes.iteration(chain, {})
        if outer.loop.is_held:
            scope["ctx"] = outer.loop.ctx
    return scope


def start(decision: Decision, loop: LoopModel, spot: Spot, collection: dict[str, Any]) -> None:
    """The collection is known: the loop begins."""
    step = decision.step(_top(decision, spot))
    decision.emit(
        facts.LoopStarted(
            ts=decision.now,
            run=spot.run,
            step=step.name,
            iterator=loop.iterator,
            is_parallel=loop.is_parallel,
            max_in_flight=window_of(loop),
            is_local=not loop.is_distributed,
            is_best_effort=step.is_best_effort,
            is_held=is_held(step),
            reducers=loop.reducers,
            has_inner=loop.inner is not None,
            inline_bytes_max=payload_bytes_max(decision.playbook),
            parent_run=spot.outer.id if spot.outer else 0,
            parent_iter=spot.index,
            **collection,
        )
    )
    decision.look_at(decision.state.runs[spot.run])


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
    decision.look_at(outer)


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
        index = run.loop.following
        assert index is not None  # noqa: S101 - there is room for one
        if model.inner and run.loop.ref and not run.loop.again.get(index):
            decision.after(ElementWanted(execution_id=decision.state.execution_id, run=run.id, iter=index))
            return
        _start_iteration(decision, run, index, model.inner)
    if run.loop and has_room(run.loop):
        decision.after(MoreWanted(execution_id=decision.state.execution_id, run=run.id))


def has_room(loop: Loop) -> bool:
    """Whether another iteration may start."""
    return not loop.is_closed and loop.following is not None and len(loop.in_flight) < loop.max_in_flight


def _start_iteration(decision: Decision, run: Run, index: int, inner: LoopModel | None, *element: Any) -> None:
    decision.emit(facts.LoopIterationStarted(ts=decision.now, run=run.id, iter=index, element=list(element)))
    kept = run.loop.in_flight[index] if run.loop else 0
    if kept:  # of a fork: its inner loop goes on where it was
        decision.look_at(decision.state.runs[kept])
    elif inner:
        _open(decision, inner, Spot(decision.state.last_run + 1, run, index))


def element_read(decision: Decision, run: Run, op: ElementRead) -> None:
    """The element of a stored list is here: its iteration begins."""
    if run.loop is None or op.iter != run.loop.following or not has_room(run.loop):
        return
    error = op.error or _oversize(decision, run, op.element)
    if error:
        decision.emit(facts.LoopIterationStarted(ts=decision.now, run=run.id, iter=op.iter))
        decision.emit(facts.LoopIterationFailed(ts=decision.now, run=run.id, iter=op.iter, error=error))
    else:
        _start_iteration(decision, run, op.iter, model_of(decision, run).inner, op.element)
    decision.look_at(run)


def _oversize(decision: Decision, run: Run, element: Any) -> dict[str, Any] | None:
    """Why no event can hold an element, if none can (RS-01)."""
    size, size_max = len(encode(element)), payload_bytes_max(decision.playbook)
    if size <= size_max:
        return None
    message = (
        f"an element of a stored list that an inner loop runs in may have {size_max} bytes, but this one has {size}, "
        "over limits.max_payload_bytes; keep the element's large part in a result of its own, and resolve it where "
        "it is needed"
    )
    return fault("limit", message, model_of(decision, run).place).error.as_data()


def reopen_inner(decision: Decision, run: Run) -> None:
    """Make the inner loops of iterations that began and have none yet."""
    inner = model_of(decision, run).inner
    for index, inner_run in list(run.loop.in_flight.items()) if run.loop and inner else ():
        if not inner_run and inner:
            _open(decision, inner, Spot(decision.state.last_run + 1, run, index))


def go_on(decision: Decision, run: Run, patches: list[Patch]) -> None:
    """Reopen the loop of a fork, and those inside: with the window of this text, and what its values were set to."""
    model = model_of(decision, run)
    for index, job in list(run.jobs.items()):
        if job.progress.is_failed:  # recorded, but not what became of its iteration
            decision.emit(facts.LoopReopened(ts=decision.now, run=run.id, iter=index))
    window = window_of(model)
    decision.emit(facts.LoopReopened(ts=decision.now, run=run.id, max_in_flight=window, patches=patches))
    for inner in [one for one in decision.state.runs.values() if one.parent_run == run.id]:
        go_on(decision, inner, patches)


def window_of(loop: LoopModel) -> int:
    """How many iterations may be in flight."""
    return min((loop.max_in_flight or WINDOW_MAX) if loop.is_parallel else 1, WINDOW_MAX)


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
