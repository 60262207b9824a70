"""The worker's half of explaining: the rules of a task, its writes and its input, on the checkpoint before the event.

A pipeline is set up as a worker would have it that took the job over at this point. What only the worker had in hand
(a payload that went elsewhere, an element of a stored list, a credential) is not there: what reads it says so.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.model import Rule, Task
from noetl.engine import events as facts
from noetl.engine.decision import Decision
from noetl.engine.events import Envelope, Patch
from noetl.engine.explanations import POLICY, Explanation, Tried, explained_writes, tried, written
from noetl.engine.pipeline import NOT_ON_SET, Answer, Pipeline
from noetl.engine.policy import FAIL, NO_RULE, SKIP
from noetl.engine.progress import fold
from noetl.engine.state import State
from noetl.engine.values import Fault, Scope, masked, rendered_field
from noetl.engine.work import work_of
from noetl.expressions import STORED
from noetl.secret import MASK

NO_TOOL = "not asked: the tool did not run"
NEVER_ASKED = "not asked: an earlier one had decided"
IN_HAND = "its worker had the payload in hand; it is kept outside the log, so this cannot be asked again"
DROPPED = "the skip dropped the output that it looked at, so it cannot be asked again"
FAILED_AFTER = "it matched, and then the task failed: what follows from it could not be made"
DIFFERS = "asked again it gives another answer than was recorded; what was recorded counts"


def pipeline_of(decision: Decision, run: int, index: int, *, knows_all_steps: bool = False) -> Pipeline | None:
    """The pipeline of a job, at the point its checkpoint is at; None: there is no such job.

    A job is given the outputs of those steps only that its templates read; whoever asks from outside may read them all.
    """
    found = decision.state.runs.get(run)
    if found is None or index not in found.jobs:
        return None
    work = work_of(decision.playbook, decision.state, run, index, lease=0, folder="")
    if knows_all_steps:
        work = msgspec.structs.replace(work, steps=decision.state.outputs)
    if is_element_elsewhere(decision.state, run, index):
        around = [*work.around[:-1], msgspec.structs.replace(work.around[-1], element=STORED)]
        work = msgspec.structs.replace(work, around=around)
    return Pipeline(decision.playbook, work)


def is_element_elsewhere(state: State, run: int, index: int) -> bool:
    """Whether the element of an iteration stands in a stored list, which only whoever hands it out reads."""
    loop = state.runs[run].loop
    return loop is not None and loop.ref is not None and index not in loop.elements


def task_of(pipeline: Pipeline, label: str) -> Task | None:
    outline = pipeline.outline.by_label.get(label)
    return outline.task if outline is not None else None


# --- input -----------------------------------------------------------------------------------------------------------


class Given(msgspec.Struct, frozen=True):
    """What a task was given, as its rules may see it; `notes`: what could not be rendered again, and why."""

    input: dict[str, Any]
    notes: list[str] = []


def given_input(pipeline: Pipeline, task: Task) -> Given:
    """The input of a task, rendered again, field by field. A field made from a credential is ***."""
    try:
        scope = pipeline.scope(task)
    except Fault as fault:
        return Given({}, [f"the step's input cannot be rendered again: {fault.error.message}"])
    found: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in task.input.items():
        try:
            found[name] = MASK if "keychain" in value.reads else rendered_field(value, scope)
        except Fault as fault:
            notes.append(f"{name} cannot be rendered again: {fault.error.message}")
    return Given(masked(task, found), notes)


def input_at(decision: Decision, event: facts.TaskStarted | facts.TaskDone) -> Given | None:
    """What the task of an event was given; None: there is no such task."""
    pipeline = pipeline_of(decision, event.run, event.iter)
    task = task_of(pipeline, event.task) if pipeline else None
    if pipeline is None or task is None:
        return None
    if isinstance(event, facts.TaskStarted):
        fold(pipeline.progress, event)
    return given_input(pipeline, task)


# --- rules and writes ------------------------------------------------------------------------------------------------


def explained_task(decision: Decision, event: facts.TaskDone) -> list[Explanation]:
    """The rules of a task that has ended, in order, and the writes that followed."""
    pipeline = pipeline_of(decision, event.run, event.iter)
    task = task_of(pipeline, event.task) if pipeline else None
    if pipeline is None or task is None:
        return []
    try:
        judged = Judged(pipeline, task, event)
    except Fault as fault:
        return [_rule(pipeline, task, 0, rule, error=fault.error.message) for rule in _rules(task)[:1]]
    return [*judged.rules(), *judged.writes()]


def _rules(task: Task) -> tuple[Rule, ...]:
    return task.policy.rules if task.policy else ()


def _rule(pipeline: Pipeline, task: Task, index: int, rule: Rule, **more: Any) -> Explanation:
    return Explanation(
        place=POLICY,
        index=index,
        line=rule.place.line,
        step=pipeline.step.name,
        task=task.label,
        target=f"{rule.do} {rule.to}" if rule.to else rule.do,
        when=written(rule.when),
        **more,
    )


class Judged:
    """One attempt of a task that has ended."""

    def __init__(self, pipeline: Pipeline, task: Task, event: facts.TaskDone) -> None:
        self.pipeline = pipeline
        self.task = task
        self.event = event
        self.before: Scope = pipeline.scope(task)
        self.chosen = _rules(task)[event.rule] if NO_RULE < event.rule < len(_rules(task)) else None
        is_skipped = self.chosen is not None and self.chosen.is_before_tool
        self.is_fault = event.rule == NO_RULE and event.do == FAIL and event.error is not None
        is_unanswered = self.is_fault and event.output is not None and not event.output.get("meta")  # no tool gave it
        self.has_run = not (task.is_transparent or is_skipped or is_unanswered)
        self.is_judged = task.is_transparent or self.has_run
        self.after: Scope = self._after(event.output) if self.has_run and event.output else self.before

    def _after(self, output: Envelope) -> Scope:
        given = given_input(self.pipeline, self.task).input
        return self.pipeline.scope_of_answer(self.task, given, Answer(recorded=output, hand=output))

    def rules(self) -> list[Explanation]:
        """Those that are asked before the tool come first, as they did."""
        numbered = list(enumerate(_rules(self.task)))
        before = [one for one in numbered if one[1].is_before_tool]
        after = [one for one in numbered if not one[1].is_before_tool]
        found = self._asked(before, self.before, is_over=False)
        found += self._asked(after, self.after, is_over=not self.is_judged)
        return sorted(found, key=lambda one: one.index)

    def _asked(self, rules: list[tuple[int, Rule]], scope: Scope, *, is_over: bool) -> list[Explanation]:
        found: list[Explanation] = []
        why = NO_TOOL
        for index, rule in rules:
            if is_over:
                found.append(_rule(self.pipeline, self.task, index, rule, was_asked=False, note=why))
                continue
            found.append(self._asked_rule(index, rule, scope))
            is_over, why = self._is_last(found[-1]), NEVER_ASKED
        return found

    def _is_last(self, asked: Explanation) -> bool:
        return asked.is_chosen or asked.error is not None or (self.is_fault and asked.result is True)

    def _asked_rule(self, index: int, rule: Rule, scope: Scope) -> Explanation:
        is_chosen = index == self.event.rule
        again = tried(rule.when, scope)
        if (
            unknown := DROPPED
            if self._is_dropped(rule)
            else IN_HAND
            if again.is_elsewhere and not self.is_fault
            else ""
        ):
            return _rule(
                self.pipeline,
                self.task,
                index,
                rule,
                result=is_chosen,  # as it was recorded: those asked before the chosen one did not match
                is_chosen=is_chosen,
                reads=[] if unknown == DROPPED else again.reads,
                note=unknown,
            )
        return _rule(
            self.pipeline,
            self.task,
            index,
            rule,
            result=again.result,
            is_chosen=is_chosen,
            error=again.error,
            reads=again.reads,
            note=self._note(again, is_chosen),
        )

    def _is_dropped(self, rule: Rule) -> bool:
        """A skip after the tool ran leaves no output in the log."""
        is_gone = self.has_run and self.event.do == SKIP and self.event.output is None and not rule.is_before_tool
        return is_gone and rule.when is not None and not rule.when.reads.isdisjoint(("output", self.task.label))

    def _note(self, again: Tried, is_chosen: bool) -> str:
        if again.result is is_chosen or (self.is_fault and again.result is None):
            return ""
        return FAILED_AFTER if self.is_fault and again.result else DIFFERS

    def writes(self) -> list[Explanation]:
        """The task's set, then the chosen rule's, which sees what the first wrote (TK-12)."""
        step, label, event = self.pipeline.step.name, self.task.label, self.event
        if self.event.rule == NO_RULE and event.do in NOT_ON_SET:
            return []
        found = [] if event.do in NOT_ON_SET else explained_writes(self.task.set, self.after, step, label)
        if self.chosen is not None and self.chosen.set:
            found += explained_writes(self.chosen.set, self._after_set(), step, label)
        return found

    def _after_set(self) -> Scope:
        of_task = [] if self.event.do in NOT_ON_SET else self._made(len(self.task.set))
        return self.pipeline.scope_after(dict(self.after), of_task)

    def _made(self, count: int) -> list[Patch]:
        """The writes of the task's own set, as they were recorded: its targets, before those of the rule."""
        targets = {f"{one.scope}.{'.'.join(one.path)}" for one in self.task.set}
        made = [patch for patch in (*self.event.patches, *self.event.held) if patch.path in targets]
        return made[:count]


# --- the end of a pipeline -------------------------------------------------------------------------------------------


def explained_end(decision: Decision, event: facts.StepDone) -> list[Explanation]:
    """The set of a step whose pipeline has ended."""
    pipeline = pipeline_of(decision, event.run, event.iter)
    if pipeline is None or not pipeline.step.set or pipeline.work.compensates:
        return []
    try:
        scope: Scope = pipeline.scope_at_end()
    except Fault:
        scope = {}
    return explained_writes(pipeline.step.set, scope, pipeline.step.name)
