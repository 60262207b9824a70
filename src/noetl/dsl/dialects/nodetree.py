"""The tree of `dsl.nodes`, for reading: every change keeps the author's places and collects marks with repairs."""

from __future__ import annotations

from collections.abc import Sequence as Several
from typing import Any

from noetl.dsl.dialects.tree import Key, Mark, Node, Respelling
from noetl.dsl.findings import Edit
from noetl.dsl.nodes import Entry, Mapping, Scalar, Sequence, like


class NodeTree:
    """See `tree.Tree`."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []

    def keys(self, node: Node) -> list[str]:
        return list(node.entries) if isinstance(node, Mapping) else []

    def items(self, node: Node) -> list[Node]:
        return node.items if isinstance(node, Sequence) else []

    def is_mapping(self, node: Node) -> bool:
        return isinstance(node, Mapping)

    def is_list(self, node: Node) -> bool:
        return isinstance(node, Sequence)

    def get(self, node: Node, key: Key) -> Node:
        if isinstance(node, Mapping):
            return node.get(str(key))
        if isinstance(node, Sequence) and isinstance(key, int):
            return node.items[key]
        return None

    def key(self, node: Node, key: str) -> Node:
        return node.entries[key].key

    def value(self, node: Node) -> object:
        return node.value if isinstance(node, Scalar) else None

    def rename(self, node: Node, key: str, new: str) -> None:
        self.rename_all(node, {key: new})

    def rename_all(self, node: Node, names: dict[str, str]) -> None:
        renamed: dict[str, Entry] = {}
        for name, entry in node.entries.items():
            new = names.get(name)
            renamed[name if new is None else new] = (
                entry if new is None else Entry(respelt(entry.key, new), entry.value)
            )
        node.entries = renamed

    def put(self, node: Node, key: str, value: Node, *, first: bool = False) -> None:
        entry = node.entries.get(key)
        fresh = Entry(entry.key if entry else like(value, text=key), value)
        if first and not entry:
            node.entries = {key: fresh, **node.entries}
        else:
            node.entries[key] = fresh

    def take(self, node: Node, key: str) -> Node:
        return node.entries.pop(key).value

    def put_item(self, node: Node, index: int, value: Node) -> None:
        node.items[index] = value

    def add_item(self, node: Node, value: Node, *, at: int | None = None) -> None:
        node.items.insert(len(node.items) if at is None else at, value)

    def mapping(self, pairs: Several[tuple[str, Node]], like: Node) -> Node:
        entries = {key: Entry(self.scalar(key, value), value) for key, value in pairs}
        return Mapping(**span(like), entries=entries)

    def list(self, items: Several[Node], like: Node) -> Node:
        return Sequence(**span(like), items=[*items])

    def scalar(self, value: str | int | float | bool | None, like: Node) -> Node:
        return Scalar(**span(like), text="" if value is None else str(value), value=value, style='"')

    def respell(self, parent: Node, key: Key, respellings: Several[Respelling]) -> None:
        node = self.get(parent, key)
        before = node.text
        ordered = sorted(respellings, key=lambda one: one.offset)
        node.written = before if node.written is None else node.written
        node.layers = (*node.layers, tuple((one.offset, one.length, len(one.text)) for one in ordered))
        node.text = node.value = respelt_text(before, ordered)

    def mark_key(self, name: str, node: Node, key: str, /, **facts: str) -> None:
        from noetl.dsl.dialects.v10_repairs import repairs_of  # for older spellings only

        self.marks.append(Mark(name, node.entries[key].key.place, facts, repairs_of(name, node, key)))

    def mark_text(self, name: str, parent: Node, key: Key, respelling: Respelling, /, **facts: str) -> None:
        node = self.get(parent, key)
        place = node.place_at(respelling.offset, respelling.length)
        self.marks.append(Mark(name, place, facts, self.edits(node, respelling)))

    def edits(self, node: Scalar, respelling: Respelling) -> tuple[Edit, ...]:
        """The change in the file, where the file spells those characters as the text does."""
        if node.written is not None:
            return ()
        from noetl.dsl import repairs

        return repairs.replace(node, respelling.offset, respelling.offset + respelling.length, respelling.text)


def span(node: Node) -> dict[str, Any]:
    """Where a node stands, as fields for a new one."""
    return {
        "source": node.source,
        "line": node.line,
        "column": node.column,
        "end_line": node.end_line,
        "end_column": node.end_column,
    }


def respelt(key: Scalar, text: str) -> Scalar:
    return Scalar(**span(key), text=text, value=text, style=key.style)


def respelt_text(text: str, respellings: Several[Respelling]) -> str:
    for one in reversed(respellings):
        text = text[: one.offset] + one.text + text[one.offset + one.length :]
    return text
