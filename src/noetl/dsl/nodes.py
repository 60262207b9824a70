"""The YAML tree of one document, every node knowing where it stands.

Made by `read.py`, rewritten in place by `dialects/` (which keep the places), read by `parse.py` and the rules. Lines
and columns count from 1. A node below an alias has the place of the anchor it repeats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from noetl.dsl.source import Place, Source

Layer = tuple[tuple[int, int, int], ...]  # replacements in one text, in order: (offset, length, new length)


class Node(msgspec.Struct, kw_only=True, gc=False):
    """What all nodes have: the file they are from, and where they begin and end.

    A document is a tree (`read.py` refuses an alias to itself), so the garbage collector need not walk it: gc=False.
    """

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def place(self) -> Place:
        return Place(self.source.name, self.line, self.column, self.end_line, self.end_column)


class Scalar(Node, kw_only=True, gc=False):
    """A single value: `text` as YAML reads it, `value` by the types of the YAML 1.2 core schema."""

    text: str
    value: str | int | float | bool | None
    style: str = ""  # '' plain, ' or " quoted, | literal, > folded
    written: str | None = None  # the author's text, where a dialect changed it
    layers: tuple[Layer, ...] = ()  # what it replaced, each time it did

    def place_at(self, offset: int, length: int = 1) -> Place:
        """Where a part of the text stands in the file."""
        start = self.source.index_in(self, self.unshifted(offset))
        end = self.source.index_in(self, self.unshifted(offset + max(length, 1) - 1)) + 1
        return self.source.place(start, max(end, start + 1))

    def unshifted(self, offset: int) -> int:
        """The offset in the author's text of an offset in the text that dialects made of it."""
        for layer in reversed(self.layers):
            offset = before(layer, offset)
        return offset


class Sequence(Node, kw_only=True, gc=False):
    """A list."""

    items: list[AnyNode]


class Mapping(Node, kw_only=True, gc=False):
    """A mapping with text keys, in the order written."""

    entries: dict[str, Entry]

    def get(self, key: str) -> AnyNode | None:
        entry = self.entries.get(key)
        return entry.value if entry else None

    def text(self, key: str) -> str | None:
        """The value under the key if it is text."""
        value = self.get(key)
        return value.value if isinstance(value, Scalar) and isinstance(value.value, str) else None

    def mapping(self, key: str) -> Mapping | None:
        value = self.get(key)
        return value if isinstance(value, Mapping) else None

    def sequence(self, key: str) -> Sequence | None:
        value = self.get(key)
        return value if isinstance(value, Sequence) else None

    def scalar(self, key: str) -> Scalar | None:
        value = self.get(key)
        return value if isinstance(value, Scalar) else None


class Entry(msgspec.Struct, gc=False):
    """A key and its value."""

    key: Scalar
    value: AnyNode


AnyNode = Scalar | Sequence | Mapping


def before(layer: Layer, offset: int) -> int:
    """Where a character stood before a layer of replacements."""
    moved = 0
    for at, old, new in layer:
        if offset < at + moved:
            break
        if offset < at + moved + new:
            return at + min(offset - at - moved, max(old - 1, 0))
        moved += new - old
    return offset - moved


def plain(node: AnyNode) -> object:
    """The data of a node, without places."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return {name: plain(entry.value) for name, entry in node.entries.items()}


def describe(node: AnyNode | None) -> str:
    """What a node is, in the words of a message: `the text "a"`, `a list`, `nothing`."""
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    if node is None or node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    if isinstance(node.value, str):
        return f'the text "{shorten(node.value)}"'
    return f"the number {node.text}"


def shorten(text: str, width: int = 60) -> str:
    """Text cut to one readable line."""
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= width else line[: width - 1] + "…"


def last_line(node: AnyNode) -> int:
    """The last line on which a node has anything; what libyaml calls its end may be lines after it."""
    if isinstance(node, Scalar):
        return _last_line_of_text(node)
    inner = (
        node.items
        if isinstance(node, Sequence)
        else [part for one in node.entries.values() for part in (one.key, one.value)]
    )
    last = max((last_line(part) for part in inner), default=node.line)
    is_flow = node.source.text[node.source.index(node.line, node.column) :][:1] in ("{", "[")
    return max(last, node.line, node.end_line if is_flow else 0)


def _last_line_of_text(node: Scalar) -> int:
    if node.style not in ("|", ">"):
        return node.end_line if node.text else node.line
    end = len(node.source.text[: node.source.index(node.end_line, node.end_column)].rstrip())
    return max(node.line, node.source.line_and_column(max(end - 1, 0))[0])


def scalars(node: AnyNode | None) -> Iterator[Scalar]:
    """Every scalar value below a node (keys are not values)."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from scalars(item)
    elif isinstance(node, Mapping):
        for entry in node.entries.values():
            yield from scalars(entry.value)


def like(node: Node, *, text: str) -> Scalar:
    """A text made by a dialect, standing where the node it was made from stands."""
    return Scalar(
        source=node.source,
        line=node.line,
        column=node.column,
        end_line=node.end_line,
        end_column=node.end_column,
        text=text,
        value=text,
        style='"',
    )
