"""The net of a playbook: its steps by number, and the ways between them.

Comes in: a Draft. Goes out: a Net, or None where the steps or arcs are not in order; then `analyze.py` has nothing to
work on, and one unknown step does not become ten findings. An arc that can never fire (`boundaries.py`) is no way.
"""

from __future__ import annotations

import msgspec

from noetl.dsl.boundaries import Firing, firings
from noetl.dsl.draft import Arc, Draft, Step
from noetl.dsl.paths import components, cyclic_components, reach, shortest
from noetl.dsl.routers import is_sound
from noetl.dsl.tokens import Fan, Pairs

PATH_SHOWN_MAX = 8


class Way(msgspec.Struct, frozen=True):
    """An arc between two steps of the net."""

    firing: Firing
    source: int
    target: int

    @property
    def arc(self) -> Arc:
        return self.firing.arc


class Meeting(msgspec.Struct, frozen=True):
    """A step that two tokens come to, and their ways from the step that sent both."""

    step: int
    one: list[int]
    other: list[int]


class Tokens(msgspec.Struct):
    """What the search for two tokens found."""

    fans: list[Fan]
    real: Pairs  # with the joins there are
    joined: Pairs  # as if there were a join wherever two tokens meet: what is left is not the same fault again
    meetings: list[Meeting]
    multiplying: list[Fan] | None = None  # kept by analyze.multiplying


class Net(msgspec.Struct, kw_only=True):
    """The steps by number, and the ways between them."""

    steps: list[Step]
    numbers: dict[str, int]
    entry: int
    ways: list[list[Way]]
    written: list[list[int]]  # step → the steps its arcs name
    successors: list[list[int]]  # step → those that an arc leads to which can fire
    reached: set[int]  # steps a token can come to
    component: list[int]
    cycles: list[list[int]]  # of the steps that are reached
    is_open: bool  # a planner may add steps and arcs while it runs (RT-08): absence proves nothing
    tokens: Tokens | None = None  # kept by analyze.tokens_of

    def path(self, numbers: list[int]) -> str:
        """A way as people read it: a → b → c."""
        names = [self.steps[number].name for number in numbers]
        if len(names) > PATH_SHOWN_MAX:
            half = PATH_SHOWN_MAX // 2
            names = [*names[:half], "…", *names[-half:]]
        return " → ".join(names)

    def way_from_entry(self, number: int) -> list[int]:
        return [number] if number == self.entry else shortest(self.successors, self.entry, number)


def net_of(draft: Draft) -> Net | None:
    """The net of a draft; None where its steps or arcs are not in order."""
    if "net" not in draft.prepared:
        draft.prepared["net"] = make_net(draft)
    net = draft.prepared["net"]
    return net if isinstance(net, Net) else None


def make_net(draft: Draft) -> Net | None:
    numbers = {step.name: number for number, step in enumerate(draft.steps)}
    workflow = draft.root.sequence("workflow")
    entry = draft.entry
    if workflow is None or entry is None or not len(numbers) == len(draft.steps) == len(workflow.items):
        return None
    if not all(is_sound(step) and all(arc.target_name in numbers for arc in step.arcs) for step in draft.steps):
        return None
    known = firings(draft)
    ways = [
        [Way(firing, number, numbers[firing.arc.target_name]) for firing in known[number]]
        for number in range(len(draft.steps))
    ]
    return finish_net(draft.steps, numbers, numbers[entry.name], ways)


def loose_net_of(draft: Draft) -> Net | None:
    """A net of what can be understood: of each name the first step, and the arcs between these; None: no step."""
    first: dict[str, int] = {}
    for place, step in enumerate(draft.steps):
        first.setdefault(step.name, place)
    if not first:
        return None
    known, numbers = firings(draft), {name: number for number, name in enumerate(first)}
    ways = [
        [
            Way(firing, numbers[name], numbers[firing.arc.target_name])
            for firing in known[place]
            if firing.arc.target_name in numbers
        ]
        for name, place in first.items()
    ]
    steps = [draft.steps[place] for place in first.values()]
    return finish_net(steps, numbers, numbers[draft.entry.name] if draft.entry else 0, ways)


def finish_net(steps: list[Step], numbers: dict[str, int], entry: int, ways: list[list[Way]]) -> Net:
    successors = [list(dict.fromkeys(way.target for way in out if way.firing.can_fire)) for out in ways]
    reached = reach(successors, (entry,))
    component = components(successors)
    return Net(
        steps=steps,
        numbers=numbers,
        entry=entry,
        ways=ways,
        written=[list(dict.fromkeys(way.target for way in out)) for out in ways],
        successors=successors,
        reached=reached,
        component=component,
        cycles=[nodes for nodes in cyclic_components(successors, component) if nodes[0] in reached],
        is_open=any(is_planner(steps[number]) for number in reached),
    )


def is_planner(step: Step) -> bool:
    """RT-08: the step may add steps while it runs."""
    plan = step.policy.scalar("plan") if step.policy else None
    return plan is not None and plan.value is True
