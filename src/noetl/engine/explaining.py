"""(playbook, state, event) → why: each rule, arc, collection and write that an event is about, with what it saw.

Comes in: a decision over the state as it was before the event, and the event. Goes out: explanations. The scopes are
those that the engine itself decided with (`gate_scope`, `arc_scope`, `collection_scope`, `set_scope`, and the scene of
a pipeline), built once more on the same state; nothing is decided and the state is not touched.

What a worker saw may differ in one thing: outputs of steps that ended beside it after it was given its job. The
recorded decision counts, and a note says where asking again gives another answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noetl.dsl.model import AdmissionRule, Arc
from noetl.engine import events as facts
from noetl.engine.admission import ALLOWED, gate_scope, waiting_at
from noetl.engine.decision import Decision
from noetl.engine.events import Event
from noetl.engine.explaining_tasks import explained_end, explained_task
from noetl.engine.explanations import (
    ADMISSION,
    ARC,
    LOOP,
    Explanation,
    explained_writes,
    reads_of,
    templates_of,
    tried,
    written,
    written_value,
)
from noetl.engine.loop_ends import merged_writes, set_scope
from noetl.engine.looping import Spot, collection_scope, model_of
from noetl.engine.merging import MergeFault
from noetl.engine.routing import arc_scope
from noetl.engine.runs import outermost
from noetl.engine.state import Run, Token
from noetl.engine.values import Fault, Scope

ON_SUCCESS_ONLY = "not asked: the step failed, and this arc does not ask for that"
NEVER_ASKED = "not asked: an earlier one had decided"
DIFFERS = "asked again it gives another answer than was recorded; what was recorded counts"


def explained(decision: Decision, event: Event) -> list[Explanation]:
    """All that an event is about; `decision` is over the state before it."""
    explain = EXPLAINED.get(type(event))
    return explain(decision, event) if explain else []


# --- arcs ------------------------------------------------------------------------------------------------------------


def explained_arcs(decision: Decision, event: facts.NextEvaluated) -> list[Explanation]:
    """Every arc of a step that has ended, and the writes of those that fired."""
    run = decision.state.runs[event.run]
    arcs = decision.step(run).router.arcs
    try:
        scope: Scope = arc_scope(decision, run)
    except Fault as fault:
        return [_unread_arc(run, index, arc, fault) for index, arc in enumerate(arcs)]
    found = [*_planned(run, event), *_asked_arcs(decision, run, event, scope)]
    for fired in event.fired:
        if fired.arc >= 0:
            found += explained_writes(arcs[fired.arc].set, scope, run.step)
    return found


def _unread_arc(run: Run, index: int, arc: Arc, fault: Fault) -> Explanation:
    """The step's input, which an arc reads, cannot be made."""
    return _arc(run, index, arc, error=fault.error.message, was_asked=index == 0)


def _arc(run: Run, index: int, arc: Arc, **more: Any) -> Explanation:
    return Explanation(
        place=ARC,
        index=index,
        line=arc.place.line,
        step=run.step,
        target=arc.target,
        when=written(arc.when),
        **more,
    )


def _planned(run: Run, event: facts.NextEvaluated) -> list[Explanation]:
    """RT-08: the token of a planner goes to the first step of its plan, by no arc."""
    return [
        Explanation(
            place=ARC,
            index=fired.arc,
            line=0,
            step=run.step,
            target=fired.step,
            result=True,
            is_chosen=True,
            note="the first step of its plan: no arc was asked",
        )
        for fired in event.fired
        if fired.arc < 0
    ]


def _asked_arcs(decision: Decision, run: Run, event: facts.NextEvaluated, scope: Scope) -> list[Explanation]:
    router, fired = decision.step(run).router, {one.arc: one for one in event.fired}
    if any(index < 0 for index in fired):
        return []
    found: list[Explanation] = []
    is_over = False
    for index, arc in enumerate(router.arcs):
        if run.error and not arc.handles_failure:
            found.append(_arc(run, index, arc, was_asked=False, note=ON_SUCCESS_ONLY))
        elif is_over:
            found.append(_arc(run, index, arc, was_asked=False, note=NEVER_ASKED))
        else:
            found.append(_asked_arc(run, index, arc, event, scope))
            is_over = found[-1].error is not None or (not router.is_inclusive and index in fired)
    return found


def _asked_arc(run: Run, index: int, arc: Arc, event: facts.NextEvaluated, scope: Scope) -> Explanation:
    fired = next((one for one in event.fired if one.arc == index), None)
    again = tried(arc.when, scope)
    was_asked = fired is not None or index in event.refused or event.error is not None
    is_other = event.error is None and again.result is not (fired is not None)
    duplicate = "it matched, and sent no token: one with this key went that way before"
    note = DIFFERS if is_other else duplicate if fired is not None and fired.is_duplicate else ""
    return _arc(
        run,
        index,
        arc,
        result=again.result,
        is_chosen=fired is not None,
        was_asked=was_asked,
        error=again.error,
        reads=again.reads,
        note=note,
    )


# --- admission -------------------------------------------------------------------------------------------------------


def explained_entry(decision: Decision, event: facts.StepScheduled) -> list[Explanation]:
    """The gate that tokens went through."""
    tokens = [decision.state.tokens[token] for token in event.tokens]
    return explained_gate(decision, event.step, tokens, ALLOWED) if tokens else []


def explained_wait(decision: Decision, event: facts.StepWaiting) -> list[Explanation]:
    """The gate that a token was turned away from."""
    recorded = event.rule if event.rule >= 0 else None  # None: it does not say
    return explained_gate(decision, event.step, _together(decision, event), recorded)


def explained_skip(decision: Decision, event: facts.StepSkipped) -> list[Explanation]:
    """The gate that a token never came through, as it would answer at the end."""
    return explained_gate(decision, event.step, _together(decision, event), None)


def _together(decision: Decision, event: facts.StepWaiting | facts.StepSkipped) -> list[Token]:
    """The tokens that are asked as one: at a join all that wait there."""
    step = decision.playbook.steps[event.step]
    return waiting_at(decision, event.step) if step.admission.is_join else [decision.state.tokens[event.token]]


def explained_gate(decision: Decision, step: str, tokens: list[Token], recorded: int | None) -> list[Explanation]:
    """The rules of a gate in order, the first that matches chosen. `recorded`: the rule that said no, or ALLOWED."""
    rules = decision.playbook.steps[step].admission.rules
    scope = gate_scope(decision, tokens) if rules else {}
    found: list[Explanation] = []
    for index, rule in enumerate(rules):
        if found and found[-1].result is not False:
            found.append(_gate_rule(step, index, rule, was_asked=False, is_chosen=index == recorded, note=NEVER_ASKED))
        else:
            found.append(_asked_rule(step, index, rule, scope, recorded))
    return found


def _asked_rule(step: str, index: int, rule: AdmissionRule, scope: Scope, recorded: int | None) -> Explanation:
    again = tried(rule.when, scope)
    said = ALLOWED if rule.allow else index  # what the gate says, if this rule is the one that matches
    is_other = recorded is not None and (said != recorded if again.result else index == recorded)
    return _gate_rule(
        step,
        index,
        rule,
        result=again.result,
        error=again.error,
        reads=again.reads,
        is_chosen=index == recorded if recorded not in (None, ALLOWED) else again.result is True,
        note=DIFFERS if is_other else "",
    )


def _gate_rule(step: str, index: int, rule: AdmissionRule, **more: Any) -> Explanation:
    return Explanation(
        place=ADMISSION,
        index=index,
        line=rule.place.line,
        step=step,
        target="allow" if rule.allow else "deny",
        when=written(rule.when),
        **more,
    )


# --- loops -----------------------------------------------------------------------------------------------------------


def explained_loop(decision: Decision, event: facts.LoopStarted) -> list[Explanation]:
    """The collection of a loop that began."""
    if event.parent_run:
        outer = decision.state.runs[event.parent_run]
        return _collection(decision, outermost(decision.state, outer), Spot(event.run, outer, event.parent_iter))
    return _collection(decision, decision.state.runs[event.run], Spot(event.run))


def explained_failure(decision: Decision, event: facts.StepFailed) -> list[Explanation]:
    """The collection of a loop that could not begin."""
    run = decision.state.runs.get(event.run)
    if run is None or not run.has_loop or run.loop is not None or run.compensates:
        return []
    return _collection(decision, run, Spot(run.id), error=str(event.error.get("message", "")))


def _collection(decision: Decision, top: Run, spot: Spot, error: str | None = None) -> list[Explanation]:
    model = decision.step(top).loop if spot.outer is None else model_of(decision, spot.outer).inner
    if model is None:
        return []
    try:
        scope: Scope = collection_scope(decision, top, model, spot)
    except Fault as fault:
        scope, error = {}, error or fault.error.message
    return [
        Explanation(
            place=LOOP,
            index=0,
            line=model.collection.place.line,
            step=top.step,
            target=model.iterator,
            when=written_value(model.collection),
            is_chosen=error is None,
            error=error,
            reads=reads_of(templates_of(model.collection.parts), scope),
        )
    ]


def explained_loop_end(decision: Decision, event: facts.LoopDone) -> list[Explanation]:
    """The set of a step whose loop has ended (SC-11)."""
    run = decision.state.runs[event.run]
    step = decision.step(run)
    if run.parent_run or run.loop is None or not step.set:
        return []
    try:
        scope: Scope = set_scope(decision, run, event.output, merged_writes(run, run.loop))
    except (Fault, MergeFault):
        scope = {}
    return explained_writes(step.set, scope, step.name)


EXPLAINED: dict[type[Event], Callable[[Decision, Any], list[Explanation]]] = {
    facts.NextEvaluated: explained_arcs,
    facts.StepScheduled: explained_entry,
    facts.StepWaiting: explained_wait,
    facts.StepSkipped: explained_skip,
    facts.LoopStarted: explained_loop,
    facts.LoopDone: explained_loop_end,
    facts.StepFailed: explained_failure,
    facts.StepDone: explained_end,
    facts.TaskDone: explained_task,
}
