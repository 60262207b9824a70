"""The net at its worst: which steps a token can come to, how often each runs, and the longest way through.

Arcs whose guard the workload decides are ways for certain, or none. One run of an exclusive router sends one token,
of an inclusive one at most one over each arc. Without cycles a step runs at most as often as tokens can come to it:

    most(s, d) = 1 where s is d; over exclusive arcs the largest, over inclusive ones the sum of most(t, d)

A join takes all tokens at once and so begins anew with one: what is behind it is counted from there. A cycle has no
bound. Time: tokens run side by side, so it is the longest way. Where a gate may hold a token back, nothing is certain
but that something runs as long as anything can, and the bound is the sum of all.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from noetl.dsl.model import Arc, Playbook, Step
from noetl.engine.forecast.bounds import NOTHING, ONCE, Bound, largest, times, together, unknown
from noetl.engine.forecast.known import Known

STEP_DONE, LOOP_DONE, STEP_FAILED = "step.done", "loop.done", "step.failed"
EVENT_NAME = ("event", "name")
STEPS_MAX = 500  # of a net in which it is worked out how often each step runs: that takes the square of it
CYCLE_SHOWN_MAX = 6


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """An arc, and on which boundaries it may be taken."""

    arc: Arc
    on: tuple[str, ...]
    guard: bool | None  # the answer of its condition, where the workload alone gives it

    @property
    def can_fire(self) -> bool:
        return bool(self.on)


class Routes(msgspec.Struct, frozen=True, kw_only=True):
    """The net of a playbook, as far as tokens can come."""

    ways: dict[str, list[Way]]
    order: list[str]  # the steps that a token can come to: each after those that lead to it, cycles aside
    runs: dict[str, Bound]
    cycle: list[str]
    gates: dict[str, bool | None]  # whether each step lets tokens in; None: only the run will tell


def routes_of(playbook: Playbook, known: Known) -> Routes:
    gates = {name: is_open(step, known) for name, step in playbook.steps.items()}
    ways = {name: ways_of(step, known, is_closed=gates[name] is False) for name, step in playbook.steps.items()}
    targets = {
        name: list(dict.fromkeys(way.arc.target for way in found if way.can_fire)) for name, found in ways.items()
    }
    order, cycle = ordered(playbook.entry, targets)
    runs = runs_of(playbook, ways, targets, order)
    runs |= {name: NOTHING for name in order if gates[name] is False}
    return Routes(ways=ways, order=order, runs=runs, cycle=cycle, gates=gates)


def is_open(step: Step, known: Known) -> bool | None:
    """Whether the gate of a step lets a token in: the first rule that matches says so, and no match allows (ST-05)."""
    for rule in step.admission.rules:
        holds = known.holds(rule.when)
        if holds is not False:
            return None if holds is None else rule.allow
    return True


# --- arcs ------------------------------------------------------------------------------------------------------------


def ways_of(step: Step, known: Known, *, is_closed: bool) -> list[Way]:
    """The arcs of a step; on each boundary an exclusive router takes none behind one that is certain (RT-02)."""
    open_on: dict[int, list[str]] = {index: [] for index in range(len(step.router.arcs))}
    for boundary in () if is_closed else (LOOP_DONE if step.loop else STEP_DONE, STEP_FAILED):
        for index, arc in enumerate(step.router.arcs):
            answer = fires(arc, boundary, known)
            if answer is not False:
                open_on[index].append(boundary)
            if answer and not step.router.is_inclusive:
                break
    return [
        Way(arc=arc, on=tuple(open_on[index]), guard=known.holds(arc.when))
        for index, arc in enumerate(step.router.arcs)
    ]


def fires(arc: Arc, boundary: str, known: Known) -> bool | None:
    """Whether an arc is taken on a boundary; None: only the run will tell."""
    if boundary == STEP_FAILED and not arc.handles_failure:
        return False
    return known.holds(arc.when, {EVENT_NAME: boundary})


# --- the net ---------------------------------------------------------------------------------------------------------


def ordered(entry: str, targets: Mapping[str, list[str]]) -> tuple[list[str], list[str]]:
    """The steps that can be reached, sources first; and a cycle among them, if there is one."""
    finished: list[str] = []
    done: set[str] = set()
    way: list[str] = [entry]  # from the entry to where the search stands
    on_way, cycle = {entry}, list[str]()
    waiting = [iter(targets[entry])]
    while waiting:
        target = next(waiting[-1], None)
        if target is None:
            waiting.pop()
            step = way.pop()
            on_way.discard(step)
            done.add(step)
            finished.append(step)
        elif target in on_way:
            cycle = cycle or [*way[way.index(target) :], target]
        elif target not in done:
            way.append(target)
            on_way.add(target)
            waiting.append(iter(targets[target]))
    return finished[::-1], cycle


def cycle_words(cycle: list[str]) -> str:
    shown = cycle if len(cycle) <= CYCLE_SHOWN_MAX else [*cycle[: CYCLE_SHOWN_MAX - 1], "…", cycle[-1]]
    return f"the steps {' → '.join(shown)} can go round again and again"


def runs_of(
    playbook: Playbook, ways: Mapping[str, list[Way]], targets: Mapping[str, list[str]], order: list[str]
) -> dict[str, Bound]:
    """How often each step may run: of those in a cycle, or behind one, nobody can say."""
    if len(order) > STEPS_MAX:
        reason = unknown(f"the net has {len(order):,} steps: how often each runs was not worked out")
        return dict.fromkeys(order, reason)
    found: dict[str, Bound] = {}
    for name in order:
        behind = reached_from(name, targets)
        if name in behind:
            again = unknown(f'step "{name}" can come round again and again')
            found |= {one: found.get(one, again) for one in (name, *(one for one in order if one in behind))}
    return {**_counted(playbook, ways, [name for name in order if name not in found]), **found}


def reached_from(step: str, targets: Mapping[str, list[str]]) -> set[str]:
    """The steps that a run of this one can lead to: itself only over a cycle."""
    found, waiting = set[str](), [step]
    while waiting:
        fresh = [target for target in targets[waiting.pop()] if target not in found]
        found.update(fresh)
        waiting += fresh
    return found


def _counted(playbook: Playbook, ways: Mapping[str, list[Way]], order: list[str]) -> dict[str, Bound]:
    """most(entry, d), and most(join, d) for each join, of every step d: backwards from d, in one pass each."""
    joins = [name for name in order if playbook.steps[name].admission.is_join and name != playbook.entry]
    places = {name: index for index, name in enumerate(order)}
    found: dict[str, Bound] = {}
    for goal in order:
        most = _most(playbook, ways, order[: places[goal] + 1], goal, joins)
        begun = [playbook.entry, *(join for join in joins if places[join] < places[goal])]
        found[goal] = ONCE if goal in joins else Bound(sum(most.get(name, 0) for name in begun))
    return found


def _most(
    playbook: Playbook, ways: Mapping[str, list[Way]], before: list[str], goal: str, joins: list[str]
) -> dict[str, int]:
    """How many runs of `goal` one run of each step before it may lead to, not through a join."""
    most = {goal: 1}
    for name in reversed(before[:-1]):
        router = playbook.steps[name].router
        per_boundary = []
        for boundary in (STEP_DONE, LOOP_DONE, STEP_FAILED):
            counts = [
                most.get(way.arc.target, 0) if way.arc.target == goal or way.arc.target not in joins else 0
                for way in ways[name]
                if boundary in way.on
            ]
            per_boundary.append(sum(counts) if router.is_inclusive else max(counts, default=0))
        if any(per_boundary):
            most[name] = max(per_boundary)
    return most


# --- time ------------------------------------------------------------------------------------------------------------


def longest(routes: Routes, seconds: Mapping[str, Bound], *, is_held: bool) -> Bound:
    """How long the whole net may take; `is_held`: tokens may have to wait for each other."""
    if routes.cycle:
        return unknown(cycle_words(routes.cycle))
    if is_held:
        return together(times(seconds[name], routes.runs[name]) for name in routes.order)
    begins: dict[str, list[Bound]] = {name: [] for name in routes.order}
    ends: list[Bound] = []
    for name in routes.order:
        end = together((largest(begins[name]) if begins[name] else NOTHING, seconds[name]))
        ends.append(end)
        for way in routes.ways[name]:
            if way.can_fire and way.arc.target in begins:
                begins[way.arc.target].append(end)
    return largest(ends)
