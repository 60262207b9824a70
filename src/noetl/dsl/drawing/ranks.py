"""Which edges run back up, which row each node stands in, and a point in every row that an edge passes.

First stage of the layout. A depth-first walk from the entry finds the edges that close a cycle; without them the graph
has an order, and each node stands below all that lead to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

Edge = tuple[int, int]


class Link(msgspec.Struct):
    """An edge in the layout: the vertices it passes from its upper end to its lower one, both included."""

    edge: int  # its number in the list of edges
    chain: list[int]
    is_back: bool  # it runs from the lower end up
    is_loop: bool = False  # from a node to itself


class Ranked(msgspec.Struct):
    """Vertices in rows: nodes first, then the points that long edges pass."""

    nodes: int
    rank: list[int]  # vertex → row
    links: list[Link]

    @property
    def rows(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in range(max(self.rank, default=-1) + 1)]
        for vertex, row in enumerate(self.rank):
            found[row].append(vertex)
        return found


def rank(count: int, edges: Sequence[Edge], entry: int) -> Ranked:
    """Give every node a row, and every long edge its points."""
    back = back_edges(count, edges, entry)
    downward = [
        (target, source) if number in back else (source, target) for number, (source, target) in enumerate(edges)
    ]
    rows = settle(count, [edge for edge in downward if edge[0] != edge[1]])
    found = Ranked(count, rows, [])
    for number, (upper, lower) in enumerate(downward):
        is_loop = upper == lower
        chain = [upper] if is_loop else add_points(found, upper, lower)
        found.links.append(Link(number, chain, number in back and not is_loop, is_loop))
    return found


def add_points(ranked: Ranked, upper: int, lower: int) -> list[int]:
    chain = [upper]
    for row in range(ranked.rank[upper] + 1, ranked.rank[lower]):
        chain.append(len(ranked.rank))
        ranked.rank.append(row)
    return [*chain, lower]


def back_edges(count: int, edges: Sequence[Edge], entry: int) -> set[int]:
    """The edges that lead to a node the walk has not left yet."""
    out: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (source, target) in enumerate(edges):
        out[source].append((number, target))
    back: set[int] = set()
    state = [0] * count  # 0 not seen, 1 on the way, 2 left
    for root in (entry, *range(count)):
        if state[root]:
            continue
        state[root] = 1
        calls = [(root, iter(out[root]))]
        while calls:
            node, rest = calls[-1]
            for number, target in rest:
                if state[target] == 1:
                    back.add(number)
                elif not state[target]:
                    state[target] = 1
                    calls.append((target, iter(out[target])))
                    break
            else:
                state[node] = 2
                calls.pop()
    return back


def settle(count: int, edges: Sequence[Edge]) -> list[int]:
    """Rows such that every edge leads down: as high as can be, then lower where that shortens edges."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in edges:
        below[upper].append(lower)
        above[lower].append(upper)
    order = topological(count, below, [len(uppers) for uppers in above])
    rows = [0] * count
    for node in order:
        rows[node] = max((rows[upper] + 1 for upper in above[node]), default=0)
    for node in reversed(order):
        if below[node] and len(above[node]) < len(below[node]):
            rows[node] = max(rows[node], min(rows[lower] for lower in below[node]) - 1)
    lowest = min(rows, default=0)
    return [row - lowest for row in rows]


def topological(count: int, below: list[list[int]], missing: list[int]) -> list[int]:
    order = [node for node in range(count) if not missing[node]]
    for node in order:
        for lower in below[node]:
            missing[lower] -= 1
            if not missing[lower]:
                order.append(lower)
    return order
