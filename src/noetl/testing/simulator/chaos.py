"""What befalls whole processes, links, clocks and the store, second by second, until the world heals.

How hard a fault strikes is one number, drawn with it, so that leaving one out leaves the others as they are: whom it
befalls and for how long both follow from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from noetl.testing.simulator.case import Configuration
from noetl.testing.simulator.nodes import Node
from noetl.testing.simulator.tape import Tape

TICK_SECONDS = 0.5
PAUSE_SECONDS = (1.0, 5.0, 35.0, 90.0)
DOWN_SECONDS_MAX = 8.0
RESTART_SECONDS_MAX = 8.0
JUMP_SECONDS_MAX = 3600.0
REWOUND_MAX = 4
OWN_STREAMS = {"store.cut": "cut", "store.stays_full": "full"}  # so that they shift none of the others
Some = TypeVar("Some")


class Victims(Protocol):
    """What a world offers to harm."""

    tape: Tape
    configuration: Configuration

    def processes(self, kind: str) -> Sequence[Node]:
        """Those of a kind that run now, in an order that does not change."""
        ...

    def kill(self, node: Node) -> None: ...

    def restart_later(self, node: Node, seconds: float) -> None: ...

    def pause(self, node: Node, seconds: float) -> None: ...

    def part(self, nodes: Sequence[Node], seconds: float) -> None:
        """They do not hear each other, or, if it is one, nobody."""
        ...

    def clog(self, node: Node, seconds: float) -> None: ...

    def stop_network(self, seconds: float) -> None: ...

    def stop_store(self, seconds: float) -> None: ...

    def cut_store(self, node: Node, seconds: float) -> None:
        """One process has it no more, while others do."""
        ...

    def fill_store(self, seconds: float) -> None:
        """Its disk is full."""
        ...

    def rewind(self, transactions: int) -> None: ...

    def jump_clock(self, node: Node, seconds: float) -> None: ...

    def sweep_results(self) -> None: ...

    def lose_snapshot(self, hard: float) -> None: ...


class Chaos:
    """See above."""

    def __init__(self, world: Victims) -> None:
        self.world = world
        self.deeds: dict[str, Callable[[float], None]] = {
            "server.kill": lambda hard: self._kill("server", hard),
            "worker.kill": lambda hard: self._kill("worker", hard),
            "server.pause": lambda hard: self._pause("server", hard),
            "worker.pause": lambda hard: self._pause("worker", hard),
            "net.partition": self._part,
            "net.clog": self._clog,
            "net.down": lambda hard: world.stop_network(DOWN_SECONDS_MAX * hard),
            "store.down": lambda hard: world.stop_store(DOWN_SECONDS_MAX * hard),
            "store.cut": self._cut,
            "store.stays_full": lambda hard: world.fill_store(DOWN_SECONDS_MAX * hard),
            "store.rewind": lambda hard: world.rewind(1 + int(hard * REWOUND_MAX)),
            "clock.jump": self._jump,
            "results.swept": lambda _hard: world.sweep_results(),
            "snapshot.lost": world.lose_snapshot,
        }

    async def run(self) -> None:
        """Until the world has healed."""
        tape, rates = self.world.tape, self.world.configuration.rates
        while not tape.is_calm:
            await asyncio.sleep(TICK_SECONDS)
            for kind, deed in self.deeds.items():
                hard = tape.strike(OWN_STREAMS.get(kind, "crash"), rates.get(kind, 0.0) * TICK_SECONDS, kind)
                if hard is not None:
                    deed(hard)

    def _kill(self, kind: str, hard: float) -> None:
        nodes = self.world.processes(kind)
        if nodes:
            node, rest = chosen(nodes, hard)
            self.world.kill(node)
            self.world.restart_later(node, RESTART_SECONDS_MAX * rest)

    def _pause(self, kind: str, hard: float) -> None:
        nodes = self.world.processes(kind)
        if nodes:
            node, rest = chosen(nodes, hard)
            self.world.pause(node, PAUSE_SECONDS[int(rest * len(PAUSE_SECONDS))])

    def _cut(self, hard: float) -> None:
        nodes = self.world.processes("server")
        if nodes:
            node, rest = chosen(nodes, hard)
            self.world.cut_store(node, DOWN_SECONDS_MAX * rest)

    def _part(self, hard: float) -> None:
        nodes = [*self.world.processes("server"), *self.world.processes("worker")]
        if nodes:
            node, rest = chosen(nodes, hard)
            other, rest = chosen(nodes, rest)
            both = [node] if other is node else [node, other]
            self.world.part(both, DOWN_SECONDS_MAX * rest)

    def _clog(self, hard: float) -> None:
        nodes = [*self.world.processes("server"), *self.world.processes("worker")]
        if nodes:
            node, rest = chosen(nodes, hard)
            self.world.clog(node, DOWN_SECONDS_MAX * rest)

    def _jump(self, hard: float) -> None:
        nodes = [*self.world.processes("server"), *self.world.processes("worker")]
        if nodes:
            node, rest = chosen(nodes, hard)
            self.world.jump_clock(node, JUMP_SECONDS_MAX * (2 * rest - 1))


def chosen(among: Sequence[Some], hard: float) -> tuple[Some, float]:
    """One of several, and what is left of the number that chose it: again from 0 to 1."""
    scaled = hard * len(among)
    place = min(int(scaled), len(among) - 1)
    return among[place], min(scaled - place, 0.999999)
