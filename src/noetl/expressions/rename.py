"""Rewriting the paths a template reads, and nothing else in it: `args.x` → `input.x`. For `noetl check --fix` and
`noetl migrate`.

Works on the exact spans of `facts.py`, so white space, comments, raw sections, quoted text and names of the
template's own stay.
"""

from collections.abc import Mapping
from typing import cast

import msgspec

from noetl.expressions.spans import Read
from noetl.expressions.template import parse


class Edit(msgspec.Struct, frozen=True):
    """Put `text` in place of `length` characters at `offset` of the old source."""

    offset: int
    length: int
    text: str


def rename(source: str, renames: Mapping[tuple[str, ...], str]) -> tuple[str, tuple[Edit, ...]]:
    """Replace each read path by its longest matching entry; the new source, and what was done to the old one."""
    found = (_edit(read, renames) for read in parse(source, max(len(source), 1)).reads)
    edits = tuple(edit for edit in found if edit is not None)
    return apply_edits(source, edits), edits


def _edit(read: Read, renames: Mapping[tuple[str, ...], str]) -> Edit | None:
    path = cast(tuple[str, ...], read.path)  # one with a number in it is found in no mapping of names
    for length in range(len(path), 0, -1):
        text = renames.get(path[:length])
        if text is not None:
            end = read.end if length == 1 else read.parts[length - 2].end
            return Edit(read.offset, end - read.offset, text)
    return None


def apply_edits(source: str, edits: tuple[Edit, ...]) -> str:
    """The source with edits made; they stand in order and do not overlap."""
    pieces, position = [], 0
    for edit in edits:
        pieces += [source[position : edit.offset], edit.text]
        position = edit.offset + edit.length
    return "".join([*pieces, source[position:]])
