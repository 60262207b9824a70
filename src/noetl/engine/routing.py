"""A step has ended: which arcs fire, with what (RT-01 … RT-05, RT-09, RT-11)."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.model import Arc, Step
from noetl.engine import events as facts
from noetl.engine import views
from noetl.engine.commands import Planned, PlanWanted
from noetl.engine.decision import Decision
from noetl.engine.events import Fired, Patch
from noetl.engine.rows import check_fan_out, check_written
from noetl.engine.state import Run
from noetl.engine.values import Fault, check_ctx, holds, rendered_data, writes

FEW_ARCS = 8  # that hand nothing on: they fit into any event


def route(decision: Decision, run: Run) -> None:
    """Evaluate the arcs of an ended run and say what came of it."""
    if run.is_planning:
        data = views.handed_on(run.output)
        decision.after(PlanWanted(execution_id=decision.state.execution_id, run=run.id, data=data))
        return
    step = decision.step(run)
    try:
        matched, refused = _matching(decision, step, run)
        fired, patches = _fire(decision, step, run, matched)
        if patches or len(step.router.arcs) > FEW_ARCS or any(one.args or one.partition or one.dedupe for one in fired):
            check_fan_out(decision.playbook, [fired, refused, patches], step.router.place)
    except Fault as fault:
        _fail_guard(decision, step, run, fault)
        return
    ends_branch = all(one.is_duplicate for one in fired) and not run.error
    decision.emit(
        _evaluated(
            decision,
            run,
            fired=fired,
            refused=refused,
            patches=patches,
            handled=bool(fired and run.error),
            ends_branch=ends_branch,
            is_undoable=bool(step.compensation),
        )
    )
    if run.error and not fired:
        fail_workflow(decision, step, run.error)


def leave_planner(decision: Decision, run: Run, op: Planned) -> None:
    """A plan was checked: its first step gets the token; or the plan was refused, and the workflow fails (RT-08)."""
    if op.error:
        error = {**op.error, "step": run.step}
        decision.emit(_evaluated(decision, run, error=error, is_undoable=bool(decision.step(run).compensation)))
        fail_workflow(decision, decision.step(run), error)
        return
    first = Fired(arc=-1, step=op.steps[0]["step"], args=run.args)
    decision.emit(_evaluated(decision, run, fired=[first], is_undoable=bool(decision.step(run).compensation)))


def _evaluated(decision: Decision, run: Run, **fields: Any) -> facts.NextEvaluated:
    return facts.NextEvaluated(
        ts=decision.now, run=run.id, step=run.step, boundary=run.boundary, boundary_seq=run.boundary_seq, **fields
    )


def _fail_guard(decision: Decision, step: Step, run: Run, fault: Fault) -> None:
    """A guard that raises fails the workflow."""
    error = {**fault.error.as_data(), "step": step.name}
    decision.emit(_evaluated(decision, run, error=error, is_undoable=bool(step.compensation)))
    fail_workflow(decision, step, error)


def fail_workflow(decision: Decision, step: Step, error: dict[str, Any]) -> None:
    """A failure that nothing handles; the first one is the workflow's error (RT-05)."""
    if decision.state.is_failing:
        return
    decision.emit(
        facts.WorkflowFailing(
            ts=decision.now,
            step=step.name,
            error={"step": step.name, **error},
            is_best_effort=decision.playbook.settings.is_best_effort,
        )
    )


def _matching(decision: Decision, step: Step, run: Run) -> tuple[list[int], list[int]]:
    """The arcs that match, and those asked in vain. Exclusive: the first match ends the search."""
    matched: list[int] = []
    refused: list[int] = []
    arcs = step.router.arcs
    scope = arc_scope(decision, run) if any(arc.when and arc.when.template for arc in arcs) else {}
    for index, arc in enumerate(step.router.arcs):
        if run.error and not arc.handles_failure:
            continue
        if arc.when is None or holds(arc.when, scope):
            matched.append(index)
            if not step.router.is_inclusive:
                break
        else:
            refused.append(index)
    return matched, refused


def arc_scope(decision: Decision, run: Run) -> dict[str, Any]:
    event = views.readable_event(views.boundary(decision.state.execution_id, run))
    scope = decision.scope(run, step=run.step_values, output=views.readable(run.output), event=event)
    if _reads_input(decision.step(run)):
        scope["input"] = decision.step_input(run)
    return scope


def _reads_input(step: Step) -> bool:
    if not step.input:
        return False
    for arc in step.router.arcs:
        values = [*(assign.value for assign in arc.set), *arc.args.values()]
        values += [value for value in (arc.dedupe, arc.partition) if value]
        if (arc.when and "input" in arc.when.reads) or any("input" in value.reads for value in values):
            return True
    return False


def _fire(decision: Decision, step: Step, run: Run, matched: list[int]) -> tuple[list[Fired], list[Patch]]:
    """The tokens that the matching arcs make, in YAML order, and what their sets write."""
    fired: list[Fired] = []
    patches: list[Patch] = []
    scope: dict[str, Any] = {}
    for index in matched:
        arc = step.router.arcs[index]
        if not scope and _has_values(arc):
            scope = arc_scope(decision, run)
        fired.append(_fired(decision, run, index, arc, scope, fired))
        if arc.set:
            patches += writes(arc.set, scope)
    if patches or any(one.args for one in fired):
        check_ctx(decision.state.ctx, patches, step.router.place)
        check_written(decision.playbook, [patches, [one.args for one in fired if one.args]], step.router.place)
    return fired, patches


def _has_values(arc: Arc) -> bool:
    """Whether anything of an arc that fires is to be rendered."""
    return bool(arc.set or arc.args or arc.dedupe or arc.partition)


def _fired(decision: Decision, run: Run, index: int, arc: Arc, scope: dict[str, Any], before: list[Fired]) -> Fired:
    if not _has_values(arc):
        return Fired(arc=index, step=arc.target, args=run.args, priority=arc.priority)
    key = _dedupe_key(arc, scope)
    sent = decision.state.sent.get(arc.target, ())
    is_duplicate = bool(key) and (key in sent or any(one.step == arc.target and one.dedupe == key for one in before))
    return Fired(
        arc=index,
        step=arc.target,
        args={**run.args, **{name: rendered_data(value, scope) for name, value in arc.args.items()}},
        priority=arc.priority,
        partition=rendered_data(arc.partition, scope) if arc.partition else None,
        dedupe="" if is_duplicate else key,
        is_duplicate=is_duplicate,
    )


def _dedupe_key(arc: Arc, scope: dict[str, Any]) -> str:
    if arc.dedupe is None:
        return ""
    return msgspec.json.encode(rendered_data(arc.dedupe, scope), order="deterministic").decode()


def fail_step(decision: Decision, run: Run, error: dict[str, Any], loop_counts: dict[str, Any] | None = None) -> None:
    """A step run ends badly; its arcs may handle that."""
    error = {"step": run.step, **error}
    output = {**views.failed(error), **({"loop": loop_counts} if loop_counts else {})}
    decision.emit(facts.StepFailed(ts=decision.now, run=run.id, step=run.step, error=error, output=output))
    route(decision, run)
