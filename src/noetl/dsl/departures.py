"""A document beside the table of `shapes.py`: every place where it leaves it, as data for the rules that say so."""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Set

import msgspec

from noetl.dsl.findings import near_miss
from noetl.dsl.kinds import ANY, BOOLEAN, INTEGER, LIST, MAPPING, NUMBER, TEXT, Field, Kind
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence
from noetl.dsl.shapes import KNOBS, NULL, SHAPES, Shape

Path = tuple[str | int, ...]  # the keys and indexes that lead to a value


class ShapeFault(msgspec.Struct, frozen=True):
    """A place where the document leaves the table."""

    fault: str  # unknown-key, wrong-type, missing-key, not-a-choice, out-of-range
    name: str  # of the shape in the table, or KNOB, or KIND_DEFAULTS
    shape: Shape
    node: AnyNode  # for an unknown key: the key
    path: Path
    key: str = ""


KNOB = "knob"  # a knob that a tool kind declares
KIND_DEFAULTS = "kind defaults"  # spec.<kind>: defaults for every task of one kind (TK-18)
LAYERS = frozenset(("executor.spec", "step.spec", "loop.spec", "task.spec"))  # where they may stand (TK-03)


def departures(
    node: AnyNode, kinds: Table[str, Kind], skip: Set[int], shapes: Table[str, Shape] = SHAPES, root: str = "root"
) -> list[ShapeFault]:
    """Every place where a document leaves a table. `skip` are ids of nodes that a rule of their own refuses."""
    walk = _Walk(kinds, skip, shapes)
    walk.walk(node, root, shapes[root], ())
    return walk.found


class _Walk:
    def __init__(self, kinds: Table[str, Kind], skip: Set[int], shapes: Table[str, Shape]) -> None:
        self.kinds = kinds
        self.skip = skip
        self.shapes = shapes
        self.kind: Kind | None = None  # of the task being walked
        self.found: list[ShapeFault] = []

    def add(self, fault: str, name: str, shape: Shape, node: AnyNode, path: Path, key: str = "") -> None:
        self.found.append(ShapeFault(fault, name, shape, node, path, key))

    def walk(self, node: AnyNode, name: str, shape: Shape, path: Path) -> None:
        if not shape.types or id(node) in self.skip:
            return
        if not has_type(node, shape):
            self.add("wrong-type", name, shape, node, path)
        elif isinstance(node, Scalar):
            self.walk_scalar(node, name, shape, path)
        elif isinstance(node, Sequence):
            for index, item in enumerate(node.items if shape.items else ()):
                self.walk(item, shape.items, self.shapes[shape.items], (*path, index))
        elif name == "tool":
            self.walk(node, "task", self.shapes["task"], path)
        else:
            self.walk_mapping(node, name, shape, path)

    def walk_mapping(self, node: Mapping, name: str, shape: Shape, path: Path) -> None:
        if name == "task":
            self.kind = self.kinds.get(node.text("kind") or "")
        for key, entry in node.entries.items():
            inner = self.shape_under(key, entry.value, name, shape)
            if inner:
                self.walk(entry.value, *inner, (*path, key))
            elif id(entry.value) not in self.skip and self.is_fault(key, name, shape):
                self.add("unknown-key", name, shape, entry.key, (*path, key), key)
        for key in shape.required:
            if key not in node.entries:
                self.add("missing-key", name, shape, node, path, key)

    def shape_under(self, key: str, value: AnyNode, name: str, shape: Shape) -> tuple[str, Shape] | None:
        """The shape of the value under a key, and its name."""
        knob = self.knob_under(key, name, shape)
        if knob:
            return KNOB, knob_shape(knob)
        inner = shape.keys.get(key) or (shape.items if shape.is_open else "")
        if inner:
            return inner, self.shapes[inner]
        if name in LAYERS and isinstance(value, Mapping) and key in self.kinds:
            return KIND_DEFAULTS, kind_defaults_shape(self.kinds[key])
        return None

    def knob_under(self, key: str, name: str, shape: Shape) -> Field | None:
        """The knob of this name that the task's kind declares, or the kind whose defaults these are."""
        if name == "task.spec":
            return self.kind.knob(key) if self.kind else None
        return self.kinds[shape.where.removeprefix("spec.")].knob(key) if name == KIND_DEFAULTS else None

    def is_fault(self, key: str, name: str, shape: Shape) -> bool:
        """Whether a key that the shape does not know is a fault; an unknown kind may have knobs of its own."""
        may_be_knob = name == "task.spec" and self.kind is None
        return not shape.is_open and not (may_be_knob and near_miss(key, shape.keys) is None)

    def walk_scalar(self, node: Scalar, name: str, shape: Shape, path: Path) -> None:
        if shape.is_template and is_template(node):
            return
        if shape.choices and node.value not in shape.choices:
            self.add("not-a-choice", name, shape, node, path)
        is_number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if is_number and not is_in_range(node.value, shape):
            self.add("out-of-range", name, shape, node, path)


def is_in_range(value: object, shape: Shape) -> bool:
    low, high = shape.minimum, shape.maximum
    if not isinstance(value, int | float):
        return True
    return (low is None or value >= low) and (high is None or value <= high)


def knob_shape(field: Field) -> Shape:
    """The shape of a knob that a kind declares."""
    types = () if ANY in field.types else field.types
    return Shape(
        types=types, doc=field.doc, choices=field.choices, minimum=field.minimum, maximum=field.maximum, is_open=True
    )


def kind_defaults_shape(kind: Kind) -> Shape:
    """The shape of `spec.<kind>`: what a task of that kind may have under its spec."""
    knobs = dict.fromkeys((knob.name for knob in kind.knobs), "anything")
    return Shape(types=(MAPPING,), where=f"spec.{kind.name}", keys={**knobs, **KNOBS}, is_spec=True, doc=kind.summary)


def is_template(node: AnyNode) -> bool:
    """Whether a node is a text with a template in it."""
    return isinstance(node, Scalar) and isinstance(node.value, str) and ("{{" in node.value or "{%" in node.value)


def has_type(node: AnyNode, shape: Shape) -> bool:
    if not shape.types or (shape.is_template and is_template(node)):
        return True
    return type_of(node) in shape.types or (type_of(node) == INTEGER and NUMBER in shape.types)


def type_of(node: AnyNode) -> str:
    """The name of a node's type."""
    if isinstance(node, Mapping):
        return MAPPING
    if isinstance(node, Sequence):
        return LIST
    if node.value is None:
        return NULL
    if isinstance(node.value, bool):
        return BOOLEAN
    return {str: TEXT, int: INTEGER, float: NUMBER}[type(node.value)]
