"""Tokens at the gates of steps: admitted, denied and waiting, joined, retired (ST-05, ST-06, ST-11).

A denied token waits and is asked again when ctx has changed. A join fires once, when no token elsewhere can still come
to it. At a standstill, when nothing runs, waiting tokens are retired until something moves or nothing is left.
"""

from __future__ import annotations

from typing import Any

from noetl.dsl.model import Step
from noetl.engine import events as facts
from noetl.engine import views
from noetl.engine.decision import Decision
from noetl.engine.routing import fail_workflow
from noetl.engine.state import Token
from noetl.engine.values import Fault, holds

ALLOWED = -1


def admit_all(decision: Decision) -> bool:
    """Ask every token that may have a new answer; whether any step was scheduled."""
    state = decision.state
    if decision.is_quiet and not decision.has_ctx_changed:
        return False
    before = state.last_run
    asked: set[str] = set()  # joins: a thousand tokens at one are one question
    for token in list(state.tokens.values()):  # oldest first, as they were made
        if token.step in asked:
            continue
        if token.id in state.tokens and (not token.is_denied or decision.has_ctx_changed):
            _ask(decision, token, asked)
        if state.is_failing and not state.is_best_effort:
            break
    return state.last_run != before


def _ask(decision: Decision, token: Token, asked: set[str]) -> None:
    step = decision.playbook.steps[token.step]
    if not step.admission.is_join:
        if not _is_partition_busy(decision, token):
            _try(decision, step, [token])
        return
    asked.add(token.step)
    if can_join(decision, token.step):
        _try(decision, step, waiting_at(decision, token.step))


def _is_partition_busy(decision: Decision, token: Token) -> bool:
    """RT-09: tokens of one partition run one after another."""
    if token.partition is None:
        return False
    runs = decision.state.runs.values()
    return any(run.step == token.step and run.partition == token.partition for run in runs)


def waiting_at(decision: Decision, step: str) -> list[Token]:
    """The tokens that wait at a step, oldest first."""
    return [token for token in decision.state.tokens.values() if token.step == step]


def can_join(decision: Decision, step: str) -> bool:
    """Whether no token elsewhere, and no run, can still come to a join."""
    state, sources = decision.state, decision.net.sources(step)
    if any(run.step in sources and not run.compensates for run in state.runs.values()):
        return False
    return not any(token.step in sources and token.step != step for token in state.tokens.values())


def _try(decision: Decision, step: Step, tokens: list[Token]) -> None:
    """Let tokens through, or leave them waiting."""
    try:
        rule = denying_rule(decision, step, tokens)
    except Fault as fault:
        _fail_gate(decision, step, tokens, fault)
        return
    if rule == ALLOWED:
        schedule(decision, step, tokens)
        return
    for token in tokens:
        if not token.is_denied or token.is_for_signal != step.admission.waits_when_denied:  # a fork may have other text
            decision.emit(
                facts.StepWaiting(
                    ts=decision.now,
                    step=step.name,
                    token=token.id,
                    rule=rule,
                    is_for_signal=step.admission.waits_when_denied,
                )
            )


def denying_rule(decision: Decision, step: Step, tokens: list[Token]) -> int:
    """The rule that says no; ALLOWED: none does. First match wins, no match allows (ST-05, ST-13)."""
    if not step.admission.rules:
        return ALLOWED
    scope = gate_scope(decision, tokens)
    for index, rule in enumerate(step.admission.rules):
        if rule.when is None or holds(rule.when, scope):
            return ALLOWED if rule.allow else index
    return ALLOWED


def gate_scope(decision: Decision, tokens: list[Token]) -> dict[str, Any]:
    """What the rules of a gate read."""
    args = {name: value for token in tokens for name, value in token.args.items()}
    return decision.scope(None, input=args, event=views.readable_event(tokens[-1].event))


def _fail_gate(decision: Decision, step: Step, tokens: list[Token], fault: Fault) -> None:
    """A guard that raises fails the workflow (RT-11); under best_effort the rest goes on without these tokens."""
    fail_workflow(decision, step, fault.error.as_data())
    retire(decision, tokens, f"its gate failed: {fault.error.message}")


def schedule(decision: Decision, step: Step, tokens: list[Token]) -> None:
    """Consume the tokens; the step runs."""
    decision.emit(
        facts.StepScheduled(
            ts=decision.now,
            run=decision.state.last_run + 1,
            step=step.name,
            tokens=[token.id for token in tokens],
            is_join=step.admission.is_join,
            has_loop=step.loop is not None,
            priority=step.priority + min(token.priority for token in tokens),
            pool=step.pool or "",
            deadline_seconds=step.deadline_seconds,
            timeout_seconds=step.timeout_seconds,
        )
    )


def break_standstill(decision: Decision) -> bool:
    """Nothing runs and nothing was admitted: retire or fire what can be; whether anything moved."""
    joins = _waiting_joins(decision)
    if joins:
        blockers = [token for token in _retirable(decision) if any(_reaches(decision, token, join) for join in joins)]
        if blockers:
            return retire(decision, blockers, "it was denied, and nothing runs that could change that")
        return _fire_a_join(decision, joins)
    return retire(decision, _retirable(decision), "it was denied, and nothing runs that could change that")


def _waiting_joins(decision: Decision) -> list[str]:
    """Joins with tokens that were not denied by a rule, by their oldest token."""
    steps = decision.playbook.steps
    tokens = decision.state.tokens.values()
    return list(
        dict.fromkeys(token.step for token in tokens if steps[token.step].admission.is_join and not token.is_denied)
    )


def _reaches(decision: Decision, token: Token, join: str) -> bool:
    return token.step != join and token.step in decision.net.sources(join)


def _retirable(decision: Decision) -> list[Token]:
    return [token for token in decision.state.tokens.values() if token.is_denied and not token.is_for_signal]


def _fire_a_join(decision: Decision, joins: list[str]) -> bool:
    """Joins that wait for each other: the one with the oldest token goes first. One that a signal can reach waits."""
    signals = [token for token in decision.state.tokens.values() if token.is_for_signal]
    for join in joins:
        if not any(_reaches(decision, token, join) for token in signals):
            _try(decision, decision.playbook.steps[join], waiting_at(decision, join))
            return True
    return False


def retire(decision: Decision, tokens: list[Token], reason: str) -> bool:
    """Take waiting tokens off the net, as skipped."""
    for token in tokens:
        decision.emit(facts.StepSkipped(ts=decision.now, step=token.step, token=token.id, reason=reason))
    return bool(tokens)
