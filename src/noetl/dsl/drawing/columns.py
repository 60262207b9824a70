"""Where each vertex stands in its row: in order, far enough apart, and edges as straight as can be.

Third stage of the layout. Again rows are swept down and up. Each vertex wants to stand below (or above) the middle of
its neighbours; all wishes of a row are met as closely as the distances allow, in the sense of least squares, by pooling
neighbours that would come too close.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from noetl.dsl.drawing.ranks import Ranked
from noetl.dsl.drawing.rows import Rows

SWEEPS = 24
SWEEPS_BOTH_WAYS = 6
WEIGHT_BACK = 0.002  # an edge that runs back up hardly moves a node, it goes where the nodes leave room
WEIGHT_BENT, WEIGHT_HALF, WEIGHT_STRAIGHT = 1.0, 2.0, 8.0  # between two nodes, a node and a point, two points


class Reach(msgspec.Struct, frozen=True):
    """How far a vertex extends to the left and to the right of where it stands."""

    left: float
    right: float


class Pull(msgspec.Struct, frozen=True):
    """A neighbour's wish: to have the vertex at its own place plus `offset`."""

    neighbour: int
    offset: float
    weight: float


def spread(
    ranked: Ranked, rows: Rows, reaches: Sequence[Reach], ports: dict[tuple[int, int], float], gap: float
) -> list[float]:
    """The x of every vertex. `ports` says how far beside its middle a vertex is met by an edge, where it is."""
    above, below = pulls(ranked, ports)
    places = [0.0] * len(ranked.rank)
    for row in rows:
        at = 0.0
        for vertex in row:
            places[vertex] = at + reaches[vertex].left
            at = places[vertex] + reaches[vertex].right + gap
    for sweep in range(SWEEPS):
        is_last = sweep >= SWEEPS - SWEEPS_BOTH_WAYS
        for row in rows if sweep % 2 == 0 else reversed(rows):
            towards = [above, below] if is_last else [above if sweep % 2 == 0 else below]
            settle_row(row, places, reaches, towards, gap)
    straighten(ranked, rows, places, reaches, gap)
    return places


def straighten(ranked: Ranked, rows: Rows, places: list[float], reaches: Sequence[Reach], gap: float) -> None:
    """Put the points of an edge in one column where their neighbours leave room for that."""
    left_of = {right: left for row in rows for left, right in pairwise(row)}
    right_of = {left: right for row in rows for left, right in pairwise(row)}
    for link in ranked.links:
        points = link.chain[1:-1]
        if len(points) < 2:
            continue
        lows = [
            places[left] + reaches[left].right + gap + reaches[point].left
            for point in points
            if (left := left_of.get(point)) is not None
        ]
        highs = [
            places[right] - reaches[right].left - gap - reaches[point].right
            for point in points
            if (right := right_of.get(point)) is not None
        ]
        wanted = sorted(places[point] for point in points)[len(points) // 2]
        column = min([max([wanted, *lows]), *highs])
        if all(low <= column for low in lows):
            for point in points:
                places[point] = column


def pulls(ranked: Ranked, ports: dict[tuple[int, int], float]) -> tuple[list[list[Pull]], list[list[Pull]]]:
    above: list[list[Pull]] = [[] for _ in ranked.rank]
    below: list[list[Pull]] = [[] for _ in ranked.rank]
    for number, link in enumerate(ranked.links):
        for upper, lower in pairwise(link.chain):
            bends = (upper < ranked.nodes) + (lower < ranked.nodes)
            weight = (WEIGHT_STRAIGHT, WEIGHT_HALF, WEIGHT_BENT)[bends] * (WEIGHT_BACK if link.is_back else 1.0)
            offset = ports.get((number, upper), 0.0) - ports.get((number, lower), 0.0)
            above[lower].append(Pull(upper, offset, weight))
            below[upper].append(Pull(lower, -offset, weight))
    return above, below


def settle_row(
    row: list[int], places: list[float], reaches: Sequence[Reach], towards: list[list[list[Pull]]], gap: float
) -> None:
    """Give each vertex of a row the place nearest to what its neighbours wish."""
    wishes = [wish(vertex, places, towards) for vertex in row]
    apart = [reaches[left].right + gap + reaches[right].left for left, right in pairwise(row)]
    for vertex, place in zip(row, nearest(wishes, apart), strict=True):
        places[vertex] = place


def wish(vertex: int, places: list[float], towards: list[list[list[Pull]]]) -> tuple[float, float]:
    """Where a vertex wants to be, and how much."""
    found = [pull for side in towards for pull in side[vertex]]
    weight = sum(pull.weight for pull in found)
    if not weight:
        return places[vertex], 0.01
    return sum((places[pull.neighbour] + pull.offset) * pull.weight for pull in found) / weight, weight


def nearest(wishes: list[tuple[float, float]], apart: list[float]) -> list[float]:
    """Places as near to the wishes as the distances allow (pool adjacent violators)."""
    shifts = [0.0]
    for distance in apart:
        shifts.append(shifts[-1] + distance)
    pools: list[tuple[float, float, int]] = []  # sum of weighted wishes, weight, how many
    for (wanted, weight), shift in zip(wishes, shifts, strict=False):
        total, mass, size = (wanted - shift) * weight, weight, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / mass:
            before = pools.pop()
            total, mass, size = total + before[0], mass + before[1], size + before[2]
        pools.append((total, mass, size))
    flat = [total / mass for total, mass, size in pools for _ in range(size)]
    return [place + shift for place, shift in zip(flat, shifts, strict=False)]
