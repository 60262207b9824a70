"""Mechanical repairs: a change of a few characters of a scalar, as an edit of the file.

An edit is offered only where the file spells those characters as the scalar's text does, and where the new characters
mean themselves in the scalar's quoting; else there is no edit, and the finding's words must do.
"""

from __future__ import annotations

from noetl.dsl.findings import Edit
from noetl.dsl.nodes import Scalar

NOT_IN = {"'": "'", '"': '"\\'}
NOT_IN_PLAIN = (": ", " #", "\n")


def replace(node: Scalar, offset: int, end: int, new: str) -> tuple[Edit, ...]:
    """The edit that puts `new` in place of a part of the text, or before a character of it; nothing if it cannot."""
    if not 0 <= offset <= end <= len(node.text) or offset == len(node.text) or not fits(node, new):
        return ()
    old = node.text[offset : max(end, offset + 1)]
    start = node.source.index_in(node, node.unshifted(offset))
    if len(old) > 1 and node.source.index_in(node, node.unshifted(offset + len(old) - 1)) != start + len(old) - 1:
        return ()
    if not node.source.text.startswith(old, start):
        return ()
    return (Edit(start, start + end - offset, new),)


def fits(node: Scalar, new: str) -> bool:
    """Whether characters mean themselves in a scalar's quoting."""
    if node.style in NOT_IN:
        return not any(char in new for char in NOT_IN[node.style]) and new.isprintable()
    return not any(mark in f"{new} " for mark in NOT_IN_PLAIN)
