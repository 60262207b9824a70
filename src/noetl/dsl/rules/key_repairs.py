"""Repairs that several rules offer: the edits that `--fix` makes, or none where the place is not plain enough.

An edit is offered only where the file shows what the tree says: a key that stands in its own mapping (not merged in by
`<<`), a value on the key's line (not an alias, whose place is its anchor's). Nothing else of the file is touched.
"""

from __future__ import annotations

import re

from noetl.dsl.findings import Edit
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Node, Scalar
from noetl.dsl.source import LINE_BREAK, Source

BETWEEN = re.compile(r"[ \t]*:[ \t]+\Z")


def span(node: Node) -> tuple[int, int]:
    """The indexes in the file at which a node begins and ends."""
    source = node.source
    return source.index(node.line, node.column), source.index(node.end_line, node.end_column)


def raw(node: Node) -> str:
    """A node as the file spells it."""
    start, end = span(node)
    return node.source.text[start:end]


def is_one_line(node: AnyNode) -> bool:
    return node.line == node.end_line and bool(raw(node))


def pair_span(entry: Entry, parent: Mapping) -> tuple[int, int] | None:
    """Where `key: value` stands, if it stands in its own mapping and on one line."""
    (key_start, key_end), (value_start, value_end) = span(entry.key), span(entry.value)
    parent_start, parent_end = span(parent)
    is_inside = parent_start <= key_start and value_end <= parent_end
    is_pair = key_end <= value_start and bool(BETWEEN.match(entry.key.source.text, key_end, value_start))
    return (key_start, value_end) if is_inside and is_pair and entry.key.line == entry.value.end_line else None


def key_span(entry: Entry, parent: Mapping) -> tuple[int, int] | None:
    """Where a key stands, if it stands in its own mapping and the file spells it as the tree does."""
    start, end = span(entry.key)
    parent_start, parent_end = span(parent)
    is_inside = parent_start <= start and end <= parent_end
    return (start, end) if is_inside and raw(entry.key).strip("'\"") == entry.key.text else None


def rename_key(entry: Entry, parent: Mapping, new: str) -> tuple[Edit, ...]:
    """Give a key another name, unless that name is taken."""
    found = key_span(entry, parent)
    return (Edit(*found, new),) if found and new not in parent.entries else ()


def replace_pair(entry: Entry, parent: Mapping, text: str) -> tuple[Edit, ...]:
    """Put another text where `key: value` stands."""
    found = pair_span(entry, parent)
    return (Edit(*found, text),) if found else ()


def replace_value(node: AnyNode, text: str) -> tuple[Edit, ...]:
    """Put another text where a value of one line stands."""
    is_plain = isinstance(node, Scalar) and node.written is None and is_one_line(node)
    return (Edit(*span(node), text),) if is_plain else ()


def quoted(text: str) -> str:
    """A text of one line as a quoted YAML scalar."""
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return f'"{text}"'


def shown(node: AnyNode | None, otherwise: str) -> str:
    """A value of one line as the author spelt it, for a message that shows the right form filled in."""
    if node is None or not is_one_line(node):
        return otherwise
    text = raw(node)
    return text if len(text) <= 120 and not text.startswith(("|", ">", "&", "*", "!")) else otherwise


def pair_text(entry: Entry) -> str:
    """`key: value` as the file spells it, where it stands on one line; else nothing."""
    value = shown(entry.value, "")
    return f"{entry.key.text}: {value}" if value else ""


def into_mapping(entry: Entry, parent: Mapping, target: Entry) -> tuple[Edit, ...]:
    """Move a pair that has a line of its own into a mapping beside it; nothing where the file makes that unclear."""
    lines = own_lines(entry, parent)
    start = insertion(target, parent) if isinstance(target.value, Mapping) else None
    text = pair_text(entry)
    if lines is None or start is None or not text or entry.key.text in mapping_keys(target.value):
        return ()
    source = entry.key.source
    is_flow = source.text.startswith("{", span(target.value)[0])
    after = ", " if is_flow else line_break(source) + " " * (target.value.column - 1)
    return (Edit(start, start, f"{text}{after}"), Edit(*lines, ""))


def line_break(source: Source) -> str:
    """How the file breaks its lines."""
    found = LINE_BREAK.search(source.text)
    return found.group() if found else "\n"


def mapping_keys(node: AnyNode) -> set[str]:
    return set(node.entries) if isinstance(node, Mapping) else set()


def own_lines(entry: Entry, parent: Mapping) -> tuple[int, int] | None:
    """The whole line of a pair, if nothing else stands on it and it is not the first of its mapping."""
    found = pair_span(entry, parent)
    source = entry.key.source
    line, number = source.line(entry.key.line), entry.key.line
    is_alone = found is not None and not line[: entry.key.column - 1].strip() and number < len(source.starts)
    is_alone = is_alone and not line[entry.value.end_column - 1 :].strip() and number > parent.line
    return (source.index(number, 1), source.index(number + 1, 1)) if is_alone else None


def insertion(target: Entry, parent: Mapping) -> int | None:
    """The index before the first key of a mapping that stands where its key says."""
    first = next(iter(target.value.entries.values()), None) if isinstance(target.value, Mapping) else None
    if first is None or key_span(target, parent) is None:
        return None
    start, end = span(first.key)
    outer_start, outer_end = span(target.value)
    return start if outer_start <= start and end <= outer_end and span(target.key)[1] <= outer_start else None
