"""Nodes and the characters they were read from.

A tree of nodes and an outline of the same text are gone through together. What an alias stands for is a copy in the
tree and written elsewhere; what a merge (`<<`) brings in is not among a mapping's own slots. Both are kept apart, so
that they can be written as they were as long as they still say the same.
"""

from __future__ import annotations

from noetl.dsl.nodes import AnyNode, Entry, Mapping, Sequence
from noetl.dsl.rewriting.parts import Part, Slot


class Unpaired(Exception):
    """The text holds something that its nodes do not show, such as a key that is an alias."""


class Pairing:
    """Which part of the outline each node was read from, and what became of it since."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: dict[int, Part] = {}
        self.slots: dict[int, Slot] = {}  # by entry, and by item of a list
        self.homes: dict[int, Slot] = {}  # by value: the slot it was written in
        self.values: dict[int, int] = {}  # by slot: the id of the value that was written in it
        self.aliases: dict[int, tuple[Part, AnyNode]] = {}
        self.copies: set[int] = set()  # nodes below an alias or a merge, written elsewhere
        self.merges: dict[int, list[tuple[Slot, AnyNode]]] = {}
        self.merged: set[int] = set()  # entries that came by a merge
        self.anchors: dict[str, AnyNode] = {}
        self.by_start: dict[int, Slot] = {}
        self.parents: dict[int, Slot] = {}
        self.raws: dict[int, str] = {}  # by scalar: its text, where it was respelt
        self.renamed: set[int] = set()  # entries whose key is another now
        self.kept: list[object] = []  # so that no id is used twice

    def pair(self, node: AnyNode, part: Part, home: Slot | None = None, is_copy: bool = False) -> None:
        self.kept.append(node)
        if part.kind == "alias":
            target = self.anchors[part.anchor]
            self.aliases[id(node)] = (part, target)
            if home and not is_copy:
                self.homes[id(node)] = home
                self.values[id(home)] = id(node)
            part, is_copy = self.parts[id(target)], True
        if part.anchor and not is_copy:
            self.anchors[part.anchor] = node
        self.parts[id(node)] = part
        if is_copy:
            self.copies.add(id(node))
        elif home:
            self.homes[id(node)] = home
            self.values[id(home)] = id(node)
        if isinstance(node, Mapping):
            self.pair_entries(node, part, home, is_copy)
        elif isinstance(node, Sequence):
            self.pair_items(node, part, home, is_copy)

    def pair_items(self, node: Sequence, part: Part, home: Slot | None, is_copy: bool) -> None:
        if len(node.items) != len(part.slots):
            raise Unpaired
        for item, slot in zip(node.items, part.slots, strict=True):
            if not is_copy:
                self.slots[id(item)] = slot
                self.adopt(slot, home)
            self.pair(item, slot.value, slot, is_copy)

    def pair_entries(self, node: Mapping, part: Part, home: Slot | None, is_copy: bool) -> None:
        starts = {entry.key.source.index(entry.key.line, entry.key.column): entry for entry in node.entries.values()}
        for slot in part.slots:
            entry = starts.pop(slot.key.start, None) if slot.key else None
            if entry is None:
                self.pair_merge(node, slot, is_copy)
                continue
            self.kept.append(entry)
            self.by_start.setdefault(slot.start, slot)
            if not is_copy:
                self.slots[id(entry)] = slot
                self.adopt(slot, home)
            self.pair(entry.value, slot.value, slot, is_copy)
        for start, entry in starts.items():
            self.pair_merged(entry, start)

    def pair_merge(self, node: Mapping, slot: Slot, is_copy: bool) -> None:
        """`<<: …` is not among the entries."""
        if not slot.key or self.text[slot.key.start : slot.key.end] != "<<" or slot.value.kind == "scalar":
            raise Unpaired
        targets = [slot.value] if slot.value.kind != "sequence" else [inner.value for inner in slot.value.slots]
        for target in targets:
            if target.kind != "alias":
                raise Unpaired
            self.merges.setdefault(id(node), []).append((slot, self.anchors[target.anchor]))

    def pair_merged(self, entry: Entry, start: int) -> None:
        slot = self.by_start.get(start)
        if slot is None:
            raise Unpaired
        self.kept.append(entry)
        self.merged.add(id(entry))
        self.pair(entry.value, slot.value, slot, is_copy=True)

    def adopt(self, slot: Slot, home: Slot | None) -> None:
        if home:
            self.parents[id(slot)] = home
