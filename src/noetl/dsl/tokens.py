"""Where two tokens can be at once.

A net with one token has nothing to warn of. Two come from one fan-out: an inclusive router with two arcs that can fire
together. From there each moves on its own, so the pairs of places they can be at are found by moving one of the two at
a time. A join is two places, where tokens wait and where the step then runs: a waiting token goes on only when the
other one can no longer come to the join, and two that wait there become one (ST-11). Any two tokens of a larger marking
are such a pair, so pairs are enough.

A chain of steps counts as one place. The search ends after PAIRS_MAX pairs; then `is_complete` is False, what was found
still holds, and nothing may be concluded from what was not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from noetl.dsl.paths import components, reach, reversed_edges

PAIRS_MAX = 15_000

Pair = tuple[int, int]


class Fan(msgspec.Struct, frozen=True):
    """A step that can send two tokens at once, and to where."""

    step: int
    one: int
    other: int


class Blocks(msgspec.Struct):
    """The places, chains taken together. A step's place is its number; a join runs at its number plus `count`."""

    count: int
    block_of: list[int]  # place → block; -1: no token comes there
    places: list[list[int]]  # block → its places, in order
    successors: list[list[int]]
    waits_for: list[int]  # block → its join, if it is where a join waits; else -1
    joins_ahead: list[int]  # block → the joins a token there can still come to, as bits

    def step_at(self, place: int) -> int:
        return place if place < self.count else place - self.count


class Pairs(msgspec.Struct):
    """All pairs of blocks that hold two tokens at once, each with the pair it came from.

    A pair is kept as one number, lower block * width + higher block, since there may be many thousands of them.
    """

    blocks: Blocks
    width: int
    before: dict[int, Pair]  # aligned: the lower one's token came from the first, the higher one's from the second
    origins: dict[int, int]  # the step that fanned out
    is_complete: bool

    def has(self, one: int, other: int) -> bool:
        """Whether two tokens can be at these places at once."""
        first, second = self.blocks.block_of[one], self.blocks.block_of[other]
        return first >= 0 and second >= 0 and self.key(first, second) in self.before

    def key(self, one: int, other: int) -> int:
        return one * self.width + other if one <= other else other * self.width + one

    def doubled(self) -> list[int]:
        """The blocks that two tokens can be in, in the order in which the search came upon them."""
        return [key // self.width for key in self.before if key // self.width == key % self.width]

    def ways(self, one: int, other: int) -> tuple[list[int], list[int]]:
        """The steps each of two such tokens took, from the step that fanned out; for a pair that `has` confirms."""
        first, second = self.blocks.block_of[one], self.blocks.block_of[other]
        trails = ([first], [second])
        while (key := self.key(first, second)) not in self.origins:
            earlier = self.before[key]
            first, second = earlier if first <= second else (earlier[1], earlier[0])
            for trail, block in zip(trails, (first, second), strict=True):
                if trail[-1] != block:
                    trail.append(block)
        start = self.origins[key]
        return self.walk(start, trails[0], one), self.walk(start, trails[1], other)

    def walk(self, start: int, trail: list[int], end: int) -> list[int]:
        """The steps of a trail of blocks, which runs backwards."""
        steps = [start]
        for number, block in enumerate(reversed(trail)):
            places = self.blocks.places[block]
            if number == len(trail) - 1:
                places = places[: places.index(end) + 1]
            steps.extend(self.blocks.step_at(place) for place in places)
        return [step for at, step in enumerate(steps) if at == 0 or at == 1 or step != steps[at - 1]]


def find_pairs(successors: Sequence[Sequence[int]], entry: int, fans: Sequence[Fan], joins: Iterable[int]) -> Pairs:
    """Follow two tokens from every fan-out."""
    blocks = make_blocks(successors, entry, fans, frozenset(joins))
    pairs = Pairs(blocks, len(blocks.places), {}, {}, True)
    waiting: deque[Pair] = deque()
    for fan in fans:
        one, other = sorted((blocks.block_of[fan.one], blocks.block_of[fan.other]))
        key = pairs.key(one, other)
        if one >= 0 and key not in pairs.before:
            pairs.before[key] = (one, other)
            pairs.origins[key] = fan.step
            waiting.append((one, other))
    follow(pairs, waiting)
    return pairs


def follow(pairs: Pairs, waiting: deque[Pair]) -> None:
    """Move one token of every pair, until no new pair comes up."""
    before, width, blocks = pairs.before, pairs.width, pairs.blocks
    while waiting:
        pair = waiting.popleft()
        for mover, rest in (pair, (pair[1], pair[0])):
            for target in moves(blocks, mover, rest):
                if target <= rest:
                    key, moved, came = target * width + rest, (target, rest), (mover, rest)
                else:
                    key, moved, came = rest * width + target, (rest, target), (rest, mover)
                if key not in before:
                    before[key] = came
                    waiting.append(moved)
        if len(before) > PAIRS_MAX:
            pairs.is_complete = False
            return


def moves(blocks: Blocks, mover: int, rest: int) -> Sequence[int]:
    """Where a token can go while another one is at `rest`."""
    join = blocks.waits_for[mover]
    if join >= 0 and (mover == rest or blocks.joins_ahead[rest] >> join & 1):
        return ()
    return blocks.successors[mover]


def make_blocks(successors: Sequence[Sequence[int]], entry: int, fans: Sequence[Fan], joins: frozenset[int]) -> Blocks:
    count = len(successors)
    places = place_graph(successors, joins)
    reached = reach(places, (entry,))
    heads = block_heads(places, reached, {entry, *joins, *(end for fan in fans for end in (fan.one, fan.other))}, joins)
    blocks = Blocks(count, [-1] * len(places), [], [], [], [])
    for head in heads:
        chain = [head]
        while head not in joins and len(targets := places[chain[-1]]) == 1 and targets[0] not in heads:
            chain.append(targets[0])
        for place in chain:
            blocks.block_of[place] = len(blocks.places)
        blocks.places.append(chain)
        blocks.waits_for.append(head if head in joins else -1)
    for chain in blocks.places:
        blocks.successors.append([blocks.block_of[place] for place in places[chain[-1]]])
    blocks.joins_ahead = joins_ahead(blocks)
    return blocks


def place_graph(successors: Sequence[Sequence[int]], joins: frozenset[int]) -> list[list[int]]:
    """A join's waiting place leads to its running place, and that one on."""
    count = len(successors)
    first = [[count + step] if step in joins else list(dict.fromkeys(successors[step])) for step in range(count)]
    return first + [list(dict.fromkeys(successors[step])) if step in joins else [] for step in range(count)]


def block_heads(places: list[list[int]], reached: set[int], given: set[int], joins: frozenset[int]) -> dict[int, None]:
    """The places a block begins at: where ways meet or part, where tokens start, wait, or run after waiting."""
    predecessors = reversed_edges([targets if place in reached else [] for place, targets in enumerate(places)])
    heads: dict[int, None] = {}
    for place in sorted(reached):
        before = predecessors[place]
        is_chained = len(before) == 1 and len(places[before[0]]) == 1 and before[0] not in joins
        if place in given or not is_chained:
            heads[place] = None
    return heads


def joins_ahead(blocks: Blocks) -> list[int]:
    """For each block the joins that a token there can come to, as bits: successors first."""
    component = components(blocks.successors)
    ahead = [0] * (max(component, default=-1) + 1)
    for block in sorted(range(len(component)), key=component.__getitem__):
        mask = 1 << blocks.waits_for[block] if blocks.waits_for[block] >= 0 else 0
        for target in blocks.successors[block]:
            mask |= ahead[component[target]]
        ahead[component[block]] |= mask
    return [ahead[number] for number in component]
