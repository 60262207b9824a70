"""Repairs of the rules about `next`: words put around a node, a list put under a key."""

from __future__ import annotations

from noetl.dsl.findings import Edit
from noetl.dsl.nodes import AnyNode, Entry, Sequence
from noetl.dsl.rules.key_repairs import span
from noetl.dsl.source import LINE_BREAK

Edits = tuple[Edit, ...]
NOT_IN_PLACE = ("", "&", "*", "!", "|", ">")  # an alias stands at its anchor, a block has its own lines


def is_flow(node: AnyNode) -> bool:
    """Whether a collection is written in brackets."""
    start, _ = span(node)
    return node.source.text[start : start + 1] in ("[", "{")


def wrap(node: AnyNode, before: str, after: str = "") -> Edits:
    """Put words before and after a node."""
    start, end = span(node)
    if node.source.text[start : start + 1] in NOT_IN_PLACE:
        return ()
    return (Edit(start, start, before), *((Edit(end, end, after),) if after else ()))


def put_under(entry: Entry, written: Sequence, key: str) -> Edits:
    """Put a list under one more key. A list may stand in its key's column, so no line has to move."""
    if is_flow(written):
        return wrap(written, f"{{ {key}: ", " }")
    start, _ = span(written)
    is_deeper = entry.key.line < written.line and entry.key.column < written.column
    if not is_deeper or not written.source.text.startswith("-", start):
        return ()
    found = LINE_BREAK.search(written.source.text)
    return (Edit(start, start, f"{key}:{found[0] if found else chr(10)}{' ' * (written.column - 1)}"),)
