"""Parts of a simulated world in which nothing goes wrong unless a test says so."""

import asyncio
import random

from noetl.testing.simulator.loop import SimLoop
from noetl.testing.simulator.nodes import Node
from noetl.testing.simulator.tape import Stream

LATENCY_SECONDS = 0.001


class Wire:
    """The faults of messages, as a test sets them."""

    def __init__(self):
        self.drops = []  # (sender, receiver) whose next message is lost, each once
        self.doubles = []  # as above, doubled
        self.delays = {}  # (sender, receiver) → seconds, in place of the usual
        self.cuts = []
        self.swizzles = False
        self.noticed_after_seconds = 0.0
        self.random = random.Random(7).random

    def drop(self, sender, receiver):
        return taken(self.drops, (sender, receiver))

    def duplicate(self, sender, receiver):
        return taken(self.doubles, (sender, receiver))

    def delay_seconds(self, sender, receiver):
        return self.delays.get((sender, receiver), LATENCY_SECONDS)

    def is_swizzled(self, name):
        return self.swizzles

    def notice_seconds(self, name):
        return self.noticed_after_seconds

    def is_cut(self, one, other):
        return {one, other} in self.cuts


def taken(pairs, pair):
    if pair in pairs:
        pairs.remove(pair)
        return True
    return False


class AsyncioNode:
    """A node on the ordinary event loop."""

    is_alive = True

    def __init__(self, name):
        self.name = name

    def later(self, seconds, call, *given):
        return asyncio.get_running_loop().call_later(seconds, call, *given)


def simulated(play):
    """What a coroutine function gives that is handed a way to make nodes, on a loop with a time of its own."""
    loop = SimLoop(Stream(1, "sched"))
    task = Node(loop, "test").run(play(lambda name: Node(loop, name)))
    try:
        loop.run_until(task.done)
        return task.result()
    finally:
        loop.end()
