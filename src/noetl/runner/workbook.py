"""kind: workbook: a reusable task, called across a boundary with its own labels, input and output (PB-06).

The call is one attempt of the caller. The called task's own policy is asked inside it: a retry there happens before the
caller's, and does not show in the events (TK-14). What it writes with `set` goes with the caller's `task.done`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.model import Playbook, Rule, Task
from noetl.engine import views
from noetl.engine.backoff import delay_seconds
from noetl.engine.events import Patch
from noetl.engine.output import Output
from noetl.engine.pipeline import Answer, Invocation, Pipeline
from noetl.engine.policy import FAIL, RETRY, SKIP, Verdict, verdict_after, verdict_before
from noetl.engine.values import Scope, fault, rendered, seconds_of, writes
from noetl.runner.invoke import Invoker


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
    for label in pipeline.progress.outputs:
        scope.pop(label, None)
    return {**pipeline.base_scope(), **scope, "_task": task.label}


def input_of(task: Task, scope: dict[str, Any], keychain: dict[str, Any]) -> dict[str, Any]:
    return {name: rendered(value, {**scope, "keychain": keychain}) for name, value in task.input.items()}


async def call(invoker: Invoker, pipeline: Pipeline, caller: Invocation, task: Task, chance: float) -> Answer:
    """Run the called task, its own retries included."""
    scope = scope_of(pipeline, caller, task)
    skipped = verdict_before(task, scope)
    if skipped:
        passed_on = Output(data=pipeline.previous())
        answer = await invoker.answer(pipeline.playbook, task, passed_on, {"attempt": caller.attempt})
        return _answered(task, skipped, answer, scope)
    attempt = 1
    keychain = await invoker.credentials(pipeline.playbook, task)
    while True:
        given = input_of(task, {**scope, "_attempt": attempt}, keychain)
        tool_call = invoker.call(
            pipeline.work,
            task,
            given,
            key=caller.key,
            attempt=attempt,
            inherited=scope["input"],
            previous=pipeline.previous(),
        )
        answer = await invoker.invoke(pipeline.playbook, task, tool_call, lambda: None)
        output = views.readable(answer.hand)
        after = {**scope, "_attempt": attempt, "output": output, task.label: output}
        after["input"] = {**scope["input"], **given}
        verdict = verdict_after(task, after, is_error=answer.hand["status"] == "error")
        rule = verdict.rule
        if verdict.do != RETRY or rule is None or attempt >= rule.attempts:
            return _answered(task, verdict, answer, after)
        await invoker.clock.sleep(_delay(rule, after, attempt, answer.retry_after_seconds, chance))
        attempt += 1


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
    return msgspec.structs.replace(answer, patches=_patches(task, verdict, scope))


def _patches(task: Task, verdict: Verdict, scope: Scope) -> list[Patch]:
    own = [] if verdict.do in (RETRY, FAIL, SKIP) else writes(task.set, scope)
    return [*own, *(writes(verdict.rule.set, scope) if verdict.rule else [])]
