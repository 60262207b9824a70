"""kind: workbook: a reusable task, called across a boundary with its own labels, input and output (PB-06).

The call is one attempt of the caller. The called task's own policy is asked inside it: a retry there happens before the
caller's, and does not show in the events (TK-14). What it writes with `set` goes with the caller's `task.done`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noetl.dsl.model import Playbook, Rule, Task
from noetl.engine import views
from noetl.engine.backoff import delay_seconds
from noetl.engine.events import Patch
from noetl.engine.output import Error, Output, failure
from noetl.engine.pipeline import Answer, Invocation, Pipeline
from noetl.engine.policy import FAIL, RETRY, SKIP, Verdict, verdict_after, verdict_before
from noetl.engine.values import Scope, fault, masked, rendered_field, seconds_of, writes
from noetl.runner.derived import derived_secrets, secret_inputs_of
from noetl.runner.invoke import Invoker
from noetl.secret import MASK, has_secret, revealed, sealed


def called(playbook: Playbook, task: Task) -> Task | None:
    """The workbook task that a task calls; None: it calls none."""
    if task.kind != "workbook":
        return None
    name = task.input["task"].parts if "task" in task.input else None
    found = playbook.workbook.get(name) if isinstance(name, str) else None
    if found is None:
        raise fault("not_found", f"the workbook has no task {name!r}", task.place)
    return found


def scope_of(pipeline: Pipeline, caller: Invocation, task: Task) -> dict[str, Any]:
    """The names that a called task reads: the caller's input is its input; it has no labels but its own."""
    values = {name: value for name, value in caller.input.items() if name != "task"}
    scope = pipeline.scope(caller.task, values)
    for label in pipeline.labels:
        scope.pop(label, None)
    return {**pipeline.base_scope(), **scope, "_task": task.label}


def input_of(task: Task, scope: dict[str, Any], keychain: dict[str, Any]) -> dict[str, Any]:
    """The called task's fields: its templates read the caller's secrets opened, and what they make is sealed again."""
    opened = {**scope, "input": revealed(scope["input"]), "keychain": keychain}
    is_secret = has_secret(scope["input"])
    given = {}
    for name, value in task.input.items():
        found = rendered_field(value, opened)
        given[name] = sealed(found) if is_secret and "input" in value.reads else found
    return given


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls a workbook task."""

    pipeline: Pipeline
    invocation: Invocation
    chance: float
    sleep: Callable[[float], Awaitable[None]]  # raises when the worker stops: whoever goes on makes the call again


async def call(invoker: Invoker, caller: Caller, task: Task) -> Answer:
    """Run the called task, its own retries included, within the caller's time."""
    seconds = caller.invocation.task.timeout.total
    try:
        async with asyncio.timeout(seconds):
            return await _call(invoker, caller, task)
    except TimeoutError:
        late = failure("timeout", f"the call took longer than its {seconds} s (spec.timeout)", retryable=True)
        pipeline = caller.pipeline
        results = invoker.shelf(pipeline.playbook, pipeline.work, task)
        return await invoker.answer(pipeline.playbook, task, late, {"attempt": caller.invocation.attempt}, results)


async def _call(invoker: Invoker, caller: Caller, task: Task) -> Answer:
    pipeline, invocation = caller.pipeline, caller.invocation
    scope = scope_of(pipeline, invocation, task)
    seen = _seen(invocation, scope)
    skipped = verdict_before(task, seen)
    if skipped:
        invoker.on_called_verdict(pipeline.work.execution_id, task.label, skipped.index)
        passed_on = Output(data=pipeline.previous())
        meta = {"attempt": invocation.attempt}
        results = invoker.shelf(pipeline.playbook, pipeline.work, task)
        answer = await invoker.answer(pipeline.playbook, task, passed_on, meta, results, is_result=False)
        return _answered(task, skipped, answer, seen)
    attempt = 1
    keychain = await invoker.credentials(pipeline.playbook, task, pipeline.work)
    while True:
        given = input_of(task, {**scope, "_attempt": attempt}, keychain)
        secret_inputs = secret_inputs_of(pipeline.playbook, invocation.task)
        redactor = invoker.keychain.redactor()
        for secret in derived_secrets(pipeline.playbook, task, given, redactor, secret_inputs):
            invoker.keychain.remember(secret)
        tool_call = invoker.call(
            pipeline.playbook,
            pipeline.work,
            task,
            given,
            key=invocation.key,
            attempt=attempt,
            inherited=scope["input"],
            previous=pipeline.previous(),
        )
        answer = await invoker.invoke(pipeline.playbook, task, tool_call, lambda: None)
        after = _scope_after(task, seen, given, answer, attempt)
        verdict = verdict_after(task, after, is_error=answer.hand["status"] == "error")
        rule = verdict.rule
        invoker.on_called_verdict(pipeline.work.execution_id, task.label, verdict.index)
        if verdict.do != RETRY or rule is None or attempt >= rule.attempts:
            return _answered(task, verdict, answer, after)
        await caller.sleep(_delay(rule, after, attempt, answer.retry_after_seconds, caller.chance))
        attempt += 1


TAINTED = frozenset(("keychain", "input"))


def _seen(invocation: Invocation, scope: dict[str, Any]) -> dict[str, Any]:
    """The scope as rules and sets may read it: what the caller made from a credential is not to be seen (KC-05)."""
    shown = masked(invocation.task, {name: value for name, value in invocation.input.items() if name != "task"})
    return {**scope, "input": {**scope["input"], **shown}}


def _scope_after(
    task: Task, seen: dict[str, Any], given: dict[str, Any], answer: Answer, attempt: int
) -> dict[str, Any]:
    output = views.readable(answer.hand)
    has_secret = MASK in seen["input"].values()
    shown = masked(task, given, TAINTED) if has_secret else masked(task, given)
    names = {"_attempt": attempt, "output": output, task.label: output, "input": {**seen["input"], **shown}}
    return {**seen, **names}


def _delay(rule: Rule, scope: Scope, attempt: int, at_least: float, chance: float) -> float:
    return delay_seconds(
        rule.backoff,
        seconds_of(rule.delay, scope),
        attempt,
        max_delay=rule.max_delay_seconds,
        jitter=rule.jitter,
        chance=chance,
        at_least=at_least,
    )


def _answered(task: Task, verdict: Verdict, answer: Answer, scope: dict[str, Any]) -> Answer:
    """What the called task's own policy made of its output is what the caller gets."""
    is_error = answer.hand["status"] == "error"
    if verdict.do in (FAIL, RETRY) and not is_error:
        why = "has no attempt left" if verdict.do == RETRY else "says fail"
        message = f'rule {verdict.index + 1} of the workbook task "{task.label}" {why}'
        answer = _with_status(answer, "error", Error(kind="exception", message=message).as_data())
    elif verdict.do not in (FAIL, RETRY) and is_error:
        answer = _with_status(answer, "ok", None)
    return msgspec.structs.replace(answer, patches=_patches(task, verdict, scope))


def _with_status(answer: Answer, status: str, error: dict[str, Any] | None) -> Answer:
    change = {"status": status, "error": error}
    return msgspec.structs.replace(answer, hand={**answer.hand, **change}, recorded={**answer.recorded, **change})


def _patches(task: Task, verdict: Verdict, scope: Scope) -> list[Patch]:
    own = [] if verdict.do in (RETRY, FAIL, SKIP) else writes(task.set, scope)
    return [*own, *(writes(verdict.rule.set, scope) if verdict.rule else [])]
