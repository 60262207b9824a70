"""A value inside a document becomes another one, and everything around it stays as it is.

Where both have the same shape only the scalars that differ are spelt anew, so that comments and order stay; a mapping
or a list whose parts are others is written anew as a whole. Nodes and data come in, edits of the text go out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from noetl.dsl.findings import Edit
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, plain
from noetl.dsl.rewriting.layout import INDENT
from noetl.dsl.rewriting.writing import block, fits, inline, scalar, under


def revalued(entry: Entry, new: Any) -> Iterator[Edit]:
    """The edits that make an entry's value this one."""
    value = entry.value
    if is_same(plain(value), new):
        return
    if isinstance(value, Mapping) and isinstance(new, dict) and value.entries.keys() == new.keys():
        for key, inner in value.entries.items():
            yield from revalued(inner, new[key])
    elif isinstance(value, Sequence) and isinstance(new, list) and len(value.items) == len(new):
        yield from _items(entry, value, new)
    else:
        yield _whole(entry, new)


def is_same(old: Any, new: Any) -> bool:
    return type(old) is type(new) and old == new


def _items(entry: Entry, value: Sequence, new: list[Any]) -> Iterator[Edit]:
    """A list of as many items: scalars one by one, else the whole list."""
    changed = [(item, one) for item, one in zip(value.items, new, strict=True) if not is_same(plain(item), one)]
    if all(isinstance(item, Scalar) and item.style in ("", "'", '"') and _is_scalar(one) for item, one in changed):
        yield from (Edit(*_span(item), scalar(one)) for item, one in changed)
    else:
        yield _whole(entry, new)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _whole(entry: Entry, new: Any) -> Edit:
    source, key = entry.key.source, entry.key
    if isinstance(entry.value, Scalar) and entry.value.style in ("", "'", '"') and entry.value.text and _is_scalar(new):
        return Edit(*_span(entry.value), scalar(new))
    start = source.text.index(":", source.index(key.end_line, key.end_column)) + 1
    end = max(start, end_of(entry.value))
    column = key.column - 1
    is_in_flow = _is_in_flow(entry)
    if is_in_flow or fits(new, column + len(key.text) + 2):
        return Edit(start, end, f" {inline(new)}")
    return Edit(start, end, "\n" + "\n".join(block(new, column + INDENT)))


def _is_in_flow(entry: Entry) -> bool:
    """Whether the key stands inside braces: then a block cannot."""
    line = entry.key.source.line(entry.key.line)[: entry.key.column - 1]
    return bool(line.strip(" -"))


def with_entry(mapping: Mapping, key: str, value: Any) -> Edit:
    """The edit that adds an entry before all others."""
    first = next(iter(mapping.entries.values()), None)
    start = mapping.source.index(mapping.line, mapping.column)
    if mapping.source.text[start : start + 1] == "{":
        return Edit(start + 1, start + 1, f" {scalar(key)}: {inline(value)}{',' if first else ' '}")
    pad = " " * (mapping.column - 1)
    lines = under(f"{scalar(key)}:", value, mapping.column - 1)
    return Edit(start, start, "\n".join(lines).lstrip() + f"\n{pad}")


def _span(node: AnyNode) -> tuple[int, int]:
    source = node.source
    return source.index(node.line, node.column), source.index(node.end_line, node.end_column)


def end_of(node: AnyNode) -> int:
    """Where the last character of a node stands; what libyaml calls its end may be lines after it."""
    source = node.source
    start, end = source.index(node.line, node.column), source.index(node.end_line, node.end_column)
    if isinstance(node, Scalar):
        return start + len(source.text[start:end].rstrip()) if node.style in ("|", ">") else end
    if source.text[start : start + 1] in ("{", "["):
        return end
    items = node.items if isinstance(node, Sequence) else [entry.value for entry in node.entries.values()]
    keys = [] if isinstance(node, Sequence) else [entry.key for entry in node.entries.values()]
    return max(map(end_of, (*items, *keys)), default=end)
