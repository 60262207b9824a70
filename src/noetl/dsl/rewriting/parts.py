"""Part, Slot, Document: what an outline is made of."""

from __future__ import annotations

import msgspec


class Part(msgspec.Struct, eq=False):
    """A mapping, a list, a scalar or an alias."""

    kind: str  # mapping, sequence, scalar, alias
    start: int = 0  # the first character, anchor and tag included
    end: int = 0  # after the last character that is its own
    anchor: str = ""
    style: str = ""  # of a scalar, as in `nodes`
    is_flow: bool = False
    slots: list[Slot] = []
    properties: str = ""  # anchor and tag of a block collection
    opening: str = ""  # a comment behind the opening bracket of a flow collection
    foot: list[str] = []
    foot_end: int = 0
    column: int = 0  # of the slots of a block collection, counted from 0
    home: int = 0  # of the collection whose slot this is the value of
    margin: int = 0  # by how much the lines of a block scalar are indented
    is_flush: bool = False  # a list that stands no deeper than the mapping it is in
    is_wide: bool = False  # a flow collection over several lines
    is_spaced: bool = False  # a flow collection with a space behind its bracket
    is_odd: bool = False  # a flow collection that is only ever copied
    text: str | None = None  # what to write instead of what was written
    is_new: bool = False  # to be laid out, not copied

    @property
    def is_block(self) -> bool:
        """A collection whose slots stand on lines of their own."""
        return self.kind in ("mapping", "sequence") and not self.is_flow


class Slot(msgspec.Struct, eq=False):
    """A key and its value, or an item of a list."""

    value: Part
    key: Part | None = None
    start: int = 0  # the first character of the key, or the dash
    stop: int = 0  # the end of the line on which the value ends
    lead: list[str] = []  # lines as written, blank ones as well
    extra: list[str] = []  # comments that came from elsewhere
    note: str = ""
    inner: list[str] = []  # comments on lines of their own between a key and a value that is not a collection
    gap: str = " "  # the white space between the colon or dash and the value
    tail: str = ""
    offset: int | None = None  # by how much its collection stands deeper
    is_odd: bool = False
    is_new: bool = False  # to be laid out, not copied

    @property
    def has_comments(self) -> bool:
        lines = (*self.lead, *self.extra, *self.inner, self.note, self.tail)
        return any(line.strip() for line in lines)


class Document(msgspec.Struct):
    """One document: the text before it, its root, and the index where all that belongs to it ends."""

    start: int
    root: Part
    end: int
    tail: str = ""  # behind a root in flow style
    is_odd: bool = False

    @property
    def entry(self) -> int:
        """Where its first slot begins, or its bracket."""
        return self.root.slots[0].start if self.root.is_block else self.root.start


def spine(slot: Slot) -> list[Part]:
    """The block collections that end where a slot ends, outermost first."""
    found = []
    value = slot.value
    while value.is_block:
        found.append(value)
        value = value.slots[-1].value
    return found


def last_value(value: Part) -> Part:
    """The value that a part ends in: itself, if it is no block collection."""
    while value.is_block:
        value = value.slots[-1].value
    return value


def stop_of(slot: Slot) -> int:
    """Where all that belongs to a slot ends, feet included."""
    found = 0
    while slot.value.is_block:
        found = max(found, slot.value.foot_end)
        slot = slot.value.slots[-1]
    return max(found, slot.stop, slot.value.end)
