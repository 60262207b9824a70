"""State → the work of one job, as a worker receives it: plain data, and no more of it than the step reads."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from noetl.dsl.model import Assign, Playbook, Step, Task, Value
from noetl.engine import views
from noetl.engine.collections import around
from noetl.engine.commands import Work
from noetl.engine.runs import outermost
from noetl.engine.state import STARTED, State


def work_of(playbook: Playbook, state: State, run_id: int, index: int, lease: int, folder: str) -> Work:
    """One job. An element of a stored list is left out: the caller reads it (`around[-1].element`)."""
    run = state.runs[run_id]
    top = outermost(state, run)
    job = run.jobs[index]
    read = names_read(playbook, playbook.steps[run.step])
    return Work(
        execution_id=state.execution_id,
        run=run_id,
        iter=index,
        lease=lease,
        step=run.step,
        sha=state.sha,
        folder=folder,
        workload=state.workload,
        run_ctx=top.ctx,
        args=top.args,
        carried=top.carried,
        around=around(state, run, index) if run.loop else [],
        steps={name: state.outputs[name] for name in read if name in state.outputs},
        progress=job.progress,
        is_held=bool(run.loop and run.loop.is_held),
        compensates=run.compensates,
        undone=run.output if run.compensates else None,
        planned=state.planned,
        is_started=top.phase == STARTED,
        trace_id=state.trace_id,
    )


class _ById:
    """A step as a key of a cache: playbooks are frozen, but hold mappings."""

    __slots__ = ("playbook", "step")

    def __init__(self, playbook: Playbook, step: Step) -> None:
        self.playbook = playbook
        self.step = step

    def __hash__(self) -> int:
        return id(self.step)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.step is self.step


@lru_cache(4096)
def _names_read(key: _ById) -> tuple[str, ...]:
    step = key.step
    tasks = [*step.tasks, *step.compensation]
    if any(task.kind == "workbook" for task in tasks):
        tasks.extend(key.playbook.workbook.values())
    found: set[str] = set()
    for value in (*step.input.values(), *_set_values(step.set)):
        found |= value.reads
    for task in tasks:
        found |= _task_reads(task)
    if key.playbook.settings.is_transparent and any(map(_reads_context, tasks)):
        found |= set(key.playbook.steps)
    return tuple(sorted(found))  # in one order on every machine: the bytes of a job follow it


def names_read(playbook: Playbook, step: Step) -> tuple[str, ...]:
    """All names that the templates of a step's pipeline read, those of the workbook tasks it may call included."""
    return _names_read(_ById(playbook, step))


def _task_reads(task: Task) -> set[str]:
    found: set[str] = set()
    for value in (*task.input.values(), *_set_values(task.set)):
        found |= value.reads
    for rule in task.policy.rules if task.policy else ():
        found |= rule.when.reads if rule.when else frozenset()
        for one in (rule.delay, rule.previous, *_set_values(rule.set)):
            found |= one.reads if isinstance(one, Value) else frozenset()
    return found


def context_of(playbook: Playbook, work: Work, task: Task) -> dict[str, Any]:
    """UP-02: `context` of code under the upstream surface: the values of steps that have run, and the workload."""
    if not playbook.settings.is_transparent or not _reads_context(task):
        return {}
    return {**{name: views.handed_on(output) for name, output in work.steps.items()}, "workload": work.workload}


def _reads_context(task: Task) -> bool:
    """Whether a task's code may read `context`: by its text, or because its text is not known yet."""
    if task.kind != "python":
        return False
    code = task.input.get("code")
    return code is None or "context" in str(code.parts)


def _set_values(assigns: tuple[Assign, ...]) -> list[Any]:
    return [assign.value for assign in assigns]
