"""Where in an execution an expression is read, and so which names it finds: for whoever asks from outside.

A place is an execution as a whole, a step, a run, an iteration of it, one of its tasks. The scopes are those that the
playbook's own templates have there. Credentials are not here: `keychain` answers every question with ***.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from noetl.engine import views
from noetl.engine.decision import Decision
from noetl.engine.explaining_tasks import pipeline_of, task_of
from noetl.engine.pipeline import Pipeline
from noetl.engine.routing import arc_scope
from noetl.engine.state import Run
from noetl.secret import MASK

SHOWN_MAX = 10


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """A place; what is None is left open."""

    step: str | None = None
    run: int | None = None
    iteration: int | None = None
    task: str | None = None


class NoSuchPlace(LookupError):
    """There is no such step, run, iteration or task at that moment; the message says what there is."""


class Veil(Mapping[str, Any]):
    """Stands for credentials: it has every name, and behind each is ***."""

    __noetl_plain__: ClassVar[bool] = True

    def __init__(self, depth: int = 1) -> None:
        self._depth = depth

    def __getitem__(self, name: str) -> Any:
        return Veil(self._depth - 1) if self._depth else MASK

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __str__(self) -> str:
        return MASK


def scope_at(decision: Decision, where: Where) -> dict[str, Any]:
    """The names that can be read in a place, and their values; raises NoSuchPlace and Fault."""
    return {**_scope_at(decision, where), "keychain": Veil()}


def _scope_at(decision: Decision, where: Where) -> dict[str, Any]:
    run = _run_at(decision, where)
    if run is not None:
        return _scope_of_run(decision, run, where)
    if where.iteration is not None or where.task is not None:
        raise NoSuchPlace(f"an iteration or a task needs a run that is under way; {_under_way(decision)}")
    if where.step is None:
        return decision.scope(None)
    return decision.scope(None, output=views.readable(decision.state.outputs.get(where.step)))


def _run_at(decision: Decision, where: Where) -> Run | None:
    runs, step = decision.state.runs, where.step
    if step is not None and step not in decision.playbook.steps:
        known = ", ".join(list(decision.playbook.steps)[:SHOWN_MAX])
        raise NoSuchPlace(f'the playbook has no step "{step}"; it has {known}')
    if where.run is not None:
        found = runs.get(where.run)
        if found is None or step not in (None, found.step):
            raise NoSuchPlace(f"run {where.run} is not under way then; {_under_way(decision)}")
        return found
    of_step = [run for run in runs.values() if run.step == step and not run.parent_run]
    return of_step[-1] if of_step else None


def _under_way(decision: Decision) -> str:
    runs = [f"{run.id} ({run.step})" for run in decision.state.runs.values()]
    return f"under way then: {', '.join(runs[:SHOWN_MAX])}" if runs else "no run is under way then"


def _scope_of_run(decision: Decision, run: Run, where: Where) -> dict[str, Any]:
    if run.boundary:
        return arc_scope(decision, run)
    index = -1 if where.iteration is None else where.iteration
    pipeline = pipeline_of(decision, run.id, index, knows_all_steps=True)
    if pipeline is not None:
        return _scope_of_task(pipeline, where.task)
    if where.iteration is None and where.task is None:
        given = decision.step_input(run)
        return decision.scope(run, step=run.step_values, input=given, output=views.readable(run.carried))
    in_flight = ", ".join(map(str, list(run.jobs)[:SHOWN_MAX])) or "none"
    raise NoSuchPlace(f"run {run.id} has no such iteration in flight then; in flight: {in_flight}")


def _scope_of_task(pipeline: Pipeline, label: str | None) -> dict[str, Any]:
    """As a task reads it; where none is named, the one that is next, or what is read at the end."""
    task = task_of(pipeline, label) if label is not None else pipeline.current()
    if task is not None:
        return pipeline.scope(task)
    if label is not None:
        known = ", ".join(list(pipeline.outline.by_label)[:SHOWN_MAX])
        raise NoSuchPlace(f'step "{pipeline.step.name}" has no task "{label}"; it has {known}')
    return pipeline.scope_at_end()
