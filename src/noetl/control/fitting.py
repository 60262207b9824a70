"""Whether a playbook can go on with a marking that another text, or an older one, has made: if not, why not."""

from __future__ import annotations

from typing import Any

from noetl.control.catalog import Loaded
from noetl.dsl.model import Loop as LoopModel
from noetl.dsl.model import Step
from noetl.engine.state import Loop, Run, State
from noetl.errors import RequestError

EARLIER = "go on from an earlier step or event (--from, --at)"
RENAMED = f"keep its name, or {EARLIER}"
ANEW = "go on before the step (--whole) to run its loop anew"


def refuse_misfit(loaded: Loaded, state: State) -> None:
    """The playbook must have what is under way: the steps of tokens and runs, the tasks that runs have come to, and
    loops of the same shape. Raises RequestError."""
    planned = {str(step.get("step")) for plan in state.planned for step in plan if isinstance(step, dict)}
    steps = loaded.playbook.steps
    wanted = {token.step for token in state.tokens.values()} | {run.step for run in state.runs.values()}
    missing = sorted(wanted - set(steps) - planned)
    if missing:
        raise RequestError(
            f"at that point steps are under way that this playbook lacks: {', '.join(missing)}; {RENAMED}"
        )
    to_undo = {one.step for one in state.undoable if not state.is_compensating or one.run in state.undoing}
    _refuse_lost_undoing(to_undo - set(steps) - planned)
    for run in state.runs.values():
        if run.step in steps:
            _refuse_lost_tasks(steps[run.step], run)
            _refuse_other_loop(steps[run.step], state, run)


def _refuse_lost_undoing(missing: set[str]) -> None:
    if missing:
        names = ", ".join(sorted(missing))
        raise RequestError(
            f"this playbook lacks steps that have ended and are to be undone if it fails: {names}; {RENAMED}"
        )


def _refuse_lost_tasks(step: Step, run: Run) -> None:
    labels = {task.label for task in (step.compensation if run.compensates else step.tasks)}
    lost = {job.progress.label for job in run.jobs.values() if job.progress.label} - labels
    if lost:
        names = ", ".join(sorted(map(str, lost)))
        raise RequestError(f'at that point step "{run.step}" is at {names}, which this playbook lacks; {RENAMED}')


def _refuse_other_loop(step: Step, state: State, run: Run) -> None:
    if run.boundary or run.compensates:  # it has ended; or it loops in no text
        return
    if run.loop is not None:
        if other := _other_shape(step, state, run, run.loop):
            raise RequestError(f'at that point the loop of step "{run.step}" is under way, and {other}; {ANEW}')
    elif run.has_loop != (step.loop is not None):
        other = "has no loop there" if run.has_loop else "has a loop there"
        raise RequestError(f'at that point step "{run.step}" is under way, and this playbook {other}; {EARLIER}')


def _other_shape(step: Step, state: State, run: Run, loop: Loop) -> str:
    """What the loop of a step has that the one under way has not; "": it can go on."""
    model = _model_of(step, state, run)
    if model is None:
        return "this playbook has no loop there"
    if loop.iterator and model.iterator != loop.iterator:
        return f'this playbook calls its element "{model.iterator}", not "{loop.iterator}"'
    if (model.inner is not None) != loop.has_inner:
        return "this playbook nests its loops " + ("deeper" if model.inner else "less deep")
    pairs: tuple[tuple[str, Any, Any], ...] = (
        ("mode", model.is_parallel, loop.is_parallel),
        ("distribution", not model.is_distributed, loop.is_local),
        ("reducers", model.reducers, loop.reducers),
    )
    changed = [name for name, ours, theirs in pairs if ours != theirs]
    return f"this playbook gives it another {changed[0]}" if changed else ""


def _model_of(step: Step, state: State, run: Run) -> LoopModel | None:
    depth, here = 0, run
    while here.parent_run:
        depth, here = depth + 1, state.runs[here.parent_run]
    model = step.loop
    for _ in range(depth):
        model = model.inner if model else None
    return model
