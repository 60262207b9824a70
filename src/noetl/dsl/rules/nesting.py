"""Mechanical repairs that move a block: under a key of its own, or two columns to the right.

Exact characters of the file and nothing else (see `findings.Edit`). Where the file does not spell the node as expected,
below an alias for one, there is no edit.
"""

from __future__ import annotations

from noetl.dsl.findings import Edit
from noetl.dsl.nodes import AnyNode, Mapping
from noetl.dsl.rules.key_repairs import raw, span

Edits = tuple[Edit, ...]


def is_flow(node: AnyNode) -> bool:
    """Whether a mapping or list is written in braces or brackets."""
    return raw(node).startswith(("{", "["))


def line_break(node: AnyNode) -> str:
    """How this file ends its lines."""
    return "\r\n" if "\r\n" in node.source.text else "\n"


def nest(node: Mapping, key: str) -> Edits:
    """The same mapping under a key of its own: `{ do: continue }` becomes `{ then: { do: continue } }`."""
    start, end = span(node)
    if is_flow(node):
        return (Edit(start, start, f"{{ {key}: "), Edit(end, end, " }")) if raw(node).endswith("}") else ()
    first = next(iter(node.entries.values()), None)
    if first is None or span(first.key)[0] != start:
        return ()
    opened = Edit(start, start, f"{key}:{line_break(node)}{' ' * (node.column + 1)}")
    return (opened, *indent(node, node.line + 1, node.column))


def indent(node: AnyNode, first: int, column: int) -> Edits:
    """Two spaces more before each line of a block from line `first` on; a line left of its column ends the block."""
    edits = []
    for number in range(first, node.end_line + 1):
        line = node.source.line(number)
        words = line.lstrip(" ")
        is_left = len(line) - len(words) < column - 1
        if is_left and words and not words.startswith("#"):
            break
        if words and not is_left:
            start = node.source.index(number, 1)
            edits.append(Edit(start, start, "  "))
    return tuple(edits)
