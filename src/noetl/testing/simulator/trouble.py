"""What goes wrong in one world, message by message and statement by statement: drawn from its tape, by its rates.

Each method is asked by a simulated part at the place where the fault would strike, and answers what happens there. What
befalls whole processes, links or the store is in `chaos.py`. Once a world has healed, nothing strikes any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from zlib import crc32

from noetl.buggify import POINTS
from noetl.errors import DiskFull, Unreachable
from noetl.testing.simulator.case import Configuration
from noetl.testing.simulator.nodes import NODE, Node
from noetl.testing.simulator.tape import Tape
from noetl.testing.simulator.tools import CRASH, HANG
from noetl.tools.contract import Call

LATENCY_SECONDS = 0.004
STATEMENT_SECONDS = 0.003
SLOW_SECONDS_MAX = 60.0
ANSWER_SECONDS_MAX = 35.0  # then a client gives a statement up
DELAY_SECONDS_MAX = 2.0
NOTICE_SECONDS_MAX = 3.0  # until the message server knows that a process is dead
LONG_DELAY_SECONDS = (10.0, 90.0)
POINTS_ON = 0.25  # the share of buggify points that a seed has on
SELDOM = frozenset({"follow.slow", "doorbell.silent", "handout.none"})  # points that are seldom passed: nearly always
SURE = 0.9
LATE = frozenset({"follow.slow"})  # these fire when everything else is well again, too
MOMENTS = frozenset(point.name for point in POINTS if point.is_moment)  # at these a process may die


class Trouble:
    """See above. `kill` ends a node, at once."""

    def __init__(self, tape: Tape, configuration: Configuration, kill: Callable[[Node], None]) -> None:
        self.tape = tape
        self.rates = configuration.rates
        self.poison = configuration.poison
        self.kill = kill
        self.is_store_down = False
        self.is_disk_full = False
        self.storeless: set[str] = set()  # processes that have no way to the store
        self.cuts: set[frozenset[str]] = set()  # pairs of nodes that do not hear each other; one name: from everybody
        self.points: dict[str, int] = {}  # buggify points that fired, and how often
        self._enabled: dict[str, bool] = {}
        self._latency = tape.stream("latency")

    def _strike(self, stream: str, kind: str) -> float | None:
        return self.tape.strike(stream, self.rates.get(kind, 0.0), kind)

    # --- messages (network) ------------------------------------------------------------------------------------------

    def drop(self, sender: str, receiver: str) -> bool:
        return self._strike("net", "net.drop") is not None

    def duplicate(self, sender: str, receiver: str) -> bool:
        return self._strike("net", "net.duplicate") is not None

    def delay_seconds(self, sender: str, receiver: str) -> float:
        usual = LATENCY_SECONDS * (0.05 + self._latency.random())
        hard = self._strike("net", "net.long_delay")
        if hard is not None:
            low, high = LONG_DELAY_SECONDS
            return low + hard * (high - low)
        hard = self._strike("net", "net.delay")
        return usual if hard is None else usual + hard * DELAY_SECONDS_MAX

    def is_cut(self, one: str, other: str) -> bool:
        cuts = self.cuts
        return bool(cuts) and (
            frozenset((one, other)) in cuts or frozenset((one,)) in cuts or frozenset((other,)) in cuts
        )

    def is_swizzled(self, name: str) -> bool:
        return self._latency.chance(0.5)

    def notice_seconds(self, name: str) -> float:
        return NOTICE_SECONDS_MAX * self._latency.random()

    def random(self) -> float:
        return self._latency.random()

    # --- statements (database) ---------------------------------------------------------------------------------------

    async def statement(self, node: str, call: str, phase: str) -> None:
        """Around every statement: `before` it is done, and `after`."""
        if phase == "before":
            await asyncio.sleep(STATEMENT_SECONDS * (0.05 + self._latency.random()))
            if self.is_store_down or node in self.storeless:
                raise Unreachable("the store is down")
            hard = self._strike("store", "store.slow")
            if hard is not None:
                await self._slowly(SLOW_SECONDS_MAX * hard**4)
            if self._strike("store", "store.statement_fails") is not None:
                raise Unreachable(f"a fault of the world, before {call}")
            if call == "commit" and self._is_full():
                raise DiskFull("the store")
        elif self.is_store_down or node in self.storeless or self._strike("store", "store.answer_lost") is not None:
            raise Unreachable(f"a fault of the world, after {call}")

    async def _slowly(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, ANSWER_SECONDS_MAX))
        if seconds > ANSWER_SECONDS_MAX:
            raise Unreachable("the store did not answer in time")

    async def disk(self, node: str, call: str, phase: str) -> None:
        """Around every call of a store that one process has to itself: it is near, and a full disk is what it fails by.
        A commit of which nobody knows whether it stands ends the process: see `server.kill_at_step`."""
        if phase == "before" and call == "commit":
            hard = self._strike("store", "store.slow")
            if hard is not None:
                await asyncio.sleep(SLOW_SECONDS_MAX * hard**4)
            if self._is_full():
                raise DiskFull("the disk")
            await asyncio.sleep(STATEMENT_SECONDS * self._latency.random())

    def _is_full(self) -> bool:
        """For this commit, or for a while."""
        return self._strike("store", "store.disk_full") is not None or self.is_disk_full

    # --- result stores (results.py) ----------------------------------------------------------------------------------

    def result(self, node: str, what: str) -> str | None:
        """`put` or `get`: None, or what goes wrong."""
        kind = "results.put_fails" if what == "put" else "results.get_fails"
        hard = self._strike("results", kind)
        if hard is not None:
            return "fail" if what == "get" or hard < 0.5 else "lost_answer"
        if what == "get" and self._strike("results", "results.wrong_bytes") is not None:
            return "wrong_bytes"
        return None

    # --- our own code ------------------------------------------------------------------------------------------------

    def point(self, name: str) -> bool:
        """A buggify point is passed: whether it does the unusual thing. At some the process dies instead."""
        if self.tape.is_calm:
            return name in LATE and self._is_late(name)
        if name in MOMENTS:
            self._moment(name)
            return False
        is_on = self._enabled.get(name)
        if is_on is None:
            is_on = self._enabled[name] = self.tape.stream("points").chance(POINTS_ON)
        rate = self.rates.get("buggify", 0.0)
        if not is_on or self.tape.strike("buggify", SURE if rate and name in SELDOM else rate, "buggify") is None:
            return False
        self.points[name] = self.points.get(name, 0) + 1
        return True

    def _is_late(self, name: str) -> bool:
        """What follows is mostly asked for when the world has healed; that it is slow then does no harm either."""
        is_late = bool(self.rates.get("buggify")) and self.tape.stream("late").chance(POINTS_ON)
        self.points[name] = self.points.get(name, 0) + is_late
        return is_late

    def _moment(self, name: str) -> None:
        if self._strike("crash", "server.kill_at_step") is None:
            return
        self.points[name] = self.points.get(name, 0) + 1
        node = NODE.get(None)
        if node is not None:
            self.kill(node)

    def is_decision_broken(self) -> bool:
        return self._strike("engine", "engine.raises") is not None

    def tool(self, node: Node, is_done: bool) -> str | None:
        """A tool is about to run, or has had its effect: None, `hang`, or `crash` of its worker."""
        if self._strike("tools", "worker.kill_at_tool") is not None:
            self.kill(node)
            return CRASH
        return HANG if not is_done and self._strike("tools", "tool.hangs") is not None else None

    def is_poisoned(self, label: str) -> bool:
        """Some tasks kill whoever runs them, also when the world has healed: they must be given up one day."""
        return self.poison > 0 and crc32(label.encode()) % (2 * self.poison) == 0


class ToolTrouble:
    """What befalls the tools of one process (`tools.ToolFaults`)."""

    def __init__(self, trouble: Trouble, node: Node) -> None:
        self._trouble = trouble
        self._node = node

    def before(self, call: Call) -> str | None:
        if self._trouble.is_poisoned(call.task):
            self._trouble.kill(self._node)
            return CRASH
        return self._trouble.tool(self._node, is_done=False)

    def after(self, call: Call) -> str | None:
        return self._trouble.tool(self._node, is_done=True)
