"""The analysis of whole nets, compared with a simulation that plays every token by hand."""

import random
import time
from itertools import combinations, pairwise, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noetl.dsl import analyze
from noetl.dsl.guards import claims, exclude
from noetl.dsl.net import Net, net_of
from noetl.dsl.paths import components, cyclic_components, reach, shortest
from noetl.expressions import parse
from tests.dsl.front import Front

GUARDS = {
    "": None,
    "x": "{{ ctx.x == 1 }}",
    "y": "{{ ctx.y }}",
    "not x": "{{ not (ctx.x == 1) }}",
    "done": "{{ event.name == 'step.done' }}",
    "failed": "{{ event.name == 'step.failed' }}",
    "never": "{{ false }}",
}
TOKENS_MAX = 4


class Arc:
    def __init__(self, target: int, guard: str) -> None:
        self.target = target
        self.guard = guard


class Step:
    def __init__(self, arcs: list[Arc], is_inclusive: bool, is_join: bool) -> None:
        self.arcs = arcs
        self.is_inclusive = is_inclusive
        self.is_join = is_join

    def firings(self, only_success: bool = False) -> set[tuple[int, ...]]:
        """Every set of targets that one run of the step can send tokens to."""
        ends = ("done",) if only_success else ("done", "failed")
        return {self.route(end, x, y) for end in ends for x in (True, False) for y in (True, False)}

    def route(self, end: str, x: bool, y: bool) -> tuple[int, ...]:
        holds = {
            "": end == "done",
            "x": x and end == "done",
            "not x": not x and end == "done",
            "y": y and end == "done",
            "done": end == "done",
            "failed": end == "failed",
            "never": False,
        }
        taken = [arc.target for arc in self.arcs if holds[arc.guard]]
        return tuple(taken if self.is_inclusive else taken[:1])


@st.composite
def nets(draw: st.DrawFn, joins: bool) -> list[Step]:
    count = draw(st.integers(2, 6))
    arcs = st.builds(Arc, st.integers(0, count - 1), st.sampled_from(list(GUARDS)))
    step = st.builds(
        Step,
        st.lists(arcs, max_size=3),
        st.booleans(),
        st.sampled_from((False, False, True)) if joins else st.just(False),
    )
    return draw(st.lists(step, min_size=count, max_size=count))


def written(net: list[Step]) -> str:
    lines = ["workflow:"]
    for number, step in enumerate(net):
        lines += [f"  - step: s{number}", "    tool: { kind: python, code: pass }"]
        if step.is_join:
            lines.append("    spec: { policy: { admit: { join: all } } }")
        if step.arcs:
            lines.append(f"    next: {{ spec: {{ mode: {'inclusive' if step.is_inclusive else 'exclusive'} }}, arcs: [")
            for arc in step.arcs:
                when = f', when: "{GUARDS[arc.guard]}"' if arc.guard else ""
                lines.append(f"      {{ step: s{arc.target}{when} }},")
            lines.append("    ] }")
    return "\n".join(lines) + "\n"


def analysed(text: str) -> Net:
    net = net_of(Front().check(text).drafts[0])
    assert net is not None
    return net


def markings(net: list[Step], is_monotone: bool) -> set[tuple[int, ...]]:
    """Every marking up to TOKENS_MAX tokens. Without joins tokens are free, so a larger one is cut to its parts."""
    ahead = reach_of(net)
    seen = {(0,)}
    waiting = [(0,)]
    while waiting:
        marking = waiting.pop()
        for following in fired(net, marking, ahead):
            parts = (following,)
            if len(following) > TOKENS_MAX:
                parts = set(combinations(following, TOKENS_MAX)) if is_monotone else ()
            for part in parts:
                if part not in seen:
                    seen.add(part)
                    waiting.append(part)
    return seen


def reach_of(net: list[Step]) -> list[set[int]]:
    successors = [[target for targets in step.firings() for target in targets] for step in net]
    return [reach(successors, successors[number]) for number in range(len(net))]


def fired(net: list[Step], marking: tuple[int, ...], ahead: list[set[int]]) -> set[tuple[int, ...]]:
    found = set()
    for number in set(marking):
        rest = list(marking)
        if net[number].is_join:
            rest = [other for other in marking if other != number]
            if any(number in ahead[other] for other in rest):
                continue
        else:
            rest.remove(number)
        found.update(tuple(sorted([*rest, *targets])) for targets in net[number].firings())
    return found


@given(net=nets(joins=False))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.spec("RT-10", "RT-02", "RT-11")
def test_reached_steps_and_meetings_are_those_of_the_simulation(net: list[Step]) -> None:
    found = analysed(written(net))
    played = markings(net, is_monotone=True)

    assert found.reached == {step for marking in played for step in marking}
    pairs = analyze.tokens_of(found).real
    together = {pair for marking in played for pair in combinations(marking, 2)}
    assert {pair for pair in product(range(len(net)), repeat=2) if pair[0] <= pair[1] and pairs.has(*pair)} == together
    met = {one for one, other in together if one == other}
    assert {meeting.step for meeting in analyze.tokens_of(found).meetings} <= met
    if not found.cycles:
        assert bool(analyze.tokens_of(found).meetings) == bool(met)


@given(net=nets(joins=True))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.spec("ST-11", "RT-10")
def test_with_joins_nothing_that_can_happen_is_missed(net: list[Step]) -> None:
    found = analysed(written(net))
    played = markings(net, is_monotone=False)

    pairs = analyze.tokens_of(found).real
    together = {pair for marking in played for pair in combinations(marking, 2)}
    assert all(pairs.has(*pair) for pair in together)
    filled = {one for one, other in together if one == other and net[one].is_join}
    assert not filled & set(analyze.needless_joins(found))
    blocked = {number for marking in played for number in stuck(net, marking)}
    assert not blocked or list(analyze.stuck_joins(found))


def stuck(net: list[Step], marking: tuple[int, ...]) -> set[int]:
    """The joins of a marking in which nothing can fire."""
    is_stuck = bool(marking) and not fired(net, marking, reach_of(net))
    return {number for number in marking if net[number].is_join} if is_stuck else set()


@given(net=nets(joins=True))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.spec("RT-10")
def test_a_cycle_without_exit_keeps_its_token_as_long_as_no_step_fails(net: list[Step]) -> None:
    found = analysed(written(net))

    for cycle in analyze.endless_cycles(found):
        inside = {number for number in range(len(net)) if found.component[number] == found.component[cycle[0]]}
        for number in inside:
            assert all(targets and set(targets) <= inside for targets in net[number].firings(only_success=True))
            assert all(set(targets) <= inside for targets in net[number].firings())


@given(net=nets(joins=True))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.spec("RT-10")
def test_ways_shown_are_ways_of_the_net(net: list[Step]) -> None:
    found = analysed(written(net))

    def is_way(numbers: list[int]) -> bool:
        return all(later in found.successors[earlier] for earlier, later in pairwise(numbers))

    for meeting in analyze.tokens_of(found).meetings:
        assert meeting.one[0] == meeting.other[0]
        assert meeting.one[-1] == meeting.other[-1] == meeting.step
        assert is_way(meeting.one)
        assert is_way(meeting.other)
    for cycle in analyze.endless_cycles(found):
        assert cycle[0] == cycle[-1]
        assert len(cycle) > 1
        assert is_way(cycle)
    for fan, one, other in analyze.multiplying_fans(found):
        assert {one[0], one[-1], other[0], other[-1]} == {fan.step}
        assert is_way(one)
        assert is_way(other)
    for stuck_join in analyze.stuck_joins(found):
        assert is_way(stuck_join.to_join)
        assert is_way(stuck_join.to_rival)
        assert is_way(stuck_join.back)


@given(net=nets(joins=False))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.spec("RT-10")
def test_tokens_that_multiply_do_so_in_the_simulation(net: list[Step]) -> None:
    found = analysed(written(net))
    played = markings(net, is_monotone=True)

    for fan, _, _ in analyze.multiplying_fans(found):
        inside = {number for number in range(len(net)) if found.component[number] == found.component[fan.step]}
        assert any(len(marking) == TOKENS_MAX and set(marking) <= inside for marking in played)


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        ("ctx.a == 'x'", "ctx.a == 'y'", True),
        ("ctx.a == 'x'", "ctx.a != 'x'", True),
        ("ctx.a == 'x' and ctx.b", "ctx.a in ['y', 'z']", True),
        ("ctx.a == 'x'", "ctx.a not in ['x', 'y']", True),
        ("ctx.a", "not ctx.a", True),
        ("ctx.a > 3", "ctx.a <= 3", True),
        ("3 < ctx.a", "ctx.a == 2", True),
        ("ctx.a or ctx.b", "not (ctx.a or ctx.b)", True),
        ("ctx.a == 'x'", "ctx.b == 'y'", False),
        ("ctx.a == 'x' or ctx.b", "ctx.a == 'y'", False),
        ("ctx.a >= 3", "ctx.a <= 3", False),
        ("ctx.a != 'x'", "ctx.a != 'y'", False),
        ("ctx.a | int == 1", "ctx.a | int == 2", False),
        ("ctx.a in ['x', 'y']", "ctx.a in ['y', 'z']", False),
        ("ctx.a == 1", "ctx.a == 1.0", False),
        ("ctx.a", "ctx.a == ''", True),
        ("not ctx.a and ctx.b", "ctx.a == 'x'", True),
        ("ctx.a[0] == 1", "ctx.a[0] == 2", False),
        ("not ctx.a and ctx.b", "ctx.a and ctx.b", True),
        ("not ctx.a == 1", "ctx.a == 1", False),
    ],
)
def test_guards_exclude_each_other_only_where_that_is_certain(one: str, other: str, answer: bool) -> None:
    said = [claims(parse("{{ " + text + " }}")) for text in (one, other)]

    assert exclude(*said) is answer
    assert exclude(*reversed(said)) is answer


def test_components_come_after_those_they_lead_to() -> None:
    successors = [[1], [2], [0, 3], [4], [4]]

    component = components(successors)

    assert component[0] == component[1] == component[2] > component[3] > component[4]
    assert sorted(cyclic_components(successors, component)) == [[0, 1, 2], [4]]
    assert shortest(successors, 0, 0) == [0, 1, 2, 0]
    assert shortest(successors, 4, 0) == []


def chain(count: int, last: str = "") -> str:
    lines = ["workflow:"]
    for number in range(count):
        target = f"s{number + 1}" if number + 1 < count else last
        arcs = f", next: {{ arcs: [{{ step: {target} }}] }}" if target else ""
        lines.append(f"  - {{ step: s{number}, tool: {{ kind: noop }}{arcs} }}")
    return "\n".join(lines) + "\n"


def test_a_chain_of_five_thousand_steps_does_not_overflow() -> None:
    net = analysed(chain(5000, last="s0"))

    assert len(net.reached) == 5000
    assert [len(cycle) for cycle in analyze.endless_cycles(net)] == [5001]


def ladder(count: int) -> str:
    """Two long branches of a fan-out with rungs between them: as many pairs of places as can be."""
    half = count // 2
    lines = ["workflow:", "  - { step: s, next: { spec: { mode: inclusive }, arcs: [{ step: a0 }, { step: b0 }] } }"]
    for number in range(half - 1):
        for side, over in (("a", "b"), ("b", "a")):
            arcs = f'{{ step: {over}{number + 1}, when: "{{{{ ctx.x }}}}" }}, {{ step: {side}{number + 1} }}'
            lines.append(f"  - {{ step: {side}{number}, tool: {{ kind: noop }}, next: {{ arcs: [{arcs}] }} }}")
    lines += [f"  - {{ step: {side}{half - 1}, tool: {{ kind: noop }} }}" for side in "ab"]
    return "\n".join(lines) + "\n"


def test_five_hundred_steps_are_analysed_in_a_fifth_of_a_second() -> None:
    draft = Front().check(ladder(500)).drafts[0]
    draft.prepared.clear()

    started = time.process_time()
    net = net_of(draft)
    assert net is not None
    facts = analyze.unreachable, analyze.endless_cycles, analyze.multiplying_fans, analyze.stuck_joins
    for fact in facts:
        assert list(fact(net)) == []
    assert analyze.tokens_of(net).meetings
    spent = time.process_time() - started

    assert spent < 0.6  # a fifth on a quiet machine; a busy one gets three times as long


@pytest.mark.parametrize(
    "body",
    [
        "workflow: 3\n",
        "workflow: []\n",
        "workflow: [3, {step: a}]\n",
        "workflow: [{step: a}, {step: a}]\n",
        "workflow: [{step: a, next: {arcs: [{step: b}]}}]\n",
        "workflow: [{step: a, next: [b]}, {step: b}]\n",
        "workflow: [{step: a, next: {arcs: [{step: b, wehn: x}]}}, {step: b}]\n",
        "workflow: [{step: a, next: {spec: {mode: inclusiv}, arcs: [{step: b}]}}, {step: b}]\n",
        "executor: {spec: {entry_step: c}}\nworkflow: [{step: a}]\n",
    ],
)
def test_a_workflow_that_is_not_in_order_has_no_net(body: str) -> None:
    drafts = Front().check(body).drafts

    assert [net_of(draft) for draft in drafts] == [None]


def tangle(steps: int) -> str:
    """Every step sends tokens to three others."""
    chance = random.Random(1)
    lines = ["workflow:"]
    for number in range(steps):
        ends = ", ".join(f"{{ step: s{chance.randrange(steps)} }}" for _ in range(3))
        lines.append(f"  - {{ step: s{number}, next: {{ spec: {{ mode: inclusive }}, arcs: [{ends}] }} }}")
    return "\n".join(lines) + "\n"


@pytest.mark.spec("RT-10")
def test_fans_that_multiply_are_found_in_linear_time() -> None:
    net = net_of(Front().check(tangle(3000)).drafts[0])
    assert net is not None
    net.tokens = None

    started = time.process_time()
    found = list(analyze.multiplying_fans(net))
    assert analyze.multiplying(net) is analyze.multiplying(net)
    spent = time.process_time() - started

    assert len(found) > 2000
    assert len([fan for fan, one, other in found if one and other]) == analyze.FANS_SHOWN_MAX
    assert spent < 1  # a quarter on a quiet machine; it was five, two searches of the net for each fan


def test_orphans_that_lead_to_one_chain_are_found_in_linear_time() -> None:
    count = 2000
    lines = ["workflow:", "  - { step: start, tool: { kind: noop } }"]
    lines += [f"  - {{ step: o{number}, next: {{ arcs: [{{ step: c0 }}] }} }}" for number in range(count)]
    lines += [f"  - {{ step: c{number}, next: {{ arcs: [{{ step: c{number + 1} }}] }} }}" for number in range(count)]
    lines += [f"  - {{ step: c{count}, tool: {{ kind: noop }} }}"]
    net = net_of(Front().check("\n".join(lines) + "\n").drafts[0])
    assert net is not None

    started = time.process_time()
    groups = list(analyze.unreachable(net))
    spent = time.process_time() - started

    assert [len(group) for group in groups] == [count + 2, *[1] * (count - 1)]
    assert spent < 0.3
