"""What may be written at a cursor: keys, values, names of steps and tasks; and inside {{ }} what can be read there.

Comes in: a text, which need not be YAML yet, and a cursor. Goes out: items, the likely ones first. Pure, and never
refuses: where nothing is known, nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from noetl.dsl import names
from noetl.dsl.completing_templates import expression_before, template_items
from noetl.dsl.departures import LAYERS
from noetl.dsl.draft import OTHER_KINDS
from noetl.dsl.kinds import BOOLEAN, LIST, MAPPING, TEXT, Field, Kinds
from noetl.dsl.loose import last_word, read_loosely
from noetl.dsl.places import SUGAR, SUGAR_SHAPES, Place, as_task, field_shape, is_collection, place_of, types_of
from noetl.dsl.proposals import KEY, NAME, STEP, TASK, VALUE, Item, Proposal
from noetl.dsl.shapes import Shape
from noetl.dsl.spots import Spot

INDENT = 2
SCOPES = ("ctx", "step", "iter")


def complete(text: str, line: int, column: int, kinds: Kinds) -> Proposal:
    """What may stand at a cursor; lines and columns count from 1."""
    spot = read_loosely(text, line - 1, column - 1)
    if spot.is_value and (expression := expression_before(spot.before)) is not None:
        return template_items(spot, expression, kinds, column)
    place = place_of(spot, kinds)
    if spot.is_value:
        typed = last_word(spot.before)
        found = value_items(spot, place, kinds)
        if is_after_colon(text, line, column):
            found = [msgspec.structs.replace(item, insert=f" {item.insert}") for item in found]
        return Proposal.of(found, typed, column - len(typed))
    return Proposal.of(key_items(spot, place, kinds), spot.before, column - len(spot.before))


def is_after_colon(text: str, line: int, column: int) -> bool:
    """Whether a value needs a space before it."""
    lines = text.split("\n")
    return line <= len(lines) and lines[line - 1][: column - 1].endswith(":")


# --- keys ------------------------------------------------------------------------------------------------------------


def key_items(spot: Spot, place: Place | None, kinds: Kinds) -> list[Item]:
    """The keys that a mapping may have and has not."""
    if place is None:
        return []
    mark = ""
    if LIST in place.shape.types and place.shape.items and place.name != "tool":
        place = msgspec.structs.replace(place, name=place.shape.items, shape=place.table[place.shape.items])
        mark = "" if spot.is_item else "- "
    if place.name == "tool":
        place = as_task(spot.root, place, kinds)
    if TEXT in place.shape.types and MAPPING not in place.shape.types:
        return value_items(spot, place, kinds)  # an item of a list of texts
    taken = set(spot.box.cells) - {spot.key} if spot.box is not None else set()
    offered = [*keys_of(place, spot, kinds)]
    return [key_item(key, shape, place, spot, mark) for key, shape in offered if key not in taken]


def keys_of(place: Place, spot: Spot, kinds: Kinds) -> Iterable[tuple[str, Shape]]:
    """The keys of a place, those that must be there first."""
    own = {key: place.table[name] for key, name in place.shape.keys.items()}
    required = [key for key in place.shape.required if key in own]
    yield from ((key, own[key]) for key in required)
    yield from fields_of(place)
    yield from ((key, shape) for key, shape in own.items() if key not in required)
    if place.name == "task":
        yield from ((word, SUGAR_SHAPES[name]) for word, name in SUGAR.items())
    if place.name in LAYERS:
        yield from ((name, Shape(types=(MAPPING,), doc=f"Defaults for every task of kind {name}.")) for name in kinds)
    if place.name in ("set", "loop.reducers"):
        targets = [target for target in names.writes_in(spot.root) if target.partition(".")[0] in SCOPES]
        starts = [] if place.name == "loop.reducers" else [f"{scope}." for scope in SCOPES]
        yield from ((target, Shape(doc="A value to write.")) for target in [*targets, *starts])


def fields_of(place: Place) -> Iterable[tuple[str, Shape]]:
    """What the task's kind declares here."""
    if place.kind is None:
        return
    fields: Iterable[Field] = ()
    if place.name == "task" or (place.name == "input" and place.task is not None):
        fields = place.kind.fields
    elif place.name == "task.spec":
        fields = place.kind.knobs
    for field in sorted(fields, key=lambda one: not one.required):
        yield field.name, field_shape(field)


def key_item(key: str, shape: Shape, place: Place, spot: Spot, mark: str) -> Item:
    need = "required, " if is_needed(key, place) else ""
    insert = mark + insertion(key, shape, spot, len(mark))
    return Item(label=key, insert=insert, kind=KEY, detail=need + detail_of(shape), doc=shape.doc)


def is_needed(key: str, place: Place) -> bool:
    field = place.kind.field(key) if place.kind is not None and place.name in ("task", "input") else None
    return key in place.shape.required or (field is not None and field.required)


def detail_of(shape: Shape) -> str:
    return " | ".join(shape.choices) or types_of(shape)


def insertion(key: str, shape: Shape, spot: Spot, more: int) -> str:
    """A key, and where its value goes: beside it, or below it and further right."""
    if key.endswith("."):
        return key
    if spot.is_flow or not is_collection(shape) or TEXT in shape.types:
        return f"{key}: "
    below = " " * (spot.column + more + INDENT)
    return f"{key}:\n{below}{'- ' if LIST in shape.types and MAPPING not in shape.types else ''}"


# --- values ----------------------------------------------------------------------------------------------------------


def value_items(spot: Spot, place: Place | None, kinds: Kinds) -> list[Item]:
    """The values that are known for a key."""
    if place is None:
        return []
    listed = LISTED.get(place.name)
    if listed is not None:
        return listed(spot, place, kinds)
    if place.field is not None and (found := of_field(spot, place, place.field)):
        return found
    choices = place.shape.choices or (("true", "false") if BOOLEAN in place.shape.types else ())
    found = [Item(label=one, insert=one, kind=VALUE, detail="", doc=place.shape.doc) for one in choices]
    if not found and not spot.before and place.shape.is_template:
        found.append(Item(label="{{ }}", insert='"{{  }}"', kind=VALUE, detail="a template", doc=place.shape.doc))
    return found


def of_field(spot: Spot, place: Place, field: Field) -> list[Item]:
    if field.name == "auth":
        return of_credentials(spot)
    if field.name == "task" and place.kind is not None and place.kind.name == "workbook":
        found = names.keys_under(spot.root.get("workbook"))
        return [Item(label=one, insert=one, kind=TASK, detail="a task of the workbook") for one in found]
    return []


def of_steps(spot: Spot, place: Place, _kinds: Kinds) -> list[Item]:
    found = names.steps_of(spot.root)
    return [
        Item(label=name, insert=name, kind=STEP, detail="a step", doc=names.value_of(step, "desc") or place.shape.doc)
        for name, step in found.items()
    ]


def of_tasks(_spot: Spot, place: Place, _kinds: Kinds) -> list[Item]:
    found = names.tasks_of(place.step)
    return [Item(label=one, insert=one, kind=TASK, detail=names.value_of(task, "kind")) for one, task in found.items()]


def of_credentials(spot: Spot) -> list[Item]:
    found = names.credentials_of(spot.root)
    return [Item(label=one, insert=one, kind=NAME, detail=kind, doc="A keychain entry.") for one, kind in found.items()]


def of_kinds(_spot: Spot, _place: Place, kinds: Kinds) -> list[Item]:
    return [Item(label=one, insert=one, kind=VALUE, detail="a tool kind", doc=kinds[one].summary) for one in kinds]


def of_documents(_spot: Spot, place: Place, _kinds: Kinds) -> list[Item]:
    found = ("Playbook", *sorted(OTHER_KINDS))
    return [Item(label=one, insert=one, kind=VALUE, detail="a document", doc=place.shape.doc) for one in found]


def of_versions(_spot: Spot, place: Place, _kinds: Kinds) -> list[Item]:
    return [Item(label="noetl.io/v2", insert="noetl.io/v2", kind=VALUE, detail="", doc=place.shape.doc)]


def of_auth(spot: Spot, _place: Place, _kinds: Kinds) -> list[Item]:
    return of_credentials(spot)


LISTED: dict[str, Callable[[Spot, Place, Kinds], list[Item]]] = {
    "arc.step": of_steps,
    "executor.entry_step": of_steps,
    "executor.output": of_steps,
    "then.to": of_tasks,
    "task.kind": of_kinds,
    "task.auth": of_auth,
    "kind": of_documents,
    "apiVersion": of_versions,
}
