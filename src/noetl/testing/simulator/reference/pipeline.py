"""The reference run of one pipeline: task after task, with no worker and no log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.testing.simulator.playbooks.plans import HTTP, NOOP, PLAYBOOK, RESOLVE, WORKBOOK, Rule, Task, Write
from noetl.testing.simulator.playbooks.scripts import ERROR_STATUSES, Circumstances, outcome
from noetl.testing.simulator.playbooks.terms import value_of
from noetl.testing.simulator.reference.expectations import Attempt, RunKey, TaskKey

Envelope = dict[str, Any]
Record = Callable[[TaskKey, Attempt], None]
Call = Callable[[TaskKey, str, dict[str, Any]], Envelope]
ATTEMPTS_MAX = 10_000
NO_TASK_SET = ("retry", "fail", "skip")  # TK-12


def ok(data: Any, **helpers: Any) -> Envelope:
    """Its reference, which only `resolve` looks into, is the data itself."""
    return {"status": "ok", "data": data, "ref": {"of": data}, "error": None, **helpers}


def error(kind: str, **helpers: Any) -> Envelope:
    return {"status": "error", "data": None, "error": {"kind": kind}, **helpers}


class Sight(msgspec.Struct, kw_only=True):
    """What a pipeline sees when it begins; its own writes are added to it."""

    workload: dict[str, Any]
    ctx: dict[str, Any]
    step: dict[str, Any]
    input: dict[str, Any]
    carried: Envelope | None
    iteration: dict[str, Any] | None = None

    def scope(self) -> dict[str, Any]:
        names = {"workload": self.workload, "ctx": self.ctx, "step": self.step, "input": self.input}
        return names if self.iteration is None else {**names, "iter": self.iteration}

    def write(self, path: str, value: Any) -> None:
        """Data that others look at too is left as it is."""
        scope, _, key = path.partition(".")
        if scope == "ctx":
            self.ctx = {**self.ctx, key: value}
        elif scope == "step":
            self.step = {**self.step, key: value}
        else:
            self.iteration = {**(self.iteration or {}), key: value}


class PipelineRun:
    """One pipeline. After `go`: what it wrote, its last output, and why it failed, if it did."""

    def __init__(self, run: RunKey, tasks: tuple[Task, ...], sight: Sight, record: Record, call: Call) -> None:
        self.run = run
        self.tasks = tasks
        self.sight = sight
        self.record = record
        self.call = call
        self.outputs: dict[str, Envelope] = {}
        self.last: Envelope | None = None
        self.previous = sight.carried["data"] if sight.carried else None
        self.written: dict[str, Any] = {}  # by path
        self.error_kind = ""

    def go(self) -> None:
        place, attempt = 0, 1
        visits: dict[str, int] = {}
        for _ in range(ATTEMPTS_MAX):
            if place >= len(self.tasks):
                return
            task = self.tasks[place]
            if attempt == 1:
                visits[task.label] = visits.get(task.label, 0) + 1
            do, to = self._attempt(task, visits[task.label], attempt)
            attempt = attempt + 1 if do == "retry" else 1
            if do in ("fail", "break"):
                return
            if do == "jump":
                place = next(at for at, one in enumerate(self.tasks) if one.label == to)
            elif do != "retry":
                place += 1
        raise AssertionError(f"{self.run}: a generated pipeline does not end")

    def _attempt(self, task: Task, visit: int, attempt: int) -> tuple[str, str]:
        key = TaskKey(self.run, task.label, visit, attempt)
        skipping = self._matching(task, self._scope(task), is_before_tool=True)
        if skipping is not None:
            self._write(skipping.writes, self._scope(task))
            self.record(key, Attempt(do="skip", status="skipped"))
            return "skip", ""
        answer = self._answer(task, key)
        scope = {**self._scope(task), "output": answer, task.label: answer}
        do, rule = self._verdict(task, scope, attempt, is_error=answer["status"] == "error")
        if do not in NO_TASK_SET:
            self._write(task.writes, scope)
        if rule is not None:
            self._write(rule.writes, {**scope, **self.sight.scope()})
        self._keep(task, answer, do)
        self.record(key, _recorded(do, answer))
        return do, rule.to if rule else ""

    def _scope(self, task: Task) -> dict[str, Any]:
        return {**self.outputs, **self.sight.scope(), "_prev": self.previous, "_task": task.label}

    def _matching(self, task: Task, scope: dict[str, Any], *, is_before_tool: bool) -> Rule | None:
        for rule in task.rules or ():
            if rule.is_before_tool == is_before_tool and (rule.when is None or value_of(rule.when, scope)):
                return rule
        return None

    def _verdict(self, task: Task, scope: dict[str, Any], attempt: int, *, is_error: bool) -> tuple[str, Rule | None]:
        rule = self._matching(task, scope, is_before_tool=False)
        if rule is None:
            fails = is_error if task.rules is None else task.fails_unmatched
            do = "fail" if fails else "continue"
        else:
            do = "fail" if rule.do == "retry" and attempt >= rule.attempts else rule.do
        if do == "fail":
            self.error_kind = scope["output"]["error"]["kind"] if is_error else "exception"
        return do, rule

    def _write(self, writes: tuple[Write, ...], scope: dict[str, Any]) -> None:
        """The values of one set are rendered together, before any is written."""
        values = [(write.path, value_of(write.term, scope)) for write in writes]
        for path, value in values:
            self.sight.write(path, value)
            self.written.pop(path, None)
            self.written[path] = value

    def _keep(self, task: Task, answer: Envelope, do: str) -> None:
        if do == "skip":
            return
        self.outputs[task.label] = self.last = answer
        if do != "retry":
            self.previous = answer["data"]

    # --- what tools give ---------------------------------------------------------------------------------------------

    def _answer(self, task: Task, key: TaskKey) -> Envelope:
        scope = self._scope(task)
        given = {name: value_of(term, scope) for name, term in task.input.items()}
        if task.kind == PLAYBOOK:
            return self.call(key, task.path, given)
        if task.kind == RESOLVE:
            return ok(given["ref"]["of"])
        if task.kind == NOOP:
            return ok(given or (None if self.run.indexes else self.previous))
        if task.kind == WORKBOOK:
            return self._called(task, key, given)
        return self._scripted(task, key, given)

    def _called(self, caller: Task, key: TaskKey, given: dict[str, Any]) -> Envelope:
        """TK-14: the called task's own rules are asked within the one attempt of its caller."""
        called = caller.called
        assert called is not None  # noqa: S101 - its caller has it
        shown = msgspec.structs.replace(called, sees_previous=caller.sees_previous)
        attempt, answer, do = 0, error("exception"), "retry"
        while do == "retry":
            attempt += 1
            answer = self._scripted(shown, key._replace(attempt=attempt), given)
            do, _ = self._verdict(called, {"output": answer}, attempt, is_error=answer["status"] == "error")
        if do != "fail":
            self._write(called.writes, {**self.sight.scope(), "output": answer})
            return {**answer, "status": "ok", "error": None}
        self.error_kind = ""  # it is the caller that fails, if its rules say so
        return answer

    def _scripted(self, task: Task, key: TaskKey, given: dict[str, Any]) -> Envelope:
        assert task.script is not None  # noqa: S101 - a scripted task has one
        come = outcome(
            task.script,
            Circumstances(
                label=key.label,
                indexes=self.run.indexes,
                visit=key.visit,
                attempt=key.attempt,
                value=given.get("x"),
                previous=self.previous if task.sees_previous else None,
                timeout_seconds=task.timeout_seconds,
            ),
        )
        if not come.error_kind:
            return ok(come.data, http={"status": 200}) if task.kind == HTTP else ok(come.data)
        return error(come.error_kind, http={"status": ERROR_STATUSES.get(come.error_kind)})


def _recorded(do: str, answer: Envelope) -> Attempt:
    if do == "skip":
        return Attempt(do=do, status="skipped")
    kind = answer["error"]["kind"] if answer["error"] else ""
    return Attempt(do=do, status=answer["status"], error_kind=kind, data=answer["data"])
