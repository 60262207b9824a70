"""The names a template can read, bound to values (TP-02, TP-06).

Bare names come below every reserved one, in the order labels, iterators, steps, workload keys: a mapping is filled from
the lowest to the highest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from noetl.engine import views
from noetl.engine.commands import Around
from noetl.engine.events import Envelope
from noetl.engine.state import Run, State
from noetl.expressions import Payload


def bare_names(workload: Mapping[str, Any], steps: Mapping[str, Envelope]) -> dict[str, Any]:
    """What stands below the reserved names everywhere: workload keys, and steps that have run."""
    if not steps:
        return dict(workload)
    names: dict[str, Any] = {**workload, **steps}
    for name, output in steps.items():
        if "data" not in output:
            names[name] = views.readable(output)
    return names


def iteration(around: Iterable[Around], scratch: Mapping[str, Any]) -> dict[str, Any] | None:
    """`iter`: the current iteration, with `parent` for the one outside, to any depth (SC-03, SC-04)."""
    made: dict[str, Any] | None = None
    for one in around:
        made = {
            **({"parent": made} if made is not None else {}),
            one.iterator: one.element,
            "index": one.index,
            "_index": one.index,
            "_total": one.total,
            "_first": one.index == 0,
            "_last": one.index == one.total - 1,
        }
    return {**made, **scratch} if made is not None else None


def iterators(around: Iterable[Around]) -> dict[str, Any]:
    """The elements by their iterators' names; of two equal names the inner one counts."""
    return {one.iterator: one.element for one in around}


def server_scope(state: State, run: Run | None, **reserved: Any) -> dict[str, Any]:
    """What admission, loop.in, a step's set after a loop, and arcs read."""
    scope = bare_names(state.workload, state.outputs)
    scope.update(
        workload=state.workload, ctx=state.ctx, execution_id=str(state.execution_id), input=run.args if run else {}
    )
    scope.update(reserved)
    return scope


def see_through(scope: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """UP-01: payloads answer without `.data`; `names` are those of steps and tasks."""
    for name in names:
        if type(scope.get(name)) is dict and "meta" in scope[name]:
            scope[name] = views.transparent(scope[name])
    if "output" in scope:
        scope["output"] = views.transparent_output(scope["output"])
    if type(scope.get("_prev")) is dict:
        scope["_prev"] = Payload(scope["_prev"], {})
    return scope
