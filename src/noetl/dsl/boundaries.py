"""The events a step can end with, and which of its arcs fire on each: True certainly, False never, None perhaps.

RT-03: a step ends with step.done or step.failed, a step with a loop with loop.done or step.failed, and its arcs are
evaluated then. RT-11: an arc without `when` matches success only; on step.failed only arcs are asked whose `when` reads
event, output.status or output.error. What the guards say of each boundary is `expressions.decide`'s answer; this file
adds the router's mode, in which an exclusive arc hides those after it (RT-02).

SC-11: a step's output is that of the last task run. After a policy that goes on or breaks on an error, step.done comes
with output.status "error"; so the status is known only where no error can come to the end of the pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping as Table

import msgspec

from noetl.dsl.conditions import reads_failure
from noetl.dsl.draft import Arc, Draft, Site, Step, Text
from noetl.dsl.flow import can_end_with_error
from noetl.dsl.guards import claims, opposites_of
from noetl.dsl.nodes import Scalar
from noetl.expressions import OneOf, SomeMapping, Template, decide, truth_of

STEP_DONE, STEP_FAILED, LOOP_DONE = "step.done", "step.failed", "loop.done"
NAMES = (STEP_DONE, STEP_FAILED, LOOP_DONE)

Answer = bool | None
Known = Table[tuple[str, ...], object]


class Boundary(msgspec.Struct, frozen=True):
    """An event that ends a step run, and what a guard then reads for certain."""

    name: str
    known: Known

    @property
    def is_failure(self) -> bool:
        return self.name == STEP_FAILED


def boundary(name: str, **output: object) -> Boundary:
    status = "error" if name == STEP_FAILED else "success"
    known: dict[tuple[str, ...], object] = {("event", "name"): name, ("event", "status"): status}
    known.update({("output", key): value for key, value in output.items()})
    return Boundary(name, known)


EITHER = OneOf({"ok", "error"})  # TK-04: there is no third status
DONE = boundary(STEP_DONE, status="ok", error=None)
DONE_SOMEHOW = boundary(STEP_DONE, status=EITHER)  # the last task run may have failed
FAILED = boundary(STEP_FAILED, status="error", error=SomeMapping())
LOOPED = boundary(LOOP_DONE, status="ok", error=None)
LOOPED_SOMEHOW = boundary(LOOP_DONE, status=EITHER)  # some iterations may have failed


class Hider(msgspec.Struct, frozen=True):
    """An arc that leaves those after it no turn, and how."""

    arc: Arc
    how: str


ALWAYS_MATCHES = 'the arc to "{}" is taken first'
ASKS_THE_SAME = 'the arc to "{}" asks the same and is taken first'
ONE_OF_TWO = 'the arc to "{}" is taken first, or the one before that which asks the opposite'


class Firing(msgspec.Struct, kw_only=True):
    """What is known of one arc: an answer of its guard, and of the whole router, per boundary's name."""

    arc: Arc
    text: Text | None  # its guard, if that is a template
    guard: dict[str, Answer]
    fires: dict[str, Answer] = {}
    hidden_by: dict[str, Hider] = {}  # exclusive mode: the arc that is always taken before it

    @property
    def can_fire(self) -> bool:
        return any(answer is not False for answer in self.fires.values())

    @property
    def on_failure_only(self) -> bool:
        """Whether it is an arc for failures: it can fire on step.failed and on nothing else."""
        return {name for name, answer in self.fires.items() if answer is not False} == {STEP_FAILED}

    @property
    def template(self) -> Template | None:
        return self.text.template if self.text else None


def firings(draft: Draft) -> dict[int, list[Firing]]:
    """For each step, by its index in the draft, what is known of its arcs."""
    found = draft.prepared.get("firings")
    if not isinstance(found, dict):
        texts = {id(text.node): text for text in draft.texts if text.site == Site.ARC_WHEN}
        found = {number: firings_of(draft, step, texts) for number, step in enumerate(draft.steps)}
        draft.prepared["firings"] = found
    return found


def firings_of(draft: Draft, step: Step, texts: Table[int, Text]) -> list[Firing]:
    ends = boundaries(draft, step)
    is_unguarded_enough = unguarded_on_failure(draft)
    found = []
    for arc in step.arcs:
        text = texts.get(id(arc.when))
        guard = {end.name: answer(arc, text, end, is_unguarded_enough) for end in ends}
        found.append(Firing(arc=arc, text=text, guard=guard, fires=dict(guard)))
    if not step.is_inclusive:
        for end in ends:
            hide(found, end.name)
    return found


def boundaries(draft: Draft, step: Step) -> tuple[Boundary, ...]:
    """How the step can end."""
    if "loop" in step.node.entries and not step.has_loop:  # a loop of no shape: nothing is certain
        return (DONE_SOMEHOW, LOOPED_SOMEHOW, FAILED)
    is_ok = step.tool is not None and not can_end_with_error(draft, step.tasks)  # without a tool: the sender's (RT-13)
    if step.has_loop:
        return (LOOPED if is_ok and not is_best_effort(draft, step) else LOOPED_SOMEHOW, FAILED)
    done = DONE if is_ok else DONE_SOMEHOW
    return (done,) if cannot_fail(step) else (done, FAILED)


def cannot_fail(step: Step) -> bool:
    """A step that only routes: no tool, no template of its own, no time limit."""
    can = ("tool", "input", "set", "loop")
    return not any(key in step.node.entries for key in can) and not (step.policy and step.policy.get("lifecycle"))


def is_best_effort(draft: Draft, step: Step) -> bool:
    own = step.policy.mapping("failure") if step.policy else None
    policies = [own, draft.executor_policy("failure")]
    policies += [loop.policy.mapping("failure") if loop.policy else None for loop in step.loops]
    return any(policy is not None and policy.text("mode") == "best_effort" for policy in policies)


def unguarded_on_failure(draft: Draft) -> bool:
    routing = draft.executor_policy("routing")
    flag = routing.scalar("unguarded_on_failure") if routing else None
    return flag is not None and flag.value is True


def answer(arc: Arc, text: Text | None, end: Boundary, is_unguarded_enough: bool) -> Answer:
    """What an arc's guard says on one boundary."""
    if arc.when is None:
        return not end.is_failure or is_unguarded_enough
    if text is None:
        return False if end.is_failure else plain_truth(arc)
    if text.template is None:
        return None
    if end.is_failure and not reads_failure(text.template):
        return False
    return decide(text.template, end.known)


def plain_truth(arc: Arc) -> Answer:
    """A `when` without a template; None where that is not a condition at all."""
    return truth_of(arc.when.value) if isinstance(arc.when, Scalar) and arc.when.value is not None else None


def hide(found: list[Firing], name: str) -> None:
    """On one boundary of an exclusive router: an arc that is certainly taken hides the rest.

    So does an arc that asks the same as one after it, and so do two arcs of which one asks the opposite of the other.
    """
    taken: Hider | None = None
    asked: dict[str, Arc] = {}
    opposites: set[str] = set()
    for firing in found:
        if firing.guard[name] is False:
            continue
        said = claims(firing.template)
        question = said.text
        hider = taken or (Hider(asked[question], ASKS_THE_SAME) if question in asked else None)
        if hider:
            firing.fires[name] = False
            firing.hidden_by[name] = hider
        elif firing.guard[name]:
            taken = Hider(firing.arc, ALWAYS_MATCHES)
        elif question:
            asked[question] = firing.arc
            if question in opposites or (said.is_boolean and any(text in asked for text in opposites_of(question))):
                taken = Hider(firing.arc, ONE_OF_TWO)
            if said.is_boolean:
                opposites.update(opposites_of(question))
