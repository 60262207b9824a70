"""Ways through a directed graph of numbered nodes: reach, strongly connected components, shortest ways.

Below `analyze.py` and the drawing: plain lists of numbers in and out, nothing of playbooks. No recursion, so a chain of
any length is fine; every function is linear in nodes and edges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

Successors = Sequence[Sequence[int]]


def reach(successors: Successors, starts: Iterable[int], beyond: AbstractSet[int] = frozenset()) -> set[int]:
    """Every node that can be come to from the starts, themselves included, without one of those `beyond`."""
    seen = set(starts)
    waiting = list(seen)
    while waiting:
        for node in successors[waiting.pop()]:
            if node not in seen and node not in beyond:
                seen.add(node)
                waiting.append(node)
    return seen


def reversed_edges(successors: Successors) -> list[list[int]]:
    """The graph with every edge turned round."""
    predecessors: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(node)
    return predecessors


def components(successors: Successors) -> list[int]:
    """The number of each node's strongly connected component; a component comes after those it leads to (Tarjan)."""
    count = len(successors)
    order, low, component = [-1] * count, [0] * count, [-1] * count
    stack: list[int] = []
    clock = found = 0
    for root in range(count):
        if order[root] != -1:
            continue
        order[root] = low[root] = clock
        clock += 1
        stack.append(root)
        calls = [(root, iter(successors[root]))]
        while calls:
            node, targets = calls[-1]
            for target in targets:
                if order[target] == -1:
                    order[target] = low[target] = clock
                    clock += 1
                    stack.append(target)
                    calls.append((target, iter(successors[target])))
                    break
                if component[target] == -1:
                    low[node] = min(low[node], order[target])
            else:
                calls.pop()
                if calls:
                    parent = calls[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == order[node]:
                    while component[node] == -1:
                        component[stack.pop()] = found
                    found += 1
    return component


def cyclic_components(successors: Successors, component: Sequence[int]) -> list[list[int]]:
    """The components that hold a cycle, their nodes in order; the one with the lowest node first."""
    members: dict[int, list[int]] = {}
    for node, number in enumerate(component):
        members.setdefault(number, []).append(node)
    return [nodes for nodes in members.values() if len(nodes) > 1 or nodes[0] in successors[nodes[0]]]


def shortest(successors: Successors, start: int, goal: int, within: frozenset[int] | None = None) -> list[int]:
    """A shortest way of at least one edge from start to goal, both named; [] where there is none."""
    before: dict[int, int] = {}
    waiting = deque((start,))
    while waiting:
        node = waiting.popleft()
        for target in successors[node]:
            if target in before or (within is not None and target not in within):
                continue
            before[target] = node
            if target == goal:
                return walked(before, start, goal)
            waiting.append(target)
    return []


def walked(before: dict[int, int], start: int, goal: int) -> list[int]:
    way = [goal, before[goal]]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]
