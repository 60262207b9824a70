"""Parts to text: how an outline is written down.

Two writers share their way of going about it. `Formatter` lays every slot out in the one usual way; `Patcher` copies
what nobody changed, byte for byte, and lays out only what is new. Neither looks at what a value means, and neither
writes a scalar anew that was not changed: quotes, escapes and line breaks are the author's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from noetl.dsl.rewriting.outline import HEADER, properties_length
from noetl.dsl.rewriting.parts import Part, Slot, last_value, stop_of

INDENT = 2


class Writer(ABC):
    """What both writers do; a column counts from 0, and a line has no line break."""

    flow_indent = INDENT

    def __init__(self, text: str) -> None:
        self.text = text

    def block(self, collection: Part, column: int) -> list[str]:
        """The lines of a block collection."""
        lines: list[str] = []
        for number, slot in enumerate(collection.slots):
            lines += self.lead(collection, slot, number, column)
            lines += self.slot(slot, column)
        return lines + self.foot(collection, column)

    def root(self, part: Part) -> list[str]:
        """The lines of a whole document."""
        return self.block(part, part.column) if part.is_block else self.inline(part, 0)

    @abstractmethod
    def lead(self, collection: Part, slot: Slot, number: int, column: int) -> list[str]:
        """The lines above a slot."""

    @abstractmethod
    def foot(self, collection: Part, column: int) -> list[str]:
        """The comments below a collection's last slot."""

    def slot(self, slot: Slot, column: int) -> list[str]:
        """The lines of a slot, without its lead."""
        pad = " " * column
        head = pad + (self.key(slot.key) + ":" if slot.key else "-")
        if slot.value.is_block:
            return self.with_block(slot, head, column)
        value = self.inline(slot.value, column)
        if slot.inner or slot.note or self.is_below(slot):
            below = " " * (column + INDENT)
            comments = [below + line.strip() for line in slot.inner]
            lines = [head + slot.note.rstrip(), *comments, below + value[0], *value[1:]]
        else:
            lines = [head + (self.gap(slot) + value[0] if value[0] else ""), *value[1:]]
        lines[-1] += self.tail(slot)
        return lines

    def with_block(self, slot: Slot, head: str, column: int) -> list[str]:
        value = slot.value
        head += value.properties + slot.note.rstrip()
        lines = self.block(value, self.child_column(slot, column))
        above = [*value.slots[0].lead, *value.slots[0].extra]
        if slot.key or value.properties or slot.note or any(line.strip() for line in above):
            return [head, *lines]
        while not lines[0].strip():
            lines = lines[1:]
        return [head + lines[0][len(head) :], *lines[1:]]

    def child_column(self, slot: Slot, column: int) -> int:
        return column + INDENT

    def copied(self, slot: Slot, column: int) -> list[str]:
        """A slot as it was written, at another column."""
        raw = self.text[slot.start : stop_of(slot)]
        return shifted(raw, column - self.column_of(slot), " " * column)

    def column_of(self, slot: Slot) -> int:
        """Where a slot stood."""
        return slot.start - (self.text.rfind("\n", 0, slot.start) + 1)

    def key(self, key: Part) -> str:
        return self.raw(key) + (" " if key.kind == "alias" else "")

    def gap(self, slot: Slot) -> str:
        return " "

    def is_below(self, slot: Slot) -> bool:
        return False

    def tail(self, slot: Slot) -> str:
        return slot.tail.rstrip()

    def raw(self, part: Part) -> str:
        return self.text[part.start : part.end] if part.text is None else part.text

    def inline(self, part: Part, column: int) -> list[str]:
        """The lines of a value that is not a block collection; the first is to stand behind its key."""
        if part.is_flow and not part.is_odd:
            return self.flow(part, column)
        return self.scalar(part, column)

    @abstractmethod
    def scalar(self, part: Part, column: int) -> list[str]:
        """A value of no slots, as it was spelt."""

    def flow(self, part: Part, column: int) -> list[str]:
        """A flow collection: on one line if it was written on one, else one slot a line."""
        start, end = ("{", "}") if part.kind == "mapping" else ("[", "]")
        start = self.properties_of(part) + start
        if not part.is_wide:
            return [start + self.spaced(part, ", ".join(self.flow_slot(slot, column)[0] for slot in part.slots)) + end]
        pad = " " * (column + self.flow_indent)
        lines = [start + part.opening.rstrip()]
        for slot in part.slots:
            lines += [pad + line.strip() for line in (*slot.lead, *slot.extra)]
            first, *rest = self.flow_slot(slot, column + self.flow_indent)
            lines += [pad + first, *rest]
            lines[-1] += "," + slot.tail.rstrip()
        if part.slots:
            lines[-1] = without_comma(lines[-1], part.slots[-1])
        lines += [pad + line.strip() for line in part.foot]
        return [*lines, " " * column + end]

    def properties_of(self, part: Part) -> str:
        if part.is_new:
            return ""
        return self.text[part.start : part.start + properties_length(self.text[part.start : part.end])]

    def spaced(self, part: Part, inside: str) -> str:
        """Brackets of a mapping stand apart from what they hold."""
        return f" {inside} " if part.kind == "mapping" and inside else inside

    def flow_slot(self, slot: Slot, column: int) -> list[str]:
        value = self.flow_value(slot.value, column)
        if slot.key is None:
            return value
        colon = ":" if slot.gap or slot.value.is_new or value[0] else ""
        return [self.key(slot.key) + colon + (" " + value[0] if value[0] else ""), *value[1:]]

    def flow_value(self, part: Part, column: int) -> list[str]:
        if part.kind in ("mapping", "sequence") and not part.is_odd:
            return self.flow(part, column)
        return self.scalar(part, column)


def without_comma(line: str, slot: Slot) -> str:
    """The line of the last slot, whose comma is taken away again."""
    tail = slot.tail.rstrip()
    return line[: len(line) - len(tail) - 1] + tail


class Formatter(Writer):
    """Two spaces a level, lists below their key, one space behind a colon, at most one blank line."""

    def __init__(self, text: str, spaced_out: Part | None) -> None:
        super().__init__(text)
        self.spaced_out = spaced_out  # the collection whose slots have a blank line between them

    def lead(self, collection: Part, slot: Slot, number: int, column: int) -> list[str]:
        is_apart = collection is self.spaced_out and number and not self.keeps_lines(collection.slots[number - 1])
        wanted = [""] if is_apart else []
        return self.comments(wanted + slot.lead, column)

    def keeps_lines(self, slot: Slot) -> bool:
        """Whether a blank line below a slot would be content: `|+`."""
        value = last_value(slot.value)
        return value.style in ("|", ">") and "+" in self.raw(value).partition("\n")[0].partition("#")[0]

    def foot(self, collection: Part, column: int) -> list[str]:
        return self.comments(collection.foot, column)

    def comments(self, lines: list[str], column: int, *, is_start: bool = False) -> list[str]:
        """Comments and blank lines, of which at most one in a row and none at the start of a text."""
        found: list[str] = []
        for line in lines:
            stripped = line.strip()
            if stripped or (found[-1] if found else not is_start):
                found.append(" " * column + stripped if stripped else "")
        return found

    def slot(self, slot: Slot, column: int) -> list[str]:
        return self.copied(slot, column) if slot.is_odd else super().slot(slot, column)

    def scalar(self, part: Part, column: int) -> list[str]:
        raw = self.raw(part)
        if part.style in ("|", ">"):
            return block_scalar(raw, part.margin, column + INDENT)
        first, *rest = raw.split("\n")
        pad = " " * (column + INDENT)
        return [first, *(pad + line.lstrip(" \t") if line.strip() else "" for line in rest)]


class Patcher(Writer):
    """Leaves what was not changed as it was written, and lays out the rest as the file's author would."""

    def __init__(self, text: str, indent: int, dash: int, item: int) -> None:
        super().__init__(text)
        self.indent = self.flow_indent = indent
        self.item = item  # by how much an item stands deeper than its dash
        self.dash = dash  # by how much a list stands deeper than the key it is under

    def lead(self, collection: Part, slot: Slot, number: int, column: int) -> list[str]:
        lead = [moved(line, column - self.column_of(slot)) for line in slot.lead]
        return lead + [" " * column + line for line in slot.extra]

    def foot(self, collection: Part, column: int) -> list[str]:
        return [moved(line, column - collection.column) for line in collection.foot]

    def slot(self, slot: Slot, column: int) -> list[str]:
        return super().slot(slot, column) if slot.is_new else self.copied(slot, column)

    def child_column(self, slot: Slot, column: int) -> int:
        if slot.offset is not None:
            return column + slot.offset
        if slot.key is None:
            return column + self.item
        return column + (self.dash if slot.value.kind == "sequence" else self.indent)

    def gap(self, slot: Slot) -> str:
        return slot.gap or " "

    def is_below(self, slot: Slot) -> bool:
        return "\n" in slot.gap

    def tail(self, slot: Slot) -> str:
        return slot.tail

    def scalar(self, part: Part, column: int) -> list[str]:
        return shifted(self.raw(part), 0 if part.is_new else column - part.home, "")

    def flow(self, part: Part, column: int) -> list[str]:
        return super().flow(part, column) if part.is_new else self.scalar(part, column)

    def spaced(self, part: Part, inside: str) -> str:
        return f" {inside} " if part.is_spaced and inside else inside


def shifted(raw: str, delta: int, pad: str) -> list[str]:
    """The lines of a text that moves to the right or to the left; the first comes behind `pad`."""
    first, *rest = raw.split("\n")
    return [pad + first, *(moved(line, delta) for line in rest)]


def moved(line: str, delta: int) -> str:
    if delta >= 0 or not line:
        return " " * delta + line if line.strip() else line
    return line[min(-delta, len(line) - len(line.lstrip(" "))) :]


def block_scalar(raw: str, margin: int, column: int) -> list[str]:
    """A literal or folded text whose lines stand at a column."""
    header, *lines = raw.split("\n")
    start = properties_length(header)
    found = HEADER.match(header[start:])
    if found:
        signs = "".join(str(INDENT) if sign.isdigit() else sign for sign in found.group(2))
        header = header[:start] + found.group(1) + signs + found.group(3).rstrip()
    pad = " " * column
    return [header, *(pad + line[margin:] if line.strip() or len(line) > margin else "" for line in lines)]
