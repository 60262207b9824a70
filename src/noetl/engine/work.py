"""State → the work of one job, as a worker receives it: plain data, and no more of it than the step reads."""

from __future__ import annotations

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
        steps={name: state.outputs[name] for name in read if name in state.outputs} if read else {},
        progress=job.progress,
        is_held=bool(run.loop and run.loop.is_held),
        compensates=run.compensates,
        undone=run.output if run.compensates else None,
        planned=state.planned,
        is_started=top.phase == STARTED,
        trace_id=state.trace_id,
    )


_known: dict[int, tuple[Step, tuple[str, ...]]] = {}  # by the id of a step, which is kept: no other has it meanwhile
KEPT_MAX = 4096


def names_read(playbook: Playbook, step: Step) -> tuple[str, ...]:
    """All names that the templates of a step's pipeline read, those of the workbook tasks it may call included."""
    found = _known.get(id(step))
    if found is None:
        if len(_known) >= KEPT_MAX:
            _known.clear()
        found = _known[id(step)] = (step, _names_read(playbook, step))
    return found[1]


def _names_read(playbook: Playbook, step: Step) -> tuple[str, ...]:
    tasks = [*step.tasks, *step.compensation]
    if any(task.kind == "workbook" for task in tasks):
        tasks.extend(playbook.workbook.values())
    found: set[str] = set()
    for value in (*step.input.values(), *_set_values(step.set)):
        found |= value.reads
    for task in tasks:
        found |= _task_reads(task)
    if playbook.settings.is_transparent and any(map(_reads_context, tasks)):
        found |= set(playbook.steps)
    return tuple(sorted(found))  # in one order on every machine: the bytes of a job follow it


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
