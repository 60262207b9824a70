"""The outline of a YAML text: every key, item and value with the characters it takes, and what is said beside it.

`fmt.py` and `migrate.py` rewrite a text along its outline, so that what they do not touch stays as its author wrote
it: quotes, escapes, numbers, line breaks, flow style, comments. No YAML library keeps all of these (ruamel.yaml drops
comments inside flow collections, rewrites escapes and joins lines), and the parser that reads playbooks tells where
everything stands. So an outline is made from its events, and the gaps between them are looked at for comments,
because a gap holds nothing else but white space and punctuation.

Comes in: a text that `read.py` found no fault in, with `\\n` as its line break. Goes out: documents of parts.

    Part    a mapping, list, scalar or alias                 Slot    a key with its value, or an item of a list
    lead    blank lines and comments above a slot            note    a comment behind the key, before the value
    tail    a comment behind the value                       foot    comments below the last slot, as deep as the slots

A comment between two slots belongs to what stands below it, unless it is indented more deeply than that: then it is
the foot of the collection above that it is in line with. A slot with something unusual in it (`? key`) is odd: it is
only ever copied as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from noetl.dsl.read import Trace, trace
from noetl.dsl.rewriting.parts import Document, Part, Slot, spine, stop_of

TOKEN = re.compile(r"(?P<comment>#[^\n]*)|(?P<property>[&!][^\s,\[\]{}]*)|(?P<mark>[^\s#])")
PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*(?:\s+|\Z))*")
SKIPPED = re.compile(r"(?:\s+|#[^\n]*|[&!][^\s,\[\]{}]*)*")
COMMENT = re.compile(r"(?:^|[ \t]+)#.*")
DOCUMENT_END = re.compile(r"^\.\.\.(?=\s|\Z)", re.MULTILINE)
HEADER = re.compile(r"([|>])([-+0-9]*)(.*)\Z", re.DOTALL)


class Line(msgspec.Struct):
    """A blank line or a line with nothing but a comment."""

    text: str
    end: int

    @property
    def column(self) -> int:
        return len(self.text) - len(self.text.lstrip())


class Gap(msgspec.Struct):
    """What stands between two values."""

    first: str  # the rest of the line that it begins in; nothing if it does not end
    lines: list[Line] = []
    marks: list[tuple[str, int]] = []
    properties: str = ""
    comments: int = 0

    @property
    def punctuation(self) -> str:
        return "".join(mark for mark, _ in self.marks)


def outline(text: str) -> list[Document]:
    """The documents of a text."""
    roots = list(parts(iter(trace(text))))
    documents: list[Document] = []
    for number, (start, root) in enumerate(roots):
        until = roots[number + 1][0] if number + 1 < len(roots) else len(text)
        documents.append(_Outliner(text).document(documents[-1].end if documents else 0, start, root, until))
    return documents


def parts(events: Iterator[Trace]) -> Iterator[tuple[int, Part]]:
    """The root of each document, and where its first line (`---`, if it has one) begins."""
    start = 0
    for event in events:
        if event.kind == "document":
            start = event.start
        else:
            yield start, part(event, events)


def part(event: Trace, events: Iterator[Trace]) -> Part:
    """What an event begins, read to its end."""
    made = Part(event.kind, event.start, event.end, event.anchor, event.style, event.is_flow)
    if event.kind in ("mapping", "sequence"):
        read_slots(made, events)
    return made


def read_slots(made: Part, events: Iterator[Trace]) -> None:
    for event in events:
        if event.kind == "end":
            made.end = event.end
            break
        first = part(event, events)
        made.slots.append(Slot(part(next(events), events), first) if made.kind == "mapping" else Slot(first))
    if made.is_block:
        made.end = made.slots[-1].value.end


class _Outliner:
    """Goes through the parts of one document in the order of the text and gives every comment its place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cursor = 0
        self.leaf: Slot | None = None  # whose tail comes next

    def document(self, after: int, start: int, root: Part, until: int) -> Document:
        found = Document(after, root, until)
        if root.is_flow:
            self.flow(root)
            found.tail = self.scan(root.end, until).first
            found.end = root.end + len(found.tail)
            return found
        if not root.is_block:
            found.is_odd = True
            return found
        found.is_odd = "?" in self.scan(start, self.entry(root)).punctuation
        self.block(root, [])
        marker = DOCUMENT_END.search(self.text, self.cursor, until)
        gap = self.scan(self.cursor, marker.start() if marker else until)
        self.end_leaf(gap)
        whole = Slot(root)
        self.give_feet(gap.lines, whole, -1)
        found.end = max(root.foot_end, stop_of(whole))
        return found

    def block(self, collection: Part, lead: list[str]) -> None:
        collection.column = self.column(self.entry(collection))
        previous: Slot | None = None
        for slot in collection.slots:
            slot.lead = lead if previous is None else self.before(collection, slot, previous)
            slot.start = slot.start or (slot.key.start if slot.key else self.entry(collection))
            self.inside(collection, slot)
            previous = slot

    def before(self, collection: Part, slot: Slot, previous: Slot) -> list[str]:
        """The gap in front of a slot that is not the first: gives the lead."""
        gap = self.scan(self.cursor, slot.key.start if slot.key else self.first(slot.value))
        slot.is_odd = gap.punctuation != ("" if slot.key else "-")
        if gap.marks:
            slot.start = gap.marks[0][1]
            gap = self.scan(self.cursor, slot.start)
        self.end_leaf(gap)
        return self.give_feet(gap.lines, previous, collection.column)

    def inside(self, collection: Part, slot: Slot) -> None:
        """From the colon or the dash to the end of the value."""
        begin = slot.key.end if slot.key else slot.start + 1
        value = slot.value
        value.home = collection.column
        gap = self.scan(begin, self.first(value))
        slot.is_odd |= gap.punctuation != (":" if slot.key else "")
        slot.note = comment_of(gap.first)
        after = gap.marks[0][1] + 1 if slot.key and gap.marks else begin
        if value.is_block:
            value.properties = gap.properties
            value.is_flush = value.kind == "sequence" and bool(slot.key) and self.is_flush(value, collection)
            self.block(value, [line.text for line in gap.lines])
            slot.offset = value.column - collection.column
            return
        slot.gap = self.text[after : value.start] if not gap.comments else "\n"
        slot.inner = [line.text for line in gap.lines if line.text.strip()]
        self.trim(value, collection.column)
        if value.is_flow:
            self.flow(value)
        self.cursor, self.leaf = value.end, slot

    def is_flush(self, value: Part, collection: Part) -> bool:
        return self.column(self.entry(value)) == collection.column

    def trim(self, value: Part, column: int) -> None:
        """Take the blank lines below a block scalar away from it, except where they are its content."""
        if value.style in ("|", ">"):
            raw = self.text[value.start : value.end]
            value.margin = margin(raw[properties_length(raw) :], column)
            value.end = value.start + len(trimmed(raw, value.margin))

    def end_leaf(self, gap: Gap) -> None:
        """The rest of the line behind the value before."""
        if self.leaf:
            self.leaf.tail = gap.first
            self.leaf.stop = self.leaf.value.end + len(gap.first)

    def give_feet(self, lines: list[Line], previous: Slot, column: int) -> list[str]:
        """Comments between two slots: those indented more deeply than the second stay above; gives the others."""
        chain = spine(previous)
        lead: list[str] = []
        pending: list[str] = []
        for line in lines:
            if not line.text.strip():
                pending.append(line.text)
                continue
            while chain and (line.column <= column or chain[-1].column > line.column or chain[-1].is_flush):
                chain.pop()
            if chain:
                chain[-1].foot.extend((*pending, line.text))
                chain[-1].foot_end = line.end
            else:
                lead += [*pending, line.text]
            pending = []
        return lead + pending

    def flow(self, collection: Part) -> None:
        """The slots of a flow collection."""
        cursor = self.past_properties(collection) + 1
        previous: Slot | None = None
        for slot in collection.slots:
            first = slot.key or slot.value
            gap = self.scan(cursor, first.start)
            slot.start = first.start
            collection.is_odd |= gap.punctuation != ("," if previous else "")
            self.flow_comments(collection, previous, gap)
            slot.lead = [line.text for line in gap.lines if line.text.strip()]
            self.flow_value(collection, slot)
            cursor, previous = max(first.end, slot.value.end), slot
        gap = self.scan(cursor, collection.end - 1)
        collection.is_odd |= gap.punctuation not in ("", ",")
        self.flow_comments(collection, previous, gap)
        collection.foot = [line.text for line in gap.lines if line.text.strip()]
        collection.is_spaced = self.text[self.past_properties(collection) + 1] == " "
        collection.is_wide = "\n" in self.text[collection.start : collection.end]

    def flow_value(self, collection: Part, slot: Slot) -> None:
        value = slot.value
        value.home = self.indent(slot.start)
        if slot.key:
            gap = self.scan(slot.key.end, value.start)
            collection.is_odd |= bool(gap.comments) or gap.punctuation not in (":", "")
            slot.gap = " " if gap.marks else ""
        if value.is_flow and self.is_bracketed(value):
            self.flow(value)

    def is_bracketed(self, value: Part) -> bool:
        """A pair in a list may stand without brackets: `[a: 1]`; it is copied."""
        value.is_odd = self.text[value.end - 1] not in "]}" or self.text[self.past_properties(value)] not in "[{"
        return not value.is_odd

    def past_properties(self, value: Part) -> int:
        return value.start + properties_length(self.text[value.start : value.end])

    def flow_comments(self, collection: Part, previous: Slot | None, gap: Gap) -> None:
        comment = comment_of(gap.first)
        if previous:
            previous.tail = comment
        else:
            collection.opening = comment

    def entry(self, value: Part) -> int:
        """Where the first slot of a block collection begins."""
        if value.kind == "mapping":
            first = value.slots[0].key
            return first.start if first else value.start
        skipped = SKIPPED.match(self.text, value.start)
        return skipped.end() if skipped else value.start

    def first(self, value: Part) -> int:
        return self.entry(value) if value.is_block else value.start

    def column(self, index: int) -> int:
        return index - (self.text.rfind("\n", 0, index) + 1)

    def indent(self, index: int) -> int:
        """By how much the line of a character is indented."""
        start = self.text.rfind("\n", 0, index) + 1
        line = self.text[start:index]
        return len(line) - len(line.lstrip(" "))

    def scan(self, start: int, end: int) -> Gap:
        """Look at the characters between two values."""
        first, *rest = self.text[start:end].split("\n")
        gap = Gap(first if rest or end == len(self.text) else "")
        self.scan_line(gap, first, start)
        at = start + len(first) + 1
        for number, line in enumerate(rest, start=1):
            stripped = line.strip()
            if stripped.startswith("#") or (not stripped and number < len(rest)):
                gap.lines.append(Line(line, at + len(line)))
                gap.comments += bool(stripped)
            elif stripped:
                gap.lines += self.scan_line(gap, line, at)
            at += len(line) + 1
        return gap

    def scan_line(self, gap: Gap, line: str, start: int) -> list[Line]:
        """Note the punctuation in a line; gives the comment behind it."""
        for token in TOKEN.finditer(line):
            if token.lastgroup == "comment":
                gap.comments += 1
                return [Line(token.group(), start + token.end())]
            if token.lastgroup == "property":
                gap.properties += f" {token.group()}"
            else:
                gap.marks.append((token.group(), start + token.start()))
        return []


def comment_of(rest: str) -> str:
    """The comment in the rest of a line, with the white space before it."""
    found = COMMENT.search(rest)
    return found.group() if found else ""


def properties_length(raw: str) -> int:
    """How much of a value's text is its anchor and tag."""
    found = PROPERTIES.match(raw)
    return found.end() if found else 0


def margin(raw: str, column: int) -> int:
    """By how much the lines of a block scalar are indented, when its collection stands at a column."""
    header, _, body = raw.partition("\n")
    digits = [char for char in header[:4] if char.isdigit()]
    if digits:
        return column + int(digits[0])
    lines = [line for line in body.split("\n") if line.strip()]
    return len(lines[0]) - len(lines[0].lstrip(" ")) if lines else 0


def trimmed(raw: str, indent: int) -> str:
    """A block scalar without the blank lines below it that are not its content."""
    lines = raw.split("\n")
    if not lines[-1].strip():
        lines.pop()
    header = HEADER.match(lines[0][properties_length(raw) :])
    if header and "+" in header.group(2):
        return "\n".join(lines)
    while len(lines) > 1 and not lines[-1].strip() and len(lines[-1]) <= indent:
        lines.pop()
    return "\n".join(lines)


def comments(text: str) -> list[str]:
    """Every comment of a text, found without its outline: in what is no value."""
    found: list[str] = []
    cursor = 0
    for event in trace(text):
        if event.kind in ("scalar", "alias"):
            found += re.findall("#.*", text[cursor : event.start])
            cursor = event.end
            if event.style in ("|", ">"):
                found += re.findall("#.*", text[event.start : event.end].partition("\n")[0])
    return [comment.rstrip() for comment in found + re.findall("#.*", text[cursor:])]
