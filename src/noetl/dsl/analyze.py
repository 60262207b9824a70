"""Faults only the whole net shows (RT-10): steps nothing leads to, cycles without a way out, tokens that multiply,
joins that cannot fill, tokens that meet, branches that write one key.

Comes in: a Net. Goes out: facts about it, with the ways that show them; the rules of block 5xx put them into words.
Nothing here is recursive, and all of it is linear in steps and arcs but for the search for pairs of tokens, which has a
bound of its own (`tokens.py`).

What an arc that never fires would have led to is not reached, but that is the arc's fault and is said there.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from noetl.dsl.boundaries import STEP_FAILED
from noetl.dsl.draft import Assignment
from noetl.dsl.guards import Claims, claims, exclude
from noetl.dsl.net import Meeting, Net, Tokens, Way, is_planner
from noetl.dsl.paths import components, reach, shortest
from noetl.dsl.tokens import Fan, Pairs, find_pairs

FANS_RETRIED_MAX = 20
FANS_SHOWN_MAX = 10  # fan-outs that multiply tokens, whose ways are looked for
FAN_ARCS_MAX = 50  # of one router; the pairs among them are compared
WRITERS_MAX = 100  # of one key; each is compared with those before it
KEY_DEPTH_MAX = 16


class Clash(msgspec.Struct, frozen=True):
    """Two writes of one key by branches that run at once, with the ways to both from the step that sent both."""

    earlier: Assignment
    later: Assignment
    one: list[int]
    other: list[int]


class StuckJoin(msgspec.Struct, frozen=True):
    """A join that waits for a token that never stops being able to come."""

    join: int
    rival: int  # the other join, or a step of the cycle that never ends
    to_join: list[int]
    to_rival: list[int]
    back: list[int]  # the way on which that token could still come


def unreachable(net: Net) -> Iterator[list[int]]:
    """The steps no arc leads to, in groups: the first of a group, then what only it would lead to."""
    if net.is_open:
        return
    left = set(range(len(net.steps))) - reach(net.written, (net.entry,))
    within = [[target for target in targets if target in left] for targets in net.written]
    component = components(within)
    fed = {component[target] for node in left for target in within[node] if component[target] != component[node]}
    seen: set[int] = set()
    for node in sorted(left):
        if component[node] not in fed and node not in seen:
            group = reach(within, (node,), seen)
            yield [node, *sorted(group - {node})]
            seen |= group


def endless_cycles(net: Net) -> Iterator[list[int]]:
    """Each cycle that every visit goes round again: no arc leads out and no branch ends on it, unless a step fails."""
    for nodes in net.cycles:
        inside = set(nodes)
        has_exit = any(way.target not in inside for node in nodes for way in net.ways[node] if way.firing.can_fire)
        if not has_exit and goes_on(net, nodes):
            yield cycle_through(net, nodes)


def goes_on(net: Net, nodes: list[int]) -> bool:
    """Whether a token that has come to these steps leaves one among them for ever, as long as no step fails."""
    inside = set(nodes)
    return all(
        not net.steps[node].admit_rules
        and not is_planner(net.steps[node])
        and all(stays(net, node, name, inside) for name in successes(net.ways[node]))
        for node in nodes
    )


def successes(ways: list[Way]) -> set[str]:
    return {name for way in ways for name in way.firing.fires if name != STEP_FAILED}


def stays(net: Net, node: int, name: str, inside: set[int]) -> bool:
    """Whether on this boundary a token certainly goes to one of the steps."""
    possible = [way for way in net.ways[node] if way.firing.fires[name] is not False]
    if net.steps[node].is_inclusive:
        return any(way.firing.fires[name] and way.target in inside for way in possible)
    return all(way.target in inside for way in possible) and any(way.firing.fires[name] for way in possible)


def cycle_through(net: Net, nodes: list[int]) -> list[int]:
    """One way round, from the step that a token comes to first."""
    inside = frozenset(nodes)
    first = next((node for node in net.way_from_entry(nodes[0]) if node in inside), nodes[0])
    return shortest(net.successors, first, first, inside)


def multiplying_fans(net: Net) -> Iterator[tuple[Fan, list[int], list[int]]]:
    """The fan-outs that multiply tokens, the first of them with both ways back; more ways would tell nothing new."""
    for number, fan in enumerate(multiplying(net)):
        is_shown = number < FANS_SHOWN_MAX
        one, other = (round_trip(net, fan.step, end) if is_shown else [] for end in (fan.one, fan.other))
        yield fan, one, other


def multiplying(net: Net) -> list[Fan]:
    """Fan-outs on a cycle that both tokens can go round again, at least one of them past no join; one per step."""
    tokens = tokens_of(net)
    if tokens.multiplying is None:
        joins = joins_of(net)
        unjoined = components(
            [
                [] if node in joins else [end for end in ends if end not in joins]
                for node, ends in enumerate(net.successors)
            ]
        )
        found: dict[int, Fan] = {}
        for fan in tokens.fans:
            here, ends = fan.step, (fan.one, fan.other)
            can_return = here not in joins and all(net.component[end] == net.component[here] for end in ends)
            if can_return and any(unjoined[end] == unjoined[here] for end in ends):
                found.setdefault(here, fan)
        tokens.multiplying = list(found.values())
    return tokens.multiplying


def round_trip(net: Net, start: int, through: int) -> list[int]:
    """A way from a step by one of its arcs back to it."""
    return [start, through] if through == start else [start, *shortest(net.successors, through, start)]


def joins_of(net: Net) -> frozenset[int]:
    return frozenset(number for number, step in enumerate(net.steps) if step.is_join)


def stuck_joins(net: Net) -> Iterator[StuckJoin]:
    """Joins that wait for each other, and joins that wait for a token of a cycle that never ends."""
    joins = sorted(joins_of(net) & net.reached)
    if not joins:
        return
    pairs = tokens_of(net).real
    endless = [nodes[0] for nodes in net.cycles if goes_on(net, nodes)]
    seen: set[int] = set()
    for join in joins:
        rivals = [other for other in joins if other > join and net.component[other] == net.component[join]]
        rivals += [
            node for node in endless if net.component[node] != net.component[join] and leads_to(pairs, node, join)
        ]
        rival = next((other for other in rivals if pairs.has(join, other)), None)
        if rival is not None and join not in seen:
            seen.update((join, rival))
            yield StuckJoin(join, rival, *pairs.ways(join, rival), shortest(net.successors, rival, join))


def leads_to(pairs: Pairs, node: int, join: int) -> bool:
    """Whether a token at a step can come to a join."""
    return bool(pairs.blocks.joins_ahead[pairs.blocks.block_of[node]] >> join & 1)


def needless_joins(net: Net) -> list[int]:
    """Joins at which never more than one token waits."""
    pairs = tokens_of(net).real
    if net.is_open or not pairs.is_complete:
        return []
    return [join for join in sorted(joins_of(net) & net.reached) if not pairs.has(join, join)]


def tokens_of(net: Net) -> Tokens:
    """The search for two tokens, made once per net."""
    if net.tokens is None:
        net.tokens = search(net)
    return net.tokens


def search(net: Net) -> Tokens:
    joins = joins_of(net)
    fans = [fan for node in sorted(net.reached) for fan in fans_of(net, node)]
    real = find_pairs(net.successors, net.entry, fans, joins)
    real.is_complete = real.is_complete and all(len(net.ways[node]) <= FAN_ARCS_MAX for node in net.reached)
    met = [step for step in meeting_steps(real) if step not in joins]
    joined = find_pairs(net.successors, net.entry, fans, joins.union(met)) if met else real
    first = [Meeting(step, *joined.ways(step, step)) for step in met if joined.has(step, step)]
    shown = first or [Meeting(step, *real.ways(step, step)) for step in met[:1]]
    meetings = [found for meeting in shown if (found := of_one_round(net, fans, meeting))]
    return Tokens(fans, real, joined, meetings)


def of_one_round(net: Net, fans: list[Fan], meeting: Meeting) -> Meeting | None:
    """The meeting with ways that pass their fan-out once; None if only tokens of different rounds meet.

    A step that sends a token out and another one round again (`fetch` → `store` and `fetch` → `fetch`) means `store` to
    run once per round, so that is no fault.
    """
    if not any(way[0] in way[1:] for way in (meeting.one, meeting.other)):
        return meeting
    for fan in fans[:FANS_RETRIED_MAX]:
        others = frozenset(net.reached - {fan.step})
        ways = [shortest_from(net, end, meeting.step, others) for end in (fan.one, fan.other)]
        if all(ways):
            return Meeting(meeting.step, [fan.step, *ways[0]], [fan.step, *ways[1]])
    return None


def shortest_from(net: Net, start: int, goal: int, within: frozenset[int]) -> list[int]:
    """A shortest way among these steps, of no edge where start is goal; [] where there is none."""
    if start not in within:
        return []
    return [start] if start == goal else shortest(net.successors, start, goal, within)


def meeting_steps(pairs: Pairs) -> list[int]:
    """The steps two tokens can be at, in the order in which the search came upon them."""
    blocks = pairs.blocks
    return [blocks.step_at(blocks.places[block][0]) for block in pairs.doubled()]


def fans_of(net: Net, node: int) -> Iterator[Fan]:
    """The pairs of arcs that can fire together: same boundary, guards that do not exclude each other."""
    for one, other in fanning_ways(net, node):
        yield Fan(node, one.target, other.target)


def fanning_ways(net: Net, node: int) -> Iterator[tuple[Way, Way]]:
    if not net.steps[node].is_inclusive:
        return
    live = [way for way in net.ways[node] if way.firing.can_fire][:FAN_ARCS_MAX]
    said: list[Claims] = [claims(way.firing.template) for way in live]
    for at, one in enumerate(live):
        for further in range(at + 1, len(live)):
            if is_together(one, live[further]) and not exclude(said[at], said[further]):
                yield one, live[further]


def is_together(one: Way, other: Way) -> bool:
    """Whether there is a boundary on which both can fire."""
    return any(
        answer is not False and other.firing.fires.get(name) is not False for name, answer in one.firing.fires.items()
    )


def clashes(net: Net, written: list[Assignment]) -> Iterator[Clash]:
    """Writes of one ctx key by two branches that run at once (SC-14); each later write once."""
    numbers = {id(step): number for number, step in enumerate(net.steps)}
    writers = Writers({}, {})
    for write in written:
        number = numbers.get(id(write.step), -1)
        if number in net.reached and write.scope == "ctx" and not (write.task and write.task.is_compensation):
            yield from clash(net, writers, write, number)
            writers.add(write, number)


class Writers(msgspec.Struct):
    """The writes so far: by their key, and by every key that theirs lies in; of each step the first."""

    exact: dict[str, dict[int, Assignment]]
    below: dict[str, dict[int, Assignment]]

    def add(self, write: Assignment, number: int) -> None:
        for table, key in [(self.exact, write.target), *((self.below, key) for key in enclosing(write.target))]:
            same = table.setdefault(key, {})
            if len(same) < WRITERS_MAX:
                same.setdefault(number, write)

    def of(self, key: str) -> Iterator[tuple[int, Assignment]]:
        """The writes that touch a key."""
        for table, one in [(self.exact, key), (self.below, key), *((self.exact, outer) for outer in enclosing(key))]:
            yield from table.get(one, {}).items()


def enclosing(key: str) -> list[str]:
    """The keys a key lies in: ctx.a and ctx.a.b for ctx.a.b.c."""
    parts = key.split(".")[:KEY_DEPTH_MAX]
    return [".".join(parts[:length]) for length in range(2, len(parts))]


def clash(net: Net, writers: Writers, write: Assignment, number: int) -> Iterator[Clash]:
    """The first earlier write of the key by another branch."""
    pairs = tokens_of(net).joined
    for other, earlier in writers.of(write.target):
        places = running(pairs, other), running(pairs, number)
        if other != number and pairs.has(*places):
            yield Clash(earlier, write, *pairs.ways(*places))
            return


def running(pairs: Pairs, number: int) -> int:
    """The place at which a step runs: a join's is not the one where it waits."""
    place = number + pairs.blocks.count
    return place if pairs.blocks.block_of[place] >= 0 else number
