"""Server and worker in one process under one seed, over one disk: the queue is rebuilt from the log at every start.

A process is a server, which goes on when its disk does not take a batch, or one run of the command line, which ends
then and is started again. Either way it takes up everything that had not ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from noetl.config import Settings
from noetl.control.desk import Desk
from noetl.control.requests import Nobody
from noetl.embedded import Embedded
from noetl.errors import PASSING, Unreachable
from noetl.stores.contract import Batch, Execution, Store
from noetl.stores.shared import QueueChanges
from noetl.testing.simulator.case import Case, Violation
from noetl.testing.simulator.checks.states import Cached
from noetl.testing.simulator.checks.view import DiskView, View
from noetl.testing.simulator.database.database import Committed
from noetl.testing.simulator.disk import Disk, OpenDisk
from noetl.testing.simulator.network.network import Network
from noetl.testing.simulator.node_clocks import NodeClock
from noetl.testing.simulator.nodes import Node
from noetl.testing.simulator.playbooks.plans import Family
from noetl.testing.simulator.world import World

KILLED_SECONDS = 3.0  # until somebody starts it again
NOWHERE = Path("/nonexistent")
Answer = TypeVar("Answer")


class Life:
    """One life of the process."""

    def __init__(self, world: EmbeddedWorld, number: int) -> None:
        self.world = world
        self.number = number
        self.node = Node(world.loop, f"process.{number}", "server")
        self.clock = world.clock  # the machine's
        self.parts: Embedded | None = None
        self.is_up = False

    async def live(self) -> None:
        world = self.world
        store = OpenDisk(world.disk, self.node, world.trouble.disk)
        parts = Embedded(
            world.settings(),
            store,
            Nobody(),
            self.clock,
            world.kinds_of(self.node),
            results=world.results_of(self.node),
            keychain=world.keychain(),
            chance=world.chance_of(self.node.name),
            name=self.node.name,
            is_lasting=world.configuration.is_lasting,
        )
        parts.on_failure = self._failed
        self.parts = await parts.__aenter__()
        try:
            await parts.take_up_all()
        except PASSING as error:
            self._failed(error)
            return
        parts.work()
        self.is_up = True

    def _failed(self, error: BaseException) -> None:
        """A part of it died: the process ends. Of a server that is a fault of ours, unless its disk failed."""
        if self.node.is_alive:
            self.world.process_failed(self, error)


class EmbeddedWorld(World):
    """See above."""

    def __init__(self, case: Case, *, is_traced: bool = False, family: Family | None = None) -> None:
        super().__init__(case, is_traced=is_traced, family=family)
        self.disk = Disk()
        self.disk.on_commit = self._committed
        self.line = Network(self.trouble, Node(self.loop, "nats")).line(self.outside)
        self.clock = self.clock_of("machine")
        self.life: Life = Life(self, 1)

    def settings(self) -> Settings:
        return Settings(home=NOWHERE, store_url="sqlite:////nonexistent/noetl.db", slots=self.configuration.slots)

    async def prepare(self) -> None:
        await self.register_all(self.disk, NodeClock(self.loop))
        self._begin(self.life)

    def _begin(self, life: Life) -> None:
        self.life = life
        self.note(f"{life.node.name} begins")
        self.names.append(life.node.name)
        self.go(life.live(), life.node)

    def processes(self, kind: str) -> Sequence[Node]:
        return [self.life.node] if kind == "server" and self.life.node.may_run and self.life.is_up else []

    def kill(self, node: Node) -> None:
        if node is not self.life.node or not node.is_alive:
            return
        self.note(f"{node.name} is killed")
        node.kill()
        self.killed[node.name] = self.loop.time()
        self.restart_later(node, KILLED_SECONDS)

    def process_failed(self, life: Life, error: BaseException) -> None:
        """It ended by itself, as one run of the command line does when its disk fails."""
        if not isinstance(error, PASSING):
            raise Violation("process", f"a part of the process died: {error!r}") from error
        self.note(f"{life.node.name} ends: {error}")
        self.kill(life.node)

    def restart_later(self, node: Node, seconds: float) -> None:
        self.outside.later(seconds, self._restart, self.life)

    def _restart(self, life: Life) -> None:
        if self.life is life and not life.node.is_alive:
            self._begin(Life(self, life.number + 1))

    def pause(self, node: Node, seconds: float) -> None:
        self.note(f"{node.name} stands still for {seconds:g} s")
        node.pause()
        self.disturbances += 1
        self.cut_off.add(node.name)
        self.outside.later(seconds, node.go_on)

    def jump_clock(self, node: Node, seconds: float) -> None:
        self.note(f"the clock of {node.name} jumps by {seconds:.0f} s")
        self.clock.offset_seconds += seconds
        self.jumped_seconds += abs(seconds)

    def lose_snapshot(self, hard: float) -> None:
        self.disk.lose_snapshot(hard)

    def _committed(self, node_name: str, batch: Batch) -> None:
        self.committed(
            Committed(
                number=0,
                node=node_name,
                batch=batch,
                tag=0,
                words={},
                changes=QueueChanges(),
                fences=(),
                expiries=(),
                revoked=(),
            )
        )

    def heal(self) -> None:
        self.note("the world heals")
        self.tape.is_calm = True
        self.trouble.is_disk_full = False
        self.life.node.go_on()
        self._restart(self.life)

    def view(self) -> View:
        parts = self.life.parts
        is_settled = self.life.is_up and self.life.node.is_alive and parts is not None and parts.intake.is_idle
        return DiskView(self.disk, self.bucket, parts.queue if is_settled and parts is not None else None)

    def plain_store(self) -> Store:
        return self.disk

    def caches(self) -> Iterator[tuple[str, Iterable[Cached]]]:
        parts = self.life.parts
        if parts is not None and self.life.node.is_alive and not parts.intake.turn.locked():
            yield self.life.node.name, list(parts.executions)

    def rows(self) -> Iterable[Execution]:
        return self.disk.rows

    async def ask(self, do: Callable[[Desk], Awaitable[Answer]]) -> Answer:
        life = self.life
        if not life.is_up or not life.node.is_alive or life.parts is None:
            raise Unreachable("no process is there")
        desk = life.parts.desk
        return await self.line.call(life.node, lambda: do(desk))
