"""The simulator's event loop: virtual time, nodes that die without a last word, pauses, and runs that repeat."""

import asyncio

import pytest

from noetl.testing.simulator.loop import SimLoop, Stuck
from noetl.testing.simulator.node_clocks import BEGINNING, NodeClock
from noetl.testing.simulator.nodes import Node
from noetl.testing.simulator.tape import Tape


@pytest.fixture
def loop():
    made = SimLoop(Tape(1).stream("sched"))
    yield made
    made.end()


def test_an_hour_passes_at_once_and_in_the_order_of_the_timers(loop: SimLoop):
    seen: list[tuple[float, str]] = []

    async def wait(seconds: float, word: str) -> None:
        await asyncio.sleep(seconds)
        seen.append((loop.time(), word))

    node = Node(loop, "one")
    tasks = [node.run(wait(3600, "late")), node.run(wait(1, "early"))]
    loop.run_until(lambda: all(task.done() for task in tasks))

    assert seen == [(1.0, "early"), (3600.0, "late")]


def test_a_killed_node_does_nothing_more_not_even_what_finally_would(loop: SimLoop):
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
            seen.append("done")
        finally:
            seen.append("finally")

    victim, other = Node(loop, "victim"), Node(loop, "other")
    victim.run(work())
    other.later(5.0, victim.kill)
    rest = other.run(asyncio.sleep(100))
    loop.run_until(rest.done)

    assert seen == []


def test_a_paused_node_does_what_came_due_when_it_goes_on(loop: SimLoop):
    seen: list[float] = []

    async def work() -> None:
        await asyncio.sleep(1)
        seen.append(loop.time())

    node, other = Node(loop, "paused"), Node(loop, "other")
    task = node.run(work())
    other.later(0.5, node.pause)
    other.later(30.0, node.go_on)
    loop.run_until(task.done)

    assert seen == [30.0]


def test_who_goes_first_among_nodes_is_drawn_and_repeats_with_its_seed():
    def order(seed: int) -> list[str]:
        loop = SimLoop(Tape(seed).stream("sched"))
        seen: list[str] = []
        for name in "abcdefgh":
            Node(loop, name).later(1.0, seen.append, name)
        loop.run_until(lambda: len(seen) == 8)
        loop.end()
        return seen

    orders = [order(seed) for seed in range(20)]

    assert orders == [order(seed) for seed in range(20)]
    assert len({tuple(one) for one in orders}) > 10


def test_what_asks_for_a_thread_is_answered_at_once(loop: SimLoop):
    node = Node(loop, "one")

    async def work() -> int:
        return await asyncio.to_thread(lambda: 7)

    task = node.run(work())
    loop.run_until(task.done)

    assert task.result() == 7
    assert loop.time() == 0.0


def test_a_world_in_which_nothing_can_happen_any_more_is_stuck(loop: SimLoop):
    node = Node(loop, "one")
    task = node.run(asyncio.Event().wait())

    with pytest.raises(Stuck):
        loop.run_until(task.done)


def test_a_clock_of_a_node_runs_at_its_own_rate_and_may_jump(loop: SimLoop):
    clock = NodeClock(loop, offset_seconds=10.0, rate=2.0)
    node = Node(loop, "fast")

    async def work() -> float:
        await clock.sleep(8.0)
        return clock.monotonic()

    task = node.run(work())
    loop.run_until(task.done)
    clock.offset_seconds += 3600.0

    assert (loop.time(), task.result()) == (4.0, 8.0)
    assert clock.now() == BEGINNING + 8.0 + 3610.0


def test_a_fault_that_is_left_out_moves_no_other_of_another_stream():
    def struck(only: frozenset[tuple[str, int]] | None) -> list[tuple[str, int]]:
        tape = Tape(5, only)
        for _ in range(200):
            tape.strike("net", 0.1, "net.drop")
            tape.strike("store", 0.1, "store.slow")
        return [one.identity for one in tape.strikes]

    everything = struck(None)
    kept = frozenset(everything[1:])

    assert set(struck(kept)) == kept
    assert everything[0] not in struck(kept)


def test_a_calm_tape_strikes_no_more():
    tape = Tape(5)
    tape.is_calm = True

    struck = [tape.strike("net", 0.9, "net.drop") for _ in range(100)]

    assert struck == [None] * 100
