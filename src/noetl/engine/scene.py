"""One job's view of the world: every name its templates can read, bound to values (TP-02, SC-03 … SC-07, TK-11)."""

from __future__ import annotations

from typing import Any

from noetl import ids
from noetl.dsl.model import Playbook, Step, Task
from noetl.engine import scopes, views
from noetl.engine.commands import Work
from noetl.engine.events import Envelope
from noetl.engine.outlines import outline_of
from noetl.engine.progress import KEPT, copy_of
from noetl.engine.state import Progress
from noetl.engine.values import rendered


class Scene:
    """What one job sees, at the point its progress has come to."""

    def __init__(self, playbook: Playbook, work: Work) -> None:
        self.playbook = playbook
        self.work = work
        self.step: Step = playbook.steps[work.step]
        self.tasks: tuple[Task, ...] = self.step.compensation if work.compensates else self.step.tasks
        self.outline = outline_of(self.tasks)
        self.progress: Progress = copy_of(work.progress)
        self.hands: dict[str, Envelope] = {}  # outputs with their data in hand, by label
        self.keychain: dict[str, Any] | None = {}  # None: it could not be had, so no input can be rendered
        self._base: dict[str, Any] | None = None
        self._input: dict[str, Any] | None = None

    @property
    def has_loop(self) -> bool:
        return bool(self.work.around)

    @property
    def received(self) -> Envelope | None:
        """What the first task finds: the sender's output; in a compensation that of the run it undoes (ST-12)."""
        return self.work.undone if self.work.compensates else self.work.carried

    @property
    def labels(self) -> list[str]:
        """The tasks that have given an output."""
        return [label for label in self.progress.outputs if label != KEPT]

    def output_of(self, label: str) -> Envelope:
        hand = self.hands.get(label)
        return views.readable(hand if hand is not None else self.progress.outputs[label])

    def previous(self) -> Any:
        """`_prev`: the data of the task before, at first that of the sender (SC-07)."""
        progress = self.progress
        if progress.previous:
            return progress.previous[0]
        if progress.previous_label:
            label = progress.previous_label
            return views.handed_on(self.hands.get(label) or progress.outputs[label])
        return views.handed_on(self.received)

    def output(self) -> Envelope:
        """`output`: of the task before, at first that of the sender (RT-12)."""
        return self.output_of(self.progress.last) if self.progress.last else views.readable(self.received)

    def step_input(self) -> dict[str, Any]:
        """The token's args overlaid by the step's input, rendered with ctx as it was at scheduling (TK-11)."""
        if not self.step.input:
            return self.work.args
        if self._input is None:
            scope = self.base_scope()
            scope.update(ctx=self.work.run_ctx, input=self.work.args, output=views.readable(self.work.carried))
            given = {name: rendered(value, self.seen(scope)) for name, value in self.step.input.items()}
            self._input = {**self.work.args, **given}
        return self._input

    def base_scope(self) -> dict[str, Any]:
        """What does not change while the pipeline runs."""
        if self._base is None:
            work = self.work
            base = self._base = scopes.bare_names(work.workload, work.steps)
            for one in work.around:  # of two equal names the inner one counts
                base[one.iterator] = one.element
            base["workload"], base["execution_id"] = work.workload, str(work.execution_id)
        return dict(self._base)

    def scope(self, task: Task, given: dict[str, Any] | None = None) -> dict[str, Any]:
        """The names of one task; `given`: its own rendered input, overlaying the step's."""
        progress, scope = self.progress, self.base_scope()
        if progress.outputs:
            reserved = {name: scope[name] for name in ("workload", "execution_id")}
            for label in self.labels:
                scope[label] = self.output_of(label)
            scope.update(reserved)
        step_input = self.step_input()
        scope["ctx"], scope["step"] = progress.ctx, progress.step
        scope["input"] = {**step_input, **given} if given else step_input
        scope["output"], scope["_prev"] = self.output(), self.previous()
        scope["_task"], scope["_attempt"] = task.label, progress.attempt
        scope["_key"] = ids.key_abroad(self.work.trace_id, self.key(task))
        if self.work.around:
            scope["iter"] = scopes.iteration(self.work.around, progress.iter)
        return self.seen(scope)

    def seen(self, scope: dict[str, Any]) -> dict[str, Any]:
        """A scope as this playbook's surface reads it."""
        if not self.playbook.settings.is_transparent:
            return scope
        return scopes.see_through(scope, (*self.labels, *self.work.steps))

    def visit(self, task: Task) -> int:
        seen = self.progress.visits.get(task.label, 0)
        return seen if self.progress.is_open or self.progress.attempt > 1 else seen + 1

    def key(self, task: Task) -> str:
        work = self.work
        task_run = ids.task_run_id(work.execution_id, work.run, work.iter, task.label, self.visit(task))
        return ids.idempotency_key(task_run, self.progress.answered)
