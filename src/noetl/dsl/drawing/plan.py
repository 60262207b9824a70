"""A Graph with places: boxes, markers, curves and labels.

Fourth stage of the layout. Boxes stand in rows; in the gaps between rows run the curves, and only there stand the
labels, so that no label lies on a box: a gap grows by a line until its labels have room side by side (`gaps.py`).
Edges that run back up leave and enter their boxes on the right, in slots that belong to the box.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from noetl.dsl.drawing.columns import Reach, spread
from noetl.dsl.drawing.curves import Ends, Frame, back_path, down_path, loop_path
from noetl.dsl.drawing.gaps import Label, Segment, place_labels
from noetl.dsl.drawing.ranks import Link, rank
from noetl.dsl.drawing.rows import Rows, arrange
from noetl.dsl.drawing.words import arc_label, clean, code_width, cut, kinds_line, loop_line, width
from noetl.dsl.graph import Graph, GraphArc, GraphStep
from noetl.dsl.nodes import shorten

NAME_SIZE, SMALL_SIZE, LABEL_SIZE = 13.0, 11.0, 10.5
NAME_LINE, SMALL_LINE = 18.0, 16.0
BOX_PADDING, BOX_WIDTH_MIN, TEXT_WIDTH_MAX = 16.0, 88.0, 250.0
LABEL_CHARS_MAX = 34
COLUMN_GAP, MARGIN = 30.0, 24.0
PORT_GAP, PORT_MARGIN, SLOT_FIRST, SLOT = 16.0, 14.0, 20.0, 14.0
MARKER_RADIUS, POINT_REACH, ICON, SIDE_LINE = 7.0, 4.0, 16.0, 15.0
STEPS_MAX, POINTS_MAX = 1000, 40_000


class TooLarge(Exception):
    """There is more in the graph than anyone could look at."""


class Box(msgspec.Struct):
    """A step's box: where its middle is from the left, its top, its size, and what is written in it."""

    step: GraphStep
    name: str
    kinds: str
    loop: str
    notes: str
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


class Marker(msgspec.Struct):
    """Where the workflow starts, or a branch ends: the middle of a small circle."""

    is_entry: bool
    x: float = 0.0
    y: float = 0.0


class Curve(msgspec.Struct):
    """An arc's line; None: it leads from or to a marker."""

    arc: GraphArc | None
    path: str
    label: Label | None = None
    is_dead: bool = False  # it never fires, or no token comes to where it begins


class Plan(msgspec.Struct):
    """All that is to be drawn; `left` is the x of the left edge."""

    name: str
    left: float
    width: float
    height: float
    boxes: list[Box]
    markers: list[Marker]
    curves: list[Curve]


class Side(msgspec.Struct):
    """The links on the right of a node, by their numbers: to itself, leaving upwards, entering from below."""

    loops: list[int] = []
    leaving: list[int] = []
    entering: list[int] = []

    @property
    def count(self) -> int:
        return len(self.loops) + max(len(self.leaving), len(self.entering))

    def slot(self, link: int) -> int:
        if link in self.loops:
            return self.loops.index(link)
        return len(self.loops) + (self.leaving if link in self.leaving else self.entering).index(link)


def plan(graph: Graph) -> Plan:
    """Lay a graph out."""
    if len(graph.steps) > STEPS_MAX:
        raise TooLarge(f"it has {len(graph.steps)} steps, and at most {STEPS_MAX} are drawn")
    return _Layout(graph).make()


class _Layout:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.boxes = [box_of(step) for step in graph.steps]
        self.unreached = {step.name for step in graph.steps if not step.is_reached}
        self.labels: list[Label | None] = [label_of(arc) for arc in graph.arcs]
        self.markers = [Marker(is_entry=True)]
        edges = self.edges()
        self.labels += [None] * (len(edges) - len(self.labels))
        self.ranked = rank(len(self.boxes) + len(self.markers), edges, len(self.boxes))
        if len(self.ranked.rank) > POINTS_MAX:
            raise TooLarge("its arcs pass more rows than can be drawn")
        self.sides = sides_of(self.ranked.links)
        for vertex, side in self.sides.items():
            self.boxes[vertex].height = max(self.boxes[vertex].height, SIDE_LINE * (len(side.loops) + 1))

    def edges(self) -> list[tuple[int, int]]:
        """The arcs, then those of the markers, which are nodes after the steps."""
        numbers = {step.name: number for number, step in enumerate(self.graph.steps)}
        found = [(numbers[arc.source], numbers[arc.target]) for arc in self.graph.arcs]
        found.append((len(self.boxes), numbers[self.graph.entry]))
        for number, step in enumerate(self.graph.steps):
            if step.is_end and step.is_reached:
                found.append((number, len(self.boxes) + len(self.markers)))
                self.markers.append(Marker(is_entry=False))
        return found

    def make(self) -> Plan:
        links = self.ranked.links
        rows = arrange(self.ranked)
        reaches = [self.reach(vertex) for vertex in range(len(self.ranked.rank))]
        ports = {
            (number, vertex): self.slot_x(number, vertex)
            for number, link in enumerate(links)
            if link.is_back
            for vertex in (link.chain[0], link.chain[-1])
        }
        self.x = spread(self.ranked, rows, reaches, ports, COLUMN_GAP)
        self.ends = self.find_ends()
        self.frame = self.find_frame(rows)
        self.set_places()
        curves = [self.curve(number, link) for number, link in enumerate(links)]
        for curve in curves:
            curve.is_dead = curve.arc is not None and (not curve.arc.can_fire or curve.arc.source in self.unreached)
        return self.bounded(curves)

    def size(self, vertex: int) -> tuple[float, float]:
        if vertex < len(self.boxes):
            return self.boxes[vertex].width, self.boxes[vertex].height
        return (2 * MARKER_RADIUS, 2 * MARKER_RADIUS) if vertex < self.ranked.nodes else (2 * POINT_REACH, 0.0)

    def reach(self, vertex: int) -> Reach:
        """How far a vertex extends: a box to the right with its slots, and the labels of its loops beside them."""
        half = self.size(vertex)[0] / 2
        side = self.sides.get(vertex)
        if side is None:
            return Reach(half, half)
        labels = [label.width for number in side.loops if (label := self.labels[self.ranked.links[number].edge])]
        return Reach(half, half + SLOT_FIRST + SLOT * (side.count - 1) + max(labels, default=0.0) + SLOT)

    def slot_x(self, number: int, vertex: int) -> float:
        """How far right of a node's middle a link on its side runs."""
        return self.size(vertex)[0] / 2 + SLOT_FIRST + SLOT * self.sides[vertex].slot(number)

    def find_ends(self) -> list[Ends]:
        """The x of each link's upper and lower end: ports beside each other in the order of where they lead."""
        links, x = self.ranked.links, self.x
        ends = [Ends(x[link.chain[0]], x[link.chain[-1]]) for link in links]
        leaving: dict[int, list[int]] = {}
        entering: dict[int, list[int]] = {}
        for number, link in enumerate(links):
            if link.is_back or link.is_loop:
                ends[number].upper += self.slot_x(number, link.chain[0])
                ends[number].lower += self.slot_x(number, link.chain[-1])
            else:
                leaving.setdefault(link.chain[0], []).append(number)
                entering.setdefault(link.chain[-1], []).append(number)
        for vertex, numbers in leaving.items():
            numbers.sort(key=lambda number: x[links[number].chain[1]])
            for number, shift in zip(numbers, self.shifts(vertex, len(numbers)), strict=True):
                ends[number].upper += shift
        for vertex, numbers in entering.items():
            numbers.sort(key=lambda number: x[links[number].chain[-2]])
            for number, shift in zip(numbers, self.shifts(vertex, len(numbers)), strict=True):
                ends[number].lower += shift
        return ends

    def shifts(self, vertex: int, count: int) -> list[float]:
        room = max(self.size(vertex)[0] - 2 * PORT_MARGIN, 0.0)
        gap = min(PORT_GAP, room / (count - 1)) if count > 1 else 0.0
        return [gap * (at - (count - 1) / 2) for at in range(count)]

    def find_frame(self, rows: Rows) -> Frame:
        """The height of every row and of every gap, with the labels in the gaps."""
        segments = self.segments(len(rows))
        frame = Frame([], [])
        y = MARGIN
        for row, vertices in enumerate(rows):
            frame.tops.append(y)
            frame.bottoms.append(y + max(self.size(vertex)[1] for vertex in vertices))
            y = place_labels(segments[row], frame.bottoms[-1])
        return frame

    def segments(self, count: int) -> list[list[Segment]]:
        """For each gap the curves that cross it; a label stands on the part next to the step its arc comes from."""
        found: list[list[Segment]] = [[] for _ in range(count)]
        for number, link in enumerate(self.ranked.links):
            xs = self.xs(number, link)
            own = len(link.chain) - 2 if link.is_back else 0
            for at, (upper, lower) in enumerate(pairwise(xs) if not link.is_loop else ()):
                label = self.labels[link.edge] if at == own else None
                found[self.ranked.rank[link.chain[0]] + at].append(Segment(label, upper, lower))
        return found

    def xs(self, number: int, link: Link) -> list[float]:
        ends = self.ends[number]
        return [ends.upper, *(self.x[point] for point in link.chain[1:-1]), ends.lower]

    def set_places(self) -> None:
        frame, ranks = self.frame, self.ranked.rank
        for number, box in enumerate(self.boxes):
            row = ranks[number]
            box.x, box.y = self.x[number], (frame.tops[row] + frame.bottoms[row] - box.height) / 2
        for number, marker in enumerate(self.markers, len(self.boxes)):
            row = ranks[number]
            marker.x, marker.y = self.x[number], (frame.tops[row] + frame.bottoms[row]) / 2

    def curve(self, number: int, link: Link) -> Curve:
        arc = self.graph.arcs[link.edge] if link.edge < len(self.graph.arcs) else None
        label = self.labels[link.edge]
        first = self.ranked.rank[link.chain[0]]
        if link.is_loop:
            return Curve(arc, self.loop(number, link, label), label)
        xs = self.xs(number, link)
        if link.is_back:
            source, target = self.boxes[link.chain[-1]], self.boxes[link.chain[0]]
            start = (source.x + source.width / 2, self.side_y(number, link.chain[-1]))
            end = (target.x + target.width / 2, self.side_y(number, link.chain[0]))
            return Curve(arc, back_path(self.frame, first, xs, start, end), label)
        start_y, end_y = self.edge_y(link.chain[0], is_top=False), self.edge_y(link.chain[-1], is_top=True)
        return Curve(arc, down_path(self.frame, first, xs, start_y, end_y), label)

    def edge_y(self, vertex: int, is_top: bool) -> float:
        row = self.ranked.rank[vertex]
        middle = (self.frame.tops[row] + self.frame.bottoms[row]) / 2
        half = self.size(vertex)[1] / 2
        return middle - half if is_top else middle + half

    def side_y(self, number: int, vertex: int) -> float:
        """Where a link meets the right side of its box: those that leave above those that enter, so that none cross."""
        side, box = self.sides[vertex], self.boxes[vertex]
        is_leaving = number in side.leaving
        numbers = side.leaving if is_leaving else side.entering
        share = 0.24 * numbers.index(number) / max(len(numbers) - 1, 1)
        return box.y + box.height * (0.2 + share if is_leaving else 0.8 - share)

    def loop(self, number: int, link: Link, label: Label | None) -> str:
        box, side = self.boxes[link.chain[0]], self.sides[link.chain[0]]
        share = (side.loops.index(number) + 1) / (len(side.loops) + 1)
        middle = box.y + box.height * share
        half = box.height / (2.6 * (len(side.loops) + 1)) + 2
        if label:
            label.x = self.ends[number].upper + SLOT * (side.count - side.slot(number)) + label.width / 2 - 2
            label.y = middle
        return loop_path(box.x + box.width / 2, self.ends[number].upper, middle - half, middle + half)

    def bounded(self, curves: list[Curve]) -> Plan:
        lefts = [self.x[vertex] - self.size(vertex)[0] / 2 for vertex in range(len(self.ranked.rank))]
        rights = [self.x[vertex] + self.reach(vertex).right for vertex in range(len(self.ranked.rank))]
        for label in filter(None, self.labels):
            lefts.append(label.x - label.width / 2)
            rights.append(label.x + label.width / 2)
        left = min(lefts) - MARGIN
        return Plan(
            name=clean(self.graph.name),
            left=left,
            width=max(rights) + MARGIN - left,
            height=self.frame.bottoms[-1] + MARGIN,
            boxes=self.boxes,
            markers=self.markers,
            curves=curves,
        )


def box_of(step: GraphStep) -> Box:
    """A step's box, as large as its words need."""
    name = cut(clean(step.name), NAME_SIZE, TEXT_WIDTH_MAX, is_bold=True)
    smaller = [cut(line, SMALL_SIZE, TEXT_WIDTH_MAX) for line in (kinds_line(step), loop_line(step), notes_line(step))]
    widths = [width(name, NAME_SIZE, is_bold=True), *(width(line, SMALL_SIZE) for line in smaller)]
    widths[2] += ICON if step.loops else 0.0
    lines = [bool(smaller[0]), bool(step.loops), bool(smaller[2])]
    return Box(
        step=step,
        name=name,
        kinds=smaller[0],
        loop=smaller[1],
        notes=smaller[2],
        width=max(BOX_WIDTH_MIN, max(widths) + 2 * BOX_PADDING),
        height=NAME_LINE + SMALL_LINE * sum(lines) + 16.0,
    )


def notes_line(step: GraphStep) -> str:
    """What else is to be known of a step."""
    notes = {
        "joins": step.is_join,
        "has a gate": step.has_admission,
        "can be undone": step.has_compensation,
        "plans steps": step.is_planner,
    }
    return " · ".join(note for note, holds in notes.items() if holds)


def label_of(arc: GraphArc) -> Label | None:
    text = shorten(arc_label(arc), LABEL_CHARS_MAX)
    return Label(text, code_width(text, LABEL_SIZE)) if text else None


def sides_of(links: list[Link]) -> dict[int, Side]:
    """What is on the right of each node; links over fewer rows are nearer to the box."""
    sides: dict[int, Side] = {}
    for number in sorted(range(len(links)), key=lambda number: len(links[number].chain)):
        link = links[number]
        if link.is_loop:
            sides.setdefault(link.chain[0], Side([], [], [])).loops.append(number)
        elif link.is_back:
            sides.setdefault(link.chain[-1], Side([], [], [])).leaving.append(number)
            sides.setdefault(link.chain[0], Side([], [], [])).entering.append(number)
    return sides
