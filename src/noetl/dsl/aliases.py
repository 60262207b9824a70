"""Aliases: how large a document is when each counts as often as it is used, and which texts they repeat.

Looks at composed YAML nodes before they are converted, so that a text of 300 bytes that stands for a billion values
costs nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

Composed = Any  # a PyYAML node; only read.py imports that library
Spans = Sequence[tuple[int, int]]


def children(node: Composed) -> list[Composed]:
    """The values below a node; keys are not counted."""
    if node.id == "mapping":
        return [value for _, value in node.value]
    return list(node.value) if node.id == "sequence" else []


def sizes_below(node: Composed, sizes: dict[int, int]) -> int:
    """How many values a node stands for. An alias comes after its anchor, whose size is known by then."""
    if id(node) not in sizes:
        sizes[id(node)] = 1  # what an alias to itself finds; converting refuses it
        sizes[id(node)] = 1 + sum(sizes_below(child, sizes) for child in children(node))
    return sizes[id(node)]


def way_to_overflow(node: Composed, sizes: dict[int, int], room: int) -> list[Composed]:
    """The nodes from the top to the one with which the room is used up."""
    way = [node]
    room -= 1
    while True:
        for child in children(way[-1]):
            if sizes[id(child)] > room:
                break
            room -= sizes[id(child)]
        else:
            return way
        way.append(child)
        room -= 1


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, without overlap."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def is_within(start: int, end: int, spans: Spans) -> bool:
    """Whether a stretch touches one of the spans (in order, without overlap)."""
    place = bisect_left(spans, (start, start))
    is_begun = place > 0 and spans[place - 1][1] > start
    return is_begun or (place < len(spans) and spans[place][0] < max(end, start + 1))
