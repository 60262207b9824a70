"""What stands under a cursor: the page of a kind, the meaning of a key or of a name; and the step and task around it.

The pages speak of the language, never of what the author wrote: nothing of the text comes out but the names of its
step and task.
"""

from __future__ import annotations

import re

import msgspec

from noetl.dsl import names
from noetl.dsl.completing_templates import RESERVED, expression_before
from noetl.dsl.kind_pages import kind_page
from noetl.dsl.kinds import Kinds
from noetl.dsl.loose import read_loosely
from noetl.dsl.places import FIELD, Place, place_at, place_of, types_of
from noetl.dsl.scopes import SITES
from noetl.dsl.shapes import Shape
from noetl.dsl.spots import Spot, unquoted

WORD_BEFORE, WORD_AFTER = re.compile(r"[\w.]*$"), re.compile(r"\w*")
WORD_CHARACTERS_MAX = 400


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """See above."""

    title: str = ""
    markdown: str = ""
    step: str | None = None
    task: str | None = None


def describe(text: str, line: int, column: int, kinds: Kinds) -> Description:
    """What stands at a cursor; lines and columns count from 1."""
    spot = read_loosely(text, line - 1, column - 1)
    place = place_of(spot, kinds)
    step, task = around(place)
    if spot.is_value and expression_before(spot.before) is not None:
        title, markdown = name_page(spot, text, line, column)
    elif spot.is_value:
        title, markdown = value_page(spot, place, kinds)
    else:
        title, markdown = key_page(spot, place, kinds)
    return Description(title=title, markdown=markdown, step=step, task=task)


def around(place: Place | None) -> tuple[str | None, str | None]:
    """The names of the step and the task that a place is in."""
    if place is None or place.step is None:
        return None, None
    label = next((name for name, cell in names.tasks_of(place.step).items() if cell is place.task), None)
    return names.value_of(place.step, "step") or None, label


def key_page(spot: Spot, place: Place | None, kinds: Kinds) -> tuple[str, str]:
    """The page of the key under the cursor, or of the mapping where none is."""
    below = place_at(spot.root, (*spot.path, spot.key), kinds) if spot.key else None
    found = below or place
    if found is None:
        return "", ""
    return titled(found), shape_page(found)


def value_page(spot: Spot, place: Place | None, kinds: Kinds) -> tuple[str, str]:
    if place is None:
        return "", ""
    if place.name == "task.kind" and (kind := kinds.get(unquoted(spot.whole))) is not None:
        return f"kind: {kind.name}", kind_page(kind)
    return titled(place), shape_page(place)


def titled(place: Place) -> str:
    """The keys that lead there; the indexes of lists say nothing."""
    words = [key for key in place.path if isinstance(key, str)]
    if place.step is not None and words[:1] == ["workflow"]:
        words = words[1:] or ["step"]
    return ".".join(words) or "playbook"


def shape_page(place: Place) -> str:
    shape, lines = place.shape, []
    if shape.doc:
        lines.append(shape.doc)
    if place.name == FIELD and place.kind is not None:
        lines.append(f"A field of kind `{place.kind.name}`.")
    lines += bounds(shape)
    if shape.keys:
        rows = [f"| `{key}` | {place.table[name].doc} |" for key, name in shape.keys.items() if name in place.table]
        lines.append("\n".join(["| key | meaning |", "|---|---|", *rows]))
    return "\n\n".join(lines)


def bounds(shape: Shape) -> list[str]:
    if shape.choices:
        return [f"One of: {', '.join(f'`{one}`' for one in shape.choices)}."]
    if not shape.types:
        return []
    low, high = shape.minimum, shape.maximum
    limits = f", {low:g} to {high:g}" if low is not None and high is not None else ""
    template = "; or a template" if shape.is_template else ""
    return [f"{types_of(shape).capitalize()}{limits}{template}."]


def name_page(spot: Spot, text: str, line: int, column: int) -> tuple[str, str]:
    """The page of a name that a template reads."""
    lines = text.split("\n")
    rest = lines[line - 1][column - 1 :] if line <= len(lines) else ""
    head, dot, _ = WORD_BEFORE.search(spot.before[-WORD_CHARACTERS_MAX:])[0].partition(".")  # type: ignore[index]
    word = head if dot else head + WORD_AFTER.match(rest)[0]  # type: ignore[index]  # both match nothing, too
    if word not in RESERVED:
        return "", ""
    readable = [where.called for where in SITES.values() if word in where.names]
    return word, f"{RESERVED[word].capitalize()}.\n\nReadable in {', '.join(readable)}."
