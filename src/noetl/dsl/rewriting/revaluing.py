"""A value inside a document becomes another one, and everything around it stays as it is.

Only what differs is spelt anew: scalars in their place, and of a mapping or a list in a block the parts that came or
went, so that comments and order stay. Written anew as a whole is what has another shape, or stands in braces with other
parts. Nodes and data come in, edits of the text go out. What an alias repeats is left alone: its user gets the new
value in place of the alias.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from noetl.dsl.findings import Edit
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, plain
from noetl.dsl.rewriting.layout import INDENT
from noetl.dsl.rewriting.writing import block, fits, inline, scalar, under

_ALIAS = re.compile(r"[ \t]*\*[^\s,\[\]{}]+")
_COMMENT = re.compile(r"(?m)(?:^|[ \t])#")
_COMMENT_OF_KEY = re.compile(r"[ \t]+#[^\r\n]*(?=\r?\n)")
_DASH = re.compile(r"[ \t]*-[ \t]+")


def revalued(entry: Entry, new: Any) -> Iterator[Edit]:
    """The edits that make an entry's value this one."""
    value = entry.value
    if is_same(plain(value), new):
        return
    inside = None if _index(value) < _index(entry.key) else _inside(value, new)
    yield from [_whole(entry, new)] if inside is None else inside


def is_same(old: Any, new: Any) -> bool:
    """Equal as expectations are: true is not 1, at any depth; 1 and 1.0 are the same number."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


# --- part by part ----------------------------------------------------------------------------------------------------


def _inside(node: AnyNode, new: Any) -> list[Edit] | None:
    """The edits within a value; None: it is to be written anew."""
    if isinstance(node, Mapping) and isinstance(new, dict):
        return _entries(node, new)
    if isinstance(node, Sequence) and isinstance(new, list):
        return _items(node, new)
    if isinstance(node, Scalar) and node.style in ("", "'", '"') and node.text and _is_scalar(new):
        return [Edit(*_span(node), scalar(new))]
    return None


def _entries(node: Mapping, new: dict[str, Any]) -> list[Edit] | None:
    kept = {key: entry for key, entry in node.entries.items() if key in new}
    gone = [entry for key, entry in node.entries.items() if key not in new]
    added = {key: value for key, value in new.items() if key not in node.entries}
    if any(not _index(node) <= _index(entry.key) < _raw_end(node) for entry in node.entries.values()):
        return None  # merged from elsewhere
    if (gone or added) and (not kept or _is_flow(node) or not all(map(_has_its_lines, gone))):
        return None
    edits = [_after(_last_of(kept), block(added, node.column - 1))] if added else []
    edits += [_without(entry.key, entry.value) for entry in gone]
    return [*edits, *(edit for key, entry in kept.items() for edit in revalued(entry, new[key]))]


def _items(node: Sequence, new: list[Any]) -> list[Edit] | None:
    kept, gone, added = node.items[: len(new)], node.items[len(new) :], new[len(node.items) :]
    if any(_index(item) < _index(node) for item in node.items):
        return None  # an alias, whose place is not known
    if (gone or added) and (not kept or _is_flow(node) or not all(map(_has_its_dash, gone))):
        return None
    edits = [_after((kept[-1], kept[-1]), block(added, node.column - 1))] if added else []
    edits += [_without(item, item) for item in gone]
    for item, value in zip(kept, new, strict=False):
        inside = [] if is_same(plain(item), value) else _inside(item, value)
        edits += [_whole_item(item, value)] if inside is None else inside
    return edits


def _last_of(entries: dict[str, Entry]) -> tuple[AnyNode, AnyNode]:
    entry = list(entries.values())[-1]
    return entry.key, entry.value


def _after(part: tuple[AnyNode, AnyNode], lines: list[str]) -> Edit:
    """New lines below a part that stays, and below what is said beside it. Of edits at one place the outer one comes
    first in a list, and so last in the text."""
    at = _line_end(*part)
    return Edit(at, at, "\n" + "\n".join(lines))


def _without(first: AnyNode, last: AnyNode) -> Edit:
    """A part goes with its lines, and what is said beside it; comments on lines of their own stay."""
    text = first.source.text
    end = text.find("\n", _line_end(first, last)) + 1
    return Edit(text.rfind("\n", 0, _index(first)) + 1, end or len(text), "")


def _line_end(first: AnyNode, last: AnyNode) -> int:
    """Where the last line of a part ends; what an alias repeats stands elsewhere."""
    text = first.source.text
    end = text.find("\n", max(_raw_end(first) if isinstance(first, Scalar) else 0, end_of(last)))
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" else end


def _has_its_lines(entry: Entry) -> bool:
    return not _before(entry.key).strip()


def _has_its_dash(item: AnyNode) -> bool:
    return _DASH.fullmatch(_before(item)) is not None


def _before(node: AnyNode) -> str:
    """What stands before a node in its line."""
    return node.source.line(node.line)[: node.column - 1]


# --- anew ------------------------------------------------------------------------------------------------------------


def _whole(entry: Entry, new: Any) -> Edit:
    source, key = entry.key.source, entry.key
    start = source.text.index(":", source.index(key.end_line, key.end_column)) + 1
    alias = _ALIAS.match(source.text, start) if _index(entry.value) < _index(key) else None
    end = alias.end() if alias else max(start, end_of(entry.value))
    said = _COMMENT_OF_KEY.match(source.text, start, end)
    beside = said[0] if said else ""
    if _is_flow(entry.value) and _has_comments(entry.value):
        return Edit(start, start, "")  # its comments would go: nothing is done, which is told
    column = key.column - 1
    if bool(_before(key).strip(" -")) or fits(new, column + len(key.text) + 2):
        return Edit(start, end, f" {inline(new)}{beside}")
    return Edit(start, end, f"{beside}\n" + "\n".join(block(new, column + INDENT)))


def _whole_item(item: AnyNode, new: Any) -> Edit:
    start, end = _index(item), max(_index(item), end_of(item))
    gap = "" if item.source.text[start - 1 : start].isspace() else " "
    is_in_block = _has_its_dash(item) and not fits(new, item.column)
    lines = block(new, item.column - 1) if is_in_block else [inline(new)]
    return Edit(start, end, gap + "\n".join(lines).lstrip())


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def with_entry(mapping: Mapping, key: str, value: Any) -> Edit:
    """The edit that adds an entry before all others."""
    first = next(iter(mapping.entries.values()), None)
    start = _index(mapping)
    if _is_flow(mapping):
        return Edit(start + 1, start + 1, f" {scalar(key)}: {inline(value)}{',' if first else ' '}")
    pad = " " * (mapping.column - 1)
    lines = under(f"{scalar(key)}:", value, mapping.column - 1)
    return Edit(start, start, "\n".join(lines).lstrip() + f"\n{pad}")


# --- places ----------------------------------------------------------------------------------------------------------


def _is_flow(node: AnyNode) -> bool:
    return not isinstance(node, Scalar) and node.source.text[_index(node) : _index(node) + 1] in ("{", "[")


def _has_comments(node: AnyNode) -> bool:
    """Whether something is said between its parts; what looks so inside a text is part of that text."""
    texts = [_span(scalar) for scalar in _scalars(node)]
    found = (match.start() for match in _COMMENT.finditer(node.source.text, *_span(node)))
    return any(not any(start <= at < end for start, end in texts) for at in found)


def _scalars(node: AnyNode) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
        return
    for part in _parts(node):
        yield from _scalars(part)


def _parts(node: Mapping | Sequence) -> list[AnyNode]:
    """Keys and values, or items."""
    if isinstance(node, Sequence):
        return [*node.items]
    return [part for entry in node.entries.values() for part in (entry.key, entry.value)]


def _index(node: AnyNode) -> int:
    return node.source.index(node.line, node.column)


def _raw_end(node: AnyNode) -> int:
    return node.source.index(node.end_line, node.end_column)


def _span(node: AnyNode) -> tuple[int, int]:
    return _index(node), _raw_end(node)


def end_of(node: AnyNode) -> int:
    """Where the last character of a node stands; what libyaml calls its end may be lines after it."""
    source = node.source
    start, end = _span(node)
    if isinstance(node, Scalar):
        return start + len(source.text[start:end].rstrip()) if node.style in ("|", ">") else end
    if _is_flow(node):
        return end
    return max(map(end_of, _parts(node)), default=end)
