"""Playbook text to the same text in the one usual layout.

Two spaces a level, lists below their key, one space behind a colon, `{ a: 1 }` and `[1, 2]`, at most one blank line
in a row and exactly one between the steps of a workflow, one line break at the end. Comments, quotes, numbers, the
order of keys, flow or block style and the lines of long texts are the author's and stay. So do the line breaks: a
file that begins with CR LF has CR LF throughout.

A text is laid out only if it can be read, and what comes out is read again: should it mean anything else, or a
comment be lost, nothing is laid out.
"""

from __future__ import annotations

import re

import msgspec

from noetl.dsl.nodes import plain
from noetl.dsl.read import Fault, Reading, read
from noetl.dsl.rewriting.layout import Formatter
from noetl.dsl.rewriting.outline import comments, outline
from noetl.dsl.rewriting.parts import Document, Part, last_value

LINE_BREAKS = re.compile("\r\n?")
HARMLESS = frozenset(("number-kept-as-text", "yaml-tag"))


class Formatted(msgspec.Struct, frozen=True):
    """The text laid out; with faults, or where it could not be done, the text as it was."""

    text: str
    faults: tuple[Fault, ...] = ()
    is_refused: bool = False  # laid out it would mean something else

    @property
    def is_done(self) -> bool:
        return not self.faults and not self.is_refused


def formatted(data: bytes | str, name: str) -> Formatted:
    """Lay a text out."""
    before = read(data, name)
    faults = tuple(fault for fault in before.faults if is_harmful(fault))
    text = before.source.text
    if faults or not before.documents:
        return Formatted(text, faults)
    broken = LINE_BREAKS.sub("\n", text)
    found = layout(broken)
    if not is_same(before, broken, found, name):
        return Formatted(text, is_refused=True)
    return Formatted(found.replace("\n", "\r\n") if has_crlf(text) else found)


def is_harmful(fault: Fault) -> bool:
    """Whether part of the text is not in the nodes, so that nothing could tell if it was lost."""
    is_odd_key = fault.fault == "key-not-text" and not fault.facts.get("found", "").startswith("a ")
    return fault.fault not in HARMLESS and not is_odd_key


def has_crlf(text: str) -> bool:
    """Whether the first line ends as those of Windows do."""
    first = text.find("\n")
    return first > 0 and text[first - 1] == "\r"


def layout(text: str) -> str:
    """The text in the usual layout."""
    lines: list[str] = []
    documents = outline(text)
    for document in documents:
        lines += laid_out(text, document)
    rest = [line.strip() for line in text[documents[-1].end :].split("\n") if line.strip()]
    return "\n".join([*lines, *rest]) + ("" if ends_in_block_scalar(text, documents[-1].root) else "\n")


def ends_in_block_scalar(text: str, root: Part) -> bool:
    """Whether one more line break would be content."""
    value = last_value(root)
    return value.style in ("|", ">") and value.end == len(text)


def laid_out(text: str, document: Document) -> list[str]:
    if document.is_odd:
        return text[document.start : document.end].strip("\n").split("\n")
    above = text[document.start : text.rfind("\n", 0, document.entry) + 1].split("\n")[:-1]
    if document.start and above and not above[0].strip():
        above = above[1:]  # the end of the line before
    writer = Formatter(text, workflow(text, document.root))
    lines = writer.block(document.root, 0) if document.root.is_block else writer.inline(document.root, 0)
    if not document.root.is_block:
        marker = text[text.rfind("\n", 0, document.entry) + 1 : document.entry].strip()
        lines[0] = f"{marker} {lines[0]}".lstrip()
    lines[-1] += document.tail.rstrip()
    return [*writer.comments(above, 0, is_start=not document.start), *lines]


def workflow(text: str, root: Part) -> Part | None:
    """The list of steps."""
    for slot in root.slots:
        if slot.key and text[slot.key.start : slot.key.end] == "workflow" and slot.value.is_block:
            return slot.value
    return None


def is_same(before: Reading, text: str, found: str, name: str) -> bool:
    """Whether the new text has the same data and the same comments as the old one."""
    after = read(found, name)
    if len(after.documents) != len(before.documents) or len(after.faults) != len(before.faults):
        return False
    pairs = zip(before.documents, after.documents, strict=True)
    return all(repr(plain(one)) == repr(plain(two)) for one, two in pairs) and comments(text) == comments(found)
