"""The worker's half of the engine: one pipeline, task by task. Pure: a machine that is told what happened.

    begin ─→ enter ─→ (the worker runs the tool) ─→ close ─→ enter ─→ … ─→ finish

`enter` opens the next task and gives what the tool needs, or closes it at once where no tool runs (a skip that needs no
output, a generated task, a template that fails). `close` takes the output, asks the rules, makes the writes and gives
the `task.done` that says where to go on. Every event is folded into the progress as it is made, by the same function
with which the server folds what is reported.

Order within a task (TK-12): the rules choose on the values before any set; then the task's set, except on retry, fail
and skip; then the chosen rule's set.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.model import Assign, Rule, Task
from noetl.engine import scopes, views
from noetl.engine.backoff import delay_seconds
from noetl.engine.events import (
    NO_DELAY,
    Envelope,
    Event,
    LoopIterationDone,
    LoopIterationFailed,
    Patch,
    StepDone,
    StepFailed,
    StepStarted,
    TaskDone,
    TaskStarted,
)
from noetl.engine.outlines import END, TaskOutline
from noetl.engine.output import Error
from noetl.engine.patches import patched
from noetl.engine.policy import CONTINUE, FAIL, JUMP, RETRY, SKIP, Verdict, verdict_after, verdict_before
from noetl.engine.progress import KEPT, fold
from noetl.engine.rows import check_written
from noetl.engine.scene import Scene
from noetl.engine.values import (
    Fault,
    Scope,
    check_ctx,
    fault,
    masked,
    rendered_data,
    rendered_field,
    seconds_of,
    writes,
)

TASK_RUNS_MAX = 100_000  # TK-09: the guard against endless jumps
NOT_ON_SET = (RETRY, FAIL, SKIP)


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is open and waits for its tool."""

    task: Task
    input: dict[str, Any]
    visit: int
    attempt: int
    key: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gave: as recorded, and as the worker has it in hand; the two differ where data is kept elsewhere."""

    recorded: Envelope
    hand: Envelope
    is_definite: bool = True
    retry_after_seconds: float = 0.0
    logs: list[str] = []
    patches: list[Patch] = []  # writes of a workbook task that was called


class Pipeline(Scene):
    """One job under way."""

    def begin(self, now: float) -> list[Event]:
        """The step has started, unless that is recorded, or the server said so of a loop."""
        if self.work.is_started or self.has_loop:
            return []
        return [StepStarted(ts=now, run=self.work.run, lease=self.work.lease, step=self.step.name)]

    def current(self) -> Task | None:
        """The task that is next; None: the pipeline is at its end."""
        found = self.current_outline()
        return found.task if found is not None else None

    def current_outline(self) -> TaskOutline | None:
        """The same, with what is known of it."""
        label = self.progress.label
        if label is None:
            return self.outline.first
        return None if label == END else self.outline.by_label[label]

    def enter(self, now: float) -> tuple[list[Event], Invocation | None]:
        """Open the next task. No invocation: it is closed already, since no tool has to run."""
        outline = self.current_outline()
        assert outline is not None  # noqa: S101 - the worker asks for a task while there is one
        task = outline.task
        events = self._open(task, now)
        try:
            return self._prepare(outline, events, now)
        except Fault as found:
            return [*events, self._failed(task, found.error, now)], None

    def _open(self, task: Task, now: float) -> list[Event]:
        progress, work = self.progress, self.work
        if progress.is_open:
            return []
        started = TaskStarted(
            ts=now,
            run=work.run,
            iter=work.iter,
            lease=work.lease,
            task=task.label,
            visit=self.visit(task),
            attempt=progress.attempt,
            kind=task.kind,
        )
        fold(progress, started)
        return [started]

    def _prepare(self, outline: TaskOutline, events: list[Event], now: float) -> tuple[list[Event], Invocation | None]:
        task = outline.task
        if self.progress.task_runs >= TASK_RUNS_MAX:
            raise fault("jump_limit", f"a pipeline may run {TASK_RUNS_MAX} tasks; does a jump ever end?", task.place)
        scope: dict[str, Any] = {}
        if outline.reads_before:
            scope = self.scope(task)
            skipped = verdict_before(task, scope)
            if skipped:
                return [*events, self._done(task, skipped, scope, None, now)], None
        if task.is_transparent:
            verdict = verdict_after(task, scope, is_error=False)
            return [*events, self._done(task, verdict, scope, None, now)], None
        given = self.rendered_input(task, scope)
        return events, Invocation(
            task=task, input=given, visit=self.visit(task), attempt=self.progress.attempt, key=self.key(task)
        )

    def rendered_input(self, task: Task, scope: dict[str, Any]) -> dict[str, Any]:
        """The tool's fields and further named values."""
        if not task.input or self.keychain is None:
            return {}
        scope["keychain"] = self.keychain
        given = {name: rendered_field(value, scope) for name, value in task.input.items()}
        del scope["keychain"]
        return given

    def close(self, invocation: Invocation, answer: Answer, now: float, chance: float = 0.5) -> TaskDone:
        """The tool has answered: what happens next."""
        task, previous_label = invocation.task, self.progress.previous_label
        is_judged = self.outline.by_label[task.label].is_judged
        scope = self.scope_of_answer(task, invocation.input, answer) if is_judged else {}
        try:
            verdict = verdict_after(task, scope, is_error=answer.hand["status"] == "error")
            done = self._done(task, verdict, scope, answer, now, chance)
        except Fault as found:
            done = self._failed(task, found.error, now, answer)
        if self.progress.previous_label == KEPT != previous_label and task.label in self.hands:
            self.hands[KEPT] = self.hands[task.label]
        if done.output is not None:
            self.hands[task.label] = answer.hand
        return done

    def scope_of_answer(self, task: Task, given: dict[str, Any], answer: Answer) -> dict[str, Any]:
        """What the rules and the set of a task read, once its tool has answered."""
        scope = self.scope(task, masked(task, given))
        scope["output"] = scope[task.label] = views.readable(answer.hand)
        if self.playbook.settings.is_transparent:
            scopes.see_through(scope, (task.label,))
        return scope

    def refuse(self, invocation: Invocation, error: Error, now: float) -> TaskDone:
        """What the tool was to be given cannot be made: the step fails."""
        return self._failed(invocation.task, error, now)

    def _done(
        self,
        task: Task,
        verdict: Verdict,
        scope: dict[str, Any],
        answer: Answer | None,
        now: float,
        chance: float = 0.5,
    ) -> TaskDone:
        rule, work, progress = verdict.rule, self.work, self.progress
        verdict, error, delay = self._after_retries(task, verdict, scope, answer, chance)
        patches = self._writes(task, verdict, rule, scope) if task.set or rule else []
        if answer and answer.patches:
            patches = [*answer.patches, *patches]
        previous = [rendered_data(rule.previous, scope)] if rule and rule.previous else []
        if patches or previous:
            check_ctx(progress.ctx, patches, task.place)
            check_written(self.playbook, [patches, *previous], task.place)
        now_patches, held = self._split(patches)
        done = TaskDone(
            ts=now,
            run=work.run,
            iter=work.iter,
            lease=work.lease,
            task=task.label,
            visit=self.visit(task),
            attempt=progress.attempt,
            do=verdict.do,
            to=self._next_label(task, verdict),
            rule=verdict.index,
            output=answer.recorded if answer and verdict.do != SKIP else None,
            delay_seconds=delay,
            patches=now_patches,
            held=held,
            previous=previous,
            is_definite=answer.is_definite if answer else True,
            logs=answer.logs if answer else [],
            error=error,
        )
        fold(progress, done)
        return done

    def _after_retries(
        self, task: Task, verdict: Verdict, scope: Scope, answer: Answer | None, chance: float
    ) -> tuple[Verdict, dict[str, Any] | None, float]:
        """A retry with a delay; or, with none left, a failure (TK-08)."""
        rule = verdict.rule
        if verdict.do == CONTINUE:
            return verdict, None, NO_DELAY
        if verdict.do == RETRY and rule:
            if self.progress.attempt < rule.attempts:
                return verdict, None, self._delay(rule, scope, answer, chance)
            error = {**self._error(task, verdict, answer), "attempts": rule.attempts}
            return Verdict(FAIL, rule, verdict.index), error, NO_DELAY
        return verdict, self._error(task, verdict, answer) if verdict.do == FAIL else None, NO_DELAY

    def _delay(self, rule: Rule, scope: Scope, answer: Answer | None, chance: float) -> float:
        return delay_seconds(
            rule.backoff,
            seconds_of(rule.delay, scope),
            self.progress.attempt,
            max_delay=rule.max_delay_seconds,
            jitter=rule.jitter,
            chance=chance,
            at_least=answer.retry_after_seconds if answer else 0.0,
        )

    def _error(self, task: Task, verdict: Verdict, answer: Answer | None) -> dict[str, Any]:
        found: dict[str, Any] | None = answer.hand.get("error") if answer else None
        if found is None:
            who = f"rule {verdict.index + 1}" if verdict.rule else "on_unmatched"
            message = f"{who} of the task's policy says {verdict.do}"
            found = Error(kind="exception", message=message).as_data()
        return self._placed(task, found)

    def _placed(self, task: Task, error: dict[str, Any]) -> dict[str, Any]:
        """An error with where it happened, for whoever has to mend it."""
        where = {"step": self.step.name, "task": task.label, "place": str(task.place)}
        if self.work.around:
            where["iteration"] = ".".join(str(one.index) for one in self.work.around)
        return {**error, **where}

    def _failed(self, task: Task, error: Error, now: float, answer: Answer | None = None) -> TaskDone:
        """A template failed, or a value cannot be recorded: the step fails whatever the policy says."""
        data, work = error.as_data(), self.work
        done = TaskDone(
            ts=now,
            run=work.run,
            iter=work.iter,
            lease=work.lease,
            task=task.label,
            visit=self.visit(task),
            attempt=self.progress.attempt,
            do=FAIL,
            to=END,
            output=answer.recorded if answer else views.failed(data),
            logs=answer.logs if answer else [],
            error=self._placed(task, data),
        )
        fold(self.progress, done)
        return done

    def _writes(self, task: Task, verdict: Verdict, rule: Rule | None, scope: dict[str, Any]) -> list[Patch]:
        of_task: tuple[Assign, ...] = () if verdict.do in NOT_ON_SET else task.set
        patches = writes(of_task, scope)
        if rule and rule.set:
            patches += writes(rule.set, self.scope_after(scope, patches))
        return patches

    def scope_after(self, scope: dict[str, Any], patches: list[Patch]) -> dict[str, Any]:
        """The scope with the task's own set written: the rule's set comes after it."""
        if not patches:
            return scope
        after = {**scope, "ctx": patched(scope["ctx"], patches, "ctx"), "step": patched(scope["step"], patches, "step")}
        if "iter" in scope:
            after["iter"] = patched(scope["iter"], patches, "iter")
        return after

    def _split(self, patches: list[Patch]) -> tuple[list[Patch], list[Patch]]:
        """What applies now, and what a parallel loop holds until its end (SC-12)."""
        if not (patches and self.work.is_held):
            return patches, []
        held = [patch for patch in patches if not patch.path.startswith("iter.")]
        return [patch for patch in patches if patch.path.startswith("iter.")], held

    def _next_label(self, task: Task, verdict: Verdict) -> str:
        if verdict.do == JUMP and verdict.rule and verdict.rule.to:
            return verdict.rule.to
        if verdict.do == RETRY:
            return task.label
        if verdict.do in (CONTINUE, SKIP):
            return self.outline.by_label[task.label].following
        return END

    # --- the end -----------------------------------------------------------------------------------------------------

    def finish(self, now: float) -> Event:
        """The pipeline has ended: the boundary of its step run or iteration."""
        if self.progress.is_failed:
            return self._boundary_failed(self.progress.error or {}, now)
        return self._iteration_done(now) if self.has_loop else self._step_done(now)

    def _iteration_done(self, now: float) -> Event:
        try:
            if self.progress.held:
                check_written(self.playbook, [self.progress.held], self.step.place)
        except Fault as found:
            return self.fail(found.error, now)
        return LoopIterationDone(
            ts=now,
            run=self.work.run,
            iter=self.work.iter,
            lease=self.work.lease,
            output=self._last_recorded() or views.NOTHING,
            patches=self.progress.held,
        )

    def _last_recorded(self) -> Envelope | None:
        return self.progress.outputs[self.progress.last] if self.progress.last else None

    def _step_done(self, now: float) -> Event:
        output = self._last_recorded() or self.work.carried or views.NOTHING
        try:
            patches = writes(self.step.set, self.scope_at_end()) if self._has_step_set else []
            if patches:
                check_ctx(self.progress.ctx, patches, self.step.place)
                check_written(self.playbook, [patches], self.step.place)
        except Fault as found:
            return self.fail(found.error, now)
        is_plan = self.step.is_planner and not self.work.compensates
        return StepDone(
            ts=now,
            run=self.work.run,
            lease=self.work.lease,
            step=self.step.name,
            output=output,
            patches=patches,
            is_plan=is_plan,
        )

    @property
    def _has_step_set(self) -> bool:
        return bool(self.step.set) and not self.work.compensates

    def scope_at_end(self) -> dict[str, Any]:
        """What a step's set reads, where no loop is."""
        scope = self.base_scope()
        for label in self.labels:
            scope[label] = self.output_of(label)
        scope.update(
            workload=self.work.workload,
            execution_id=str(self.work.execution_id),
            ctx=self.progress.ctx,
            step=self.progress.step,
            input=self.step_input(),
            output=self.output(),
        )
        return self.seen(scope)

    def _boundary_failed(self, error: dict[str, Any], now: float) -> Event:
        work, output = self.work, self._last_recorded()
        if output is not None:
            output = {**output, "status": "error", "error": error}  # what the last task gave, and why it is a failure
        if self.has_loop:
            return LoopIterationFailed(
                ts=now, run=work.run, iter=work.iter, lease=work.lease, error=error, output=output
            )
        return StepFailed(ts=now, run=work.run, lease=work.lease, step=self.step.name, error=error, output=output)

    def fail(self, error: Error, now: float) -> Event:
        """The pipeline cannot go on for a reason outside any task: its input cannot be made."""
        return self._boundary_failed({**error.as_data(), "step": self.step.name, "place": str(self.step.place)}, now)
