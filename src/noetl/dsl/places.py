"""What the tables say of a place in a text that is being written: its shape, the step and the task it is in, its site.

Comes in: a `Spot` of `loose.py` and the tool kinds. Goes out: a `Place`. The tables are those that the checker walks
along (`shapes.py`, `start_shapes.py`), the kinds' declarations, and the sites of `scopes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping as Table

import msgspec

from noetl.dsl.departures import LAYERS, kind_defaults_shape, knob_shape
from noetl.dsl.draft import Site
from noetl.dsl.kinds import ANY, LIST, MAPPING, Field, Kind, Kinds
from noetl.dsl.playbook_test_shapes import PLAYBOOK_TEST, ROOT, TEST_SHAPES
from noetl.dsl.shapes import SHAPES, Shape, mapping
from noetl.dsl.spots import Cell, Path, Spot, cell_at
from noetl.dsl.start_shapes import SCHEDULE, START_SHAPES, TRIGGER

SUGAR = {"choose": "sugar.choose", "while": "sugar.loop", "until": "sugar.loop"}
SUGAR_SHAPES: dict[str, Shape] = {
    "sugar.choose": Shape(types=(LIST,), items="sugar.case", doc="The first case that holds."),
    "sugar.case": mapping(
        "case", "3", "A case.", {"when": "when", "then": "sugar.then", "else": "sugar.else"}, required=("then",)
    ),
    "sugar.else": mapping("else", "3", "If no case holds.", {"then": "sugar.then"}, required=("then",)),
    "sugar.then": mapping("then", "3", "What to run.", {"tool": "tool"}, required=("tool",)),
    "sugar.loop": mapping(
        "loop", "3", "Run tasks over and over.", {"when": "when", "tool": "tool"}, required=("when", "tool")
    ),
}
PLAYBOOK_SHAPES: dict[str, Shape] = {**SHAPES, **SUGAR_SHAPES}
ROOTS: dict[str, tuple[Table[str, Shape], str]] = {
    SCHEDULE: (START_SHAPES, "schedule"),
    TRIGGER: (START_SHAPES, "trigger"),
    PLAYBOOK_TEST: (TEST_SHAPES, ROOT),
}
FIELD = "field"  # the name of what a kind declares


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A place, as far as it is known."""

    path: Path
    name: str  # of its shape in the table, or FIELD
    shape: Shape
    table: Table[str, Shape]
    kind: Kind | None = None  # of the task it stands in
    task: Cell | None = None
    step: Cell | None = None
    field: Field | None = None


def place_of(spot: Spot, kinds: Kinds) -> Place | None:
    """The place of a value, or of the mapping that a key stands in; None: the tables do not know it."""
    return place_at(spot.root, spot.path, kinds)


def place_at(root: Cell, path: Path, kinds: Kinds) -> Place | None:
    said = root.get("kind")
    table, name = ROOTS.get(said.value if said else "", (PLAYBOOK_SHAPES, "root"))
    found: Place | None = Place(path=(), name=name, shape=table[name], table=table)
    for count, key in enumerate(path):
        if found is None:
            return None
        found = _below(root, found, path[: count + 1], key, kinds)
    return found


def _below(root: Cell, place: Place, path: Path, key: str | int, kinds: Kinds) -> Place | None:
    if isinstance(key, int):
        items = place.shape.items if LIST in place.shape.types else ""
        return _entered(root, place, path, items, kinds) if items else None
    if place.name == "tool":  # one task, without a list around it
        place = as_task(root, place, kinds)
    if field := _field_under(place, key):
        return msgspec.structs.replace(place, path=path, name=FIELD, shape=field_shape(field), field=field)
    name = place.shape.keys.get(key) or _sugar_under(place, key) or (place.shape.items if place.shape.is_open else "")
    if not name and place.name in LAYERS and key in kinds:
        return msgspec.structs.replace(place, path=path, name=FIELD, shape=kind_defaults_shape(kinds[key]))
    return _entered(root, place, path, name, kinds) if name else None


def _entered(root: Cell, place: Place, path: Path, name: str, kinds: Kinds) -> Place:
    found = msgspec.structs.replace(place, path=path, name=name, shape=place.table[name], field=None)
    if name == "step":
        return msgspec.structs.replace(found, step=cell_at(root, path), task=None, kind=None)
    return _task(root, found, path, kinds) if name == "task" else found


def as_task(root: Cell, tool: Place, kinds: Kinds) -> Place:
    """A `tool` that is one task, without a list around it."""
    return _task(root, msgspec.structs.replace(tool, name="task", shape=tool.table["task"]), tool.path, kinds)


def _task(root: Cell, place: Place, path: Path, kinds: Kinds) -> Place:
    cell = cell_at(root, path)
    said = cell.get("kind") if cell else None
    return msgspec.structs.replace(place, task=cell, kind=kinds.get(said.value) if said else None)


def _sugar_under(place: Place, key: str) -> str:
    return SUGAR.get(key, "") if place.name == "task" else ""


def _field_under(place: Place, key: str) -> Field | None:
    """What the task's kind declares under a key."""
    if place.kind is None:
        return None
    if place.name == "task.spec":
        return place.kind.knob(key)
    is_on_task = place.name == "task" and key not in place.shape.keys
    return place.kind.field(key) if is_on_task or (place.name == "input" and place.task is not None) else None


def field_shape(field: Field) -> Shape:
    """A field of a tool, as a shape: its templates are its own."""
    return msgspec.structs.replace(knob_shape(field), is_template=field.is_template)


def types_of(place: Shape) -> str:
    """What a value may be, in words."""
    return " or ".join(place.types) if place.types and ANY not in place.types else "anything"


def is_collection(shape: Shape) -> bool:
    return bool({MAPPING, LIST} & set(shape.types))


# --- sites -----------------------------------------------------------------------------------------------------------

BY_KEY = {"when": Site.RULE_WHEN, "delay": Site.RULE_DELAY}
OF_ARCS = {"when": Site.ARC_WHEN, "set": Site.ARC_SET, "args": Site.ARC_ARGS, "spec": Site.ARC_SPEC}


def site_of(path: Path) -> str | None:
    """The site of a template at a path; None: no template may stand there."""
    words = [key for key in path if isinstance(key, str)]
    if words[:1] == ["keychain"]:
        return Site.CREDENTIAL
    if words[:1] == ["workbook"]:
        return _site_in_task(words[2:])
    if words[:1] != ["workflow"]:
        return None
    words = words[1:]
    if words[:1] == ["tool"]:
        return _site_in_task(words[1:])
    if words[:4] == ["spec", "policy", "compensation", "tool"]:
        return _site_in_task(words[4:])
    if words[:3] == ["spec", "policy", "admit"]:
        return Site.ADMIT
    return _site_in_step(words)


def _site_in_step(words: list[str]) -> str | None:
    head = words[0] if words else ""
    if head == "loop":
        return Site.LOOP_IN if words[-1] == "in" else None
    if head == "next":
        return next((OF_ARCS[word] for word in words[1:] if word in OF_ARCS), None)
    return {"input": Site.STEP_INPUT, "set": Site.STEP_SET}.get(head)


def _site_in_task(words: list[str]) -> str | None:
    """Within a task, or within the sugar around tasks."""
    if "tool" in words:
        return _site_in_task(words[words.index("tool") + 1 :])
    if words[:2] == ["spec", "policy"]:
        return Site.RULE_SET if "set" in words else next((BY_KEY[word] for word in words if word in BY_KEY), None)
    if words[:1] and words[0] in SUGAR:
        return Site.RULE_WHEN
    return Site.TASK_SET if words[:1] == ["set"] else Site.TASK_FIELD
