"""The text of a file, and places in it.

Lines break where libyaml breaks them, so that its marks and ours agree. Nothing here opens a file: the caller hands
the text in.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from noetl.dsl.nodes import Scalar

LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
ESCAPE_LENGTHS = {"x": 4, "u": 6, "U": 10}


class Place(NamedTuple):
    """A stretch of a file, counted from 1; the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Source:
    """One file's name and text."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """The index at which each line begins."""
        return [0, *(match.end() for match in LINE_BREAK.finditer(self.text))]

    def line(self, number: int) -> str:
        """One line without its break; empty beyond the end."""
        if not 1 <= number <= len(self.starts):
            return ""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].rstrip("\r\n\x85\u2028\u2029")

    def index(self, line: int, column: int) -> int:
        """The character index of a place."""
        if line > len(
            self.starts
        ):  # libyaml ends a block on the line after the last, also where no break ends that one
            return len(self.text)
        return min(self.starts[line - 1] + column - 1, len(self.text))

    def place(self, start: int, end: int) -> Place:
        """The place of the characters from start to end."""
        line, column = self.line_and_column(start)
        return Place(self.name, line, column, *self.line_and_column(end))

    def line_and_column(self, index: int) -> tuple[int, int]:
        line = bisect_right(self.starts, index)
        return line, index - self.starts[line - 1] + 1

    def index_in(self, node: Scalar, offset: int) -> int:
        """The index in the file of a character of a scalar's written text, whatever its quoting and folding."""
        start, end = self.index(node.line, node.column), self.index(node.end_line, node.end_column)
        raw, value = self.text[start:end], node.text if node.written is None else node.written
        if raw == value:
            return start + offset
        if raw[1:-1] == value and node.style in ("'", '"'):  # nothing escaped, nothing folded: no need to walk
            return start + 1 + min(offset, max(len(value) - 1, 0))
        return start + align(raw, value, node.style, offset)


def align(raw: str, value: str, style: str, offset: int) -> int:
    """The index in a scalar's raw YAML of its value's character at `offset`."""
    found = aligned(raw, value, style)
    return found[min(offset, len(found) - 1)] if found else 0


@lru_cache(maxsize=8)
def aligned(raw: str, value: str, style: str) -> list[int]:
    """The index in the raw YAML of each character of a scalar's value; a text is asked for many places in a row."""
    at, last = opening(raw, style), max(len(raw) - 1, 0)
    indexes = []
    for wanted in value:
        if style == '"':
            at = past_line_escapes(raw, at)
        found, at = step_to(raw, at, wanted, style)
        indexes.append(min(found, last))
    return indexes


def opening(raw: str, style: str) -> int:
    """Where the content begins: after a quote, or after the line of a block's indicator."""
    if style in ("|", ">"):
        line_break = LINE_BREAK.search(raw)
        return line_break.end() if line_break else 0
    return 1 if style in ("'", '"') else 0


def past_line_escapes(raw: str, at: int) -> int:
    """Over the backslash-newline of a double-quoted text, which stands for nothing."""
    while raw.startswith("\\", at) and (line_break := LINE_BREAK.match(raw, at + 1)):
        at = line_break.end()
        while at < len(raw) and raw[at] in " \t":
            at += 1
    return at


def step_to(raw: str, at: int, wanted: str, style: str) -> tuple[int, int]:
    """The next raw index that stands for `wanted`, and the index after it."""
    while at < len(raw):
        char = raw[at]
        if style == '"' and char == "\\":
            return at, at + ESCAPE_LENGTHS.get(raw[at + 1 : at + 2], 2)
        if char == wanted or (wanted.isspace() and char.isspace()):
            return at, at + 1
        at += 1
    return at, at
