"""A Draft as a graph to look at: steps, the arcs between them, what each does. `drawing/` makes pictures of it.

Comes in: a Draft whose net is in order (`net.py`); or one that is being written, of which what can be understood is
drawn (`best_graph_of`). Goes out: a Graph, plain data, which `noetl graph --format json` prints. The JSON form, which
scripts may rely on:

    {"name": "orders", "entry": "start",
     "steps": [{"name": "fetch", "description": "", "line": 12, "end_line": 19,
                "tasks": [{"label": "get", "kind": "http", "line": 14, "end_line": 16}],
                "loops": [{"iterator": "page", "is_parallel": true, "max_in_flight": 8}],
                "is_entry": false,        the workflow starts here
                "is_end": false,          when it succeeds, its branch ends: no arc can fire
                "is_join": false,         it waits for all tokens that can still come
                "is_inclusive": false,    all its arcs that match are taken, not the first
                "is_reached": true,       a token can come here
                "has_admission": false,   rules decide whether a token enters
                "has_compensation": false, "is_planner": false,
                "is_planned": false}],    a planner added it to an execution
     "arcs": [{"source": "fetch", "target": "store", "order": 1,
               "when": "output.data.rows > 0",  the guard without its braces; null if it has none
               "is_failure": false,      it can fire on step.failed only
               "is_fallback": false,     it has no guard, and is taken when none of the arcs before it is
               "can_fire": true,
               "writes": ["ctx.rows"], "line": 20}]}

Loops stand outermost first; arcs in the order of the file.
"""

from __future__ import annotations

import msgspec

from noetl.dsl.boundaries import STEP_FAILED
from noetl.dsl.draft import Draft, Loop, Step
from noetl.dsl.net import Net, Way, is_planner, loose_net_of, net_of
from noetl.dsl.nodes import Scalar, last_line


class GraphTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a step."""

    label: str
    kind: str
    line: int = 0
    end_line: int = 0


class GraphLoop(msgspec.Struct, frozen=True, kw_only=True):
    """One loop of a step."""

    iterator: str
    is_parallel: bool
    max_in_flight: int | None


class GraphStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step."""

    name: str
    description: str
    line: int
    end_line: int = 0
    tasks: list[GraphTask]
    loops: list[GraphLoop]
    is_entry: bool = False
    is_end: bool = False
    is_join: bool = False
    is_inclusive: bool = False
    is_reached: bool = True
    has_admission: bool = False
    has_compensation: bool = False
    is_planner: bool = False
    is_planned: bool = False


class GraphArc(msgspec.Struct, frozen=True, kw_only=True):
    """One arc."""

    source: str
    target: str
    order: int
    when: str | None
    is_failure: bool = False
    is_fallback: bool = False
    can_fire: bool = True
    writes: list[str] = []
    line: int = 0


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """A playbook's net."""

    name: str
    entry: str
    steps: list[GraphStep]
    arcs: list[GraphArc]


def graph_of(draft: Draft) -> Graph | None:
    """The graph of a draft; None where its steps or arcs are not in order."""
    net = net_of(draft)
    return drawn(draft, net) if net is not None else None


def best_graph_of(draft: Draft) -> Graph:
    """What can be drawn of a draft, also while it is being written."""
    net = net_of(draft) or loose_net_of(draft)
    return drawn(draft, net) if net is not None else Graph(name=name_of(draft), entry="", steps=[], arcs=[])


def name_of(draft: Draft) -> str:
    metadata = draft.root.mapping("metadata")
    return (metadata.text("name") if metadata else None) or "playbook"


def drawn(draft: Draft, net: Net) -> Graph:
    return Graph(
        name=name_of(draft),
        entry=net.steps[net.entry].name,
        steps=[step_of(draft, net, number) for number in range(len(net.steps))],
        arcs=[arc_of(net, way) for ways in net.ways for way in ways],
    )


def step_of(draft: Draft, net: Net, number: int) -> GraphStep:
    step = net.steps[number]
    return GraphStep(
        name=step.name,
        description=" ".join((step.node.text("desc") or "").split()),
        line=step.name_node.line,
        end_line=last_line(step.node),
        tasks=tasks_of(draft, step),
        loops=[loop_of(loop) for loop in step.loops],
        is_entry=number == net.entry,
        is_end=not any(ends_well(way) for way in net.ways[number]),
        is_join=step.is_join,
        is_inclusive=step.is_inclusive,
        is_reached=number in net.reached,
        has_admission=bool(step.admit_rules),
        has_compensation=bool(step.compensation),
        is_planner=is_planner(step),
    )


def ends_well(way: Way) -> bool:
    """Whether an arc can fire when its step succeeded."""
    return any(answer is not False for name, answer in way.firing.fires.items() if name != STEP_FAILED)


def tasks_of(draft: Draft, step: Step) -> list[GraphTask]:
    """The tasks as the author knows them: those that sugar needs for its own moves are left out."""
    made = draft.debug_map.get(step.name, {})
    return [
        GraphTask(label=task.label, kind=task.kind, line=task.node.line, end_line=last_line(task.node))
        for task in step.tasks
        if task.label not in made
    ]


def loop_of(loop: Loop) -> GraphLoop:
    knob = loop.knob("max_in_flight")
    bound = knob.value if isinstance(knob, Scalar) else None
    return GraphLoop(
        iterator=loop.iterator.text if loop.iterator else "",
        is_parallel=loop.is_parallel,
        max_in_flight=bound if isinstance(bound, int) and not isinstance(bound, bool) else None,
    )


def arc_of(net: Net, way: Way) -> GraphArc:
    arc, firing = way.arc, way.firing
    is_inclusive = net.steps[way.source].is_inclusive
    before = [] if is_inclusive else [other for other in net.ways[way.source] if other.arc.index < arc.index]
    return GraphArc(
        source=net.steps[way.source].name,
        target=net.steps[way.target].name,
        order=arc.index + 1,
        when=guard_of(way),
        is_failure=firing.on_failure_only,
        is_fallback=arc.when is None and any(other.arc.when is not None and ends_well(other) for other in before),
        can_fire=firing.can_fire,
        writes=[write.target for write in arc.sets],
        line=arc.node.line,
    )


def guard_of(way: Way) -> str | None:
    """An arc's guard without its braces, on one line."""
    when = way.arc.when
    if when is None:
        return None
    text = " ".join(when.text.split()) if isinstance(when, Scalar) else "…"
    template = way.firing.template
    return text.removeprefix("{{").removesuffix("}}").strip("-+ ") if template and template.is_expression else text
