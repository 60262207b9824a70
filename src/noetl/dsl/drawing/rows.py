"""The order in each row, such that few edges cross.

Second stage of the layout. Rows are swept down and up; each vertex goes to the middle of its neighbours in the row
before, and the order with the fewest crossings so far is kept.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise

from noetl.dsl.drawing.ranks import Ranked

SWEEPS_MAX = 24
VERTICES_FOR_ALL_SWEEPS = 3000
Rows = list[list[int]]
Neighbours = list[list[int]]


def arrange(ranked: Ranked) -> Rows:
    """The rows, each in its order."""
    above: Neighbours = [[] for _ in ranked.rank]
    below: Neighbours = [[] for _ in ranked.rank]
    for link in ranked.links:
        for upper, lower in pairwise(link.chain):
            below[upper].append(lower)
            above[lower].append(upper)
    rows = first_order(ranked, below)
    best, fewest = [list(row) for row in rows], crossings(rows, below)
    sweeps = SWEEPS_MAX if len(ranked.rank) <= VERTICES_FOR_ALL_SWEEPS else 4
    for sweep in range(sweeps):
        if not fewest:
            break
        if sweep % 2 == 0:
            sweep_rows(rows[1:], rows, above, is_left_first=sweep % 4 < 2)
        else:
            sweep_rows(rows[-2::-1], rows, below, is_left_first=sweep % 4 < 2)
        count = crossings(rows, below)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    return best


def first_order(ranked: Ranked, below: Neighbours) -> Rows:
    """The order in which a walk down comes upon the vertices: branches side by side."""
    rows: Rows = [[] for _ in range(max(ranked.rank, default=-1) + 1)]
    seen = [False] * len(ranked.rank)
    for root in sorted(range(len(ranked.rank)), key=lambda vertex: (ranked.rank[vertex], vertex)):
        waiting = [root]
        while waiting:
            vertex = waiting.pop()
            if not seen[vertex]:
                seen[vertex] = True
                rows[ranked.rank[vertex]].append(vertex)
                waiting.extend(reversed(below[vertex]))
    return rows


def sweep_rows(order: Rows, rows: Rows, towards: Neighbours, is_left_first: bool) -> None:
    """Put each vertex in the middle of its neighbours; those without any keep their place."""
    place = {vertex: at for row in rows for at, vertex in enumerate(row)}
    for row in order:
        wanted = {}
        for at, vertex in enumerate(row):
            ends = sorted(place[neighbour] for neighbour in towards[vertex])
            wanted[vertex] = middle(ends) if ends else float(at)
        if is_left_first:
            row.sort(key=wanted.__getitem__)
        else:
            row.reverse()
            row.sort(key=wanted.__getitem__)
        for at, vertex in enumerate(row):
            place[vertex] = at


def middle(ends: list[int]) -> float:
    half = len(ends) // 2
    return float(ends[half]) if len(ends) % 2 else (ends[half - 1] + ends[half]) / 2


def crossings(rows: Rows, below: Neighbours) -> int:
    """How many pairs of edges cross."""
    count = 0
    for upper, lower in pairwise(rows):
        place = {vertex: at for at, vertex in enumerate(lower)}
        passed: list[int] = []
        for vertex in upper:
            ends = sorted(place[end] for end in below[vertex])
            count += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return count
