"""A tree of nodes as an outline again: the old parts where nothing changed, new ones where something did."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, plain
from noetl.dsl.rewriting.comments import Comments, lift_comments
from noetl.dsl.rewriting.habits import Habits
from noetl.dsl.rewriting.outline import properties_length
from noetl.dsl.rewriting.pairing import Pairing
from noetl.dsl.rewriting.parts import Part, Slot
from noetl.dsl.rewriting.spelling import is_quotable, spelt


class Rebuild:
    """The outline of a document as it is now; `is_expanded` writes out what aliases stand for."""

    def __init__(self, pairing: Pairing, old: Part, node: Mapping, habits: Habits, is_expanded: bool) -> None:
        self.pairing = pairing
        self.old = old
        self.node = node
        self.habits = habits
        self.is_expanded = is_expanded
        self.comments = Comments(pairing, old, node)
        self.known: dict[int, Part] = {}

    def root(self) -> Part:
        root = self.part(self.node)
        if root is not self.old:
            self.comments.place_orphans(root)
        return root

    def part(self, node: AnyNode) -> Part:
        """The part to write for a node: the old one where nothing in it changed."""
        if id(node) not in self.known:
            self.known[id(node)] = self.make(node)
        return self.known[id(node)]

    def make(self, node: AnyNode) -> Part:
        if self.is_alias(node):
            return self.pairing.aliases[id(node)][0]
        old = self.pairing.parts.get(id(node))
        if isinstance(node, Scalar):
            return self.scalar(node, old)
        slots = list(self.entries(node) if isinstance(node, Mapping) else self.items(node))
        if old is None:
            return self.fresh("mapping" if isinstance(node, Mapping) else "sequence", slots)
        if id(node) in self.pairing.copies:
            return self.changed(old, slots, is_copy=True)
        self.comments.footed.add(id(old))
        return old if is_same(slots, old.slots) else self.changed(old, slots)

    def changed(self, old: Part, slots: list[Slot], *, is_copy: bool = False) -> Part:
        """A collection of the text with other slots: in flow style if it was, and if all of it still can be."""
        return msgspec.structs.replace(
            old,
            slots=slots,
            is_flow=old.is_flow and all(is_flowable(slot, old.is_wide) for slot in slots),
            is_wide=old.is_wide or self.is_wide(slots),
            is_new=True,
            properties="" if is_copy else old.properties,
            foot=[] if is_copy else old.foot,
        )

    def fresh(self, kind: str, slots: list[Slot]) -> Part:
        """A new collection: in flow style if it holds one short value, or nothing but new ones."""
        is_wide = self.is_wide(slots)
        is_flow = not is_wide and all(is_short(slot, is_only=len(slots) == 1) for slot in slots)
        is_spaced = kind == "mapping" and self.habits.is_spaced
        return Part(kind, slots=slots, is_flow=is_flow, is_wide=is_wide, is_new=True, is_spaced=is_spaced)

    def is_wide(self, slots: list[Slot]) -> bool:
        """Whether a flow collection of these slots takes several lines."""
        return any(slot.value.is_wide or "\n" in self.raw(slot.value) for slot in slots)

    def raw(self, part: Part) -> str:
        if part.text is None:
            return self.pairing.text[part.start : part.end] if part.kind in ("scalar", "alias") else ""
        return part.text

    def is_alias(self, node: AnyNode) -> bool:
        """Whether the alias that a node was read from still stands for it."""
        known = self.pairing.aliases.get(id(node))
        return known is not None and not self.is_expanded and plain(known[1]) == plain(node)

    def scalar(self, node: Scalar, old: Part | None) -> Part:
        if old is None:
            return Part("scalar", text=self.spelt(node.value), is_new=True)
        raw = self.pairing.raws.get(id(node))
        is_copy = id(node) in self.pairing.copies
        if raw is None and not is_copy:
            return old
        raw = self.pairing.text[old.start : old.end] if raw is None else raw
        return msgspec.structs.replace(old, text=raw[properties_length(raw) if is_copy else 0 :])

    def entries(self, node: Mapping) -> Iterator[Slot]:
        merges = self.pairing.merges.get(id(node), [])
        is_kept = bool(merges) and not self.is_expanded and self.merges_hold(node, merges)
        waiting = list(dict.fromkeys(slot.start for slot, _ in merges)) if is_kept else []
        by_start = {slot.start: slot for slot, _ in merges}
        for entry in node.entries.values():
            if is_kept and id(entry) in self.pairing.merged:
                continue
            base = self.pairing.slots.get(id(entry))
            while waiting and (base is None or base.start > waiting[0]):
                yield by_start[waiting.pop(0)]
            yield self.entry(entry, base)
        for start in waiting:
            yield by_start[start]

    def merges_hold(self, node: Mapping, merges: list[tuple[Slot, AnyNode]]) -> bool:
        """Whether the mappings merged in still give what came from them."""
        own = {name for name, entry in node.entries.items() if id(entry) not in self.pairing.merged}
        given: dict[str, object] = {}
        for _, target in merges:
            for name, value in (plain(target) if isinstance(target, Mapping) else {}).items():  # type: ignore[attr-defined]
                given.setdefault(name, value)
        wanted = {name: plain(entry.value) for name, entry in node.entries.items() if name not in own}
        return {name: value for name, value in given.items() if name not in own} == wanted

    def entry(self, entry: Entry, base: Slot | None) -> Slot:
        value = self.part(entry.value)
        is_renamed = id(entry) in self.pairing.renamed
        if base and base.value is value and not is_renamed:
            self.comments.placed[id(base)] = base
            return base
        key = base.key if base and not is_renamed else self.key(entry, base)
        made = Slot(value, key, is_new=True, start=-1)
        self.comments.dress(made, base, entry.value)
        return made

    def key(self, entry: Entry, base: Slot | None) -> Part:
        style = entry.key.style if base else ""
        is_kept = bool(style) and is_quotable(entry.key.text, style)
        text = f"{style}{entry.key.text}{style}" if is_kept else self.spelt(entry.key.text)
        return Part("scalar", text=text, is_new=True)

    def spelt(self, value: object) -> str:
        return json.dumps(value, ensure_ascii=False) if self.habits.is_quoted else spelt(value)

    def items(self, node: Sequence) -> Iterator[Slot]:
        for item in node.items:
            base = self.pairing.slots.get(id(item))
            value = self.part(item)
            if base and base.value is value:
                self.comments.placed[id(base)] = base
                yield base
                continue
            made = Slot(value, is_new=True, start=-1)
            self.comments.dress(made, base, item)
            lift_comments(made)
            yield made


def is_same(slots: list[Slot], old: list[Slot]) -> bool:
    return len(slots) == len(old) and all(one is other for one, other in zip(slots, old, strict=True))


def is_short(slot: Slot, *, is_only: bool) -> bool:
    return slot.value.kind == "scalar" and (slot.value.is_new or is_only) and not slot.has_comments


def is_flowable(slot: Slot, is_wide: bool) -> bool:
    value = slot.value
    if slot.is_new and slot.has_comments and not is_wide:
        return False
    if value.kind in ("scalar", "alias"):
        return value.style not in ("|", ">")
    return value.is_flow or (value.is_new and all(is_flowable(inner, is_wide) for inner in value.slots))
