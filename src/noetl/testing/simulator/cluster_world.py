"""A cluster under one seed: one to four servers and up to six workers over one database and one message server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from noetl.control.desk import Desk
from noetl.engine.commands import Key
from noetl.errors import Unreachable
from noetl.identity.tokens import Grant, Tokens
from noetl.stores.contract import Execution, Store
from noetl.testing.simulator.case import Case
from noetl.testing.simulator.checks.states import Cached
from noetl.testing.simulator.checks.view import DatabaseView, View
from noetl.testing.simulator.cluster_processes import Process, ServerProcess, WorkerProcess
from noetl.testing.simulator.database.database import Database
from noetl.testing.simulator.network.network import Network
from noetl.testing.simulator.node_clocks import NodeClock
from noetl.testing.simulator.nodes import Node
from noetl.testing.simulator.playbooks.plans import Family
from noetl.testing.simulator.world import World

KILLED_SECONDS = 3.0  # until whoever watches over processes starts another one
Answer = TypeVar("Answer")


class ClusterWorld(World):
    """See above."""

    def __init__(self, case: Case, *, is_traced: bool = False, family: Family | None = None) -> None:
        super().__init__(case, is_traced=is_traced, family=family)
        self.database = Database(NodeClock(self.loop), context=Node(self.loop, "database").context)
        self.database.line = self.trouble.statement
        self.database.on_commit = self.committed
        self.database.on_lease = self._leased
        self.database.on_extend = self.checks.extended
        self.database.on_release = self.checks.released
        self.network = Network(self.trouble, Node(self.loop, "nats"))
        self.line = self.network.line(self.outside)
        self.running: dict[tuple[str, int], Process] = {}
        self.worker_token = ""

    # --- its processes -----------------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """What is there before anything goes wrong: a token for workers, the playbooks that others call, processes."""
        store = self.database.client("setup")
        self.database.line = nothing_wrong
        chance = self.chance_of("setup")
        clock = NodeClock(self.loop)
        self.worker_token = (
            await Tokens(store, clock, chance.new_secret).create(Grant(role="worker"), by="set-up")
        ).token
        await self.register_all(store, clock)
        self.database.tables.settle()
        self.database.line = self.trouble.statement
        for number in range(self.configuration.servers):
            self._begin(ServerProcess(self, "server", number, 1))
        for number in range(max(self.configuration.workers, len(self.pools))):
            self._begin(WorkerProcess(self, "worker", number, 1))

    def _begin(self, process: Process) -> None:
        self.running[process.kind, process.number] = process
        self.note(f"{process.node.name} begins")
        self.names.append(process.node.name)
        process.begin()

    def _process(self, node: Node) -> Process | None:
        return next((one for one in self.running.values() if one.node is node), None)

    def processes(self, kind: str) -> Sequence[Node]:
        return [one.node for one in self.running.values() if one.kind == kind and one.node.may_run and one.is_up]

    def kill(self, node: Node) -> None:
        process = self._process(node)
        if process is None or not node.is_alive:
            return
        self.note(f"{node.name} is killed")
        node.kill()
        self.database.drop(node.name)
        self.network.killed(node)
        self.killed[node.name] = self.loop.time()
        self.disturbances += node.kind == "server"
        self.restart_later(node, KILLED_SECONDS)

    def restart_later(self, node: Node, seconds: float) -> None:
        process = self._process(node)
        if process is not None:
            self.outside.later(seconds, self._restart, process)

    def _restart(self, process: Process) -> None:
        if self.running.get((process.kind, process.number)) is process and not process.node.is_alive:
            self._begin(type(process)(self, process.kind, process.number, process.life + 1))

    def pause(self, node: Node, seconds: float) -> None:
        self.note(f"{node.name} stands still for {seconds:g} s")
        node.pause()
        self.disturbances += 1
        self.cut_off.add(node.name)
        self.outside.later(seconds, node.go_on)

    def jump_clock(self, node: Node, seconds: float) -> None:
        process = self._process(node)
        if process is not None:
            self.note(f"the clock of {node.name} jumps by {seconds:.0f} s")
            process.clock.offset_seconds += seconds

    # --- the network -------------------------------------------------------------------------------------------------

    def part(self, nodes: Sequence[Node], seconds: float) -> None:
        cut = frozenset(node.name for node in nodes) if len(nodes) > 1 else frozenset((nodes[0].name, "nats"))
        self.note(f"{' and '.join(sorted(cut))} are parted for {seconds:.1f} s")
        self.trouble.cuts.add(cut)
        self.disturbances += 1
        self.outside.later(seconds, self.trouble.cuts.discard, cut)

    def clog(self, node: Node, seconds: float) -> None:
        self.note(f"{node.name} is clogged for {seconds:.1f} s")
        self.network.carriage.clog(node.name)
        self.outside.later(seconds, self.network.carriage.unclog, node.name)

    def stop_network(self, seconds: float) -> None:
        self.note(f"NATS is down for {seconds:.1f} s")
        self.network.stop()
        self.disturbances += 1
        self.outside.later(seconds, self.network.start)

    # --- the store ---------------------------------------------------------------------------------------------------

    def stop_store(self, seconds: float) -> None:
        self.note(f"the store is down for {seconds:.1f} s")
        self.trouble.is_store_down = True
        self.database.stop()
        self.disturbances += 1
        self.outside.later(seconds, self._start_store)

    def _start_store(self) -> None:
        self.trouble.is_store_down = False

    def cut_store(self, node: Node, seconds: float) -> None:
        self.note(f"{node.name} has no way to the store for {seconds:.1f} s")
        self.trouble.storeless.add(node.name)
        self.database.drop(node.name)
        self.disturbances += 1
        self.outside.later(seconds, self.trouble.storeless.discard, node.name)

    def rewind(self, transactions: int) -> None:
        """As when a standby takes over that had not heard of the last transactions yet."""
        self.note(f"the store goes back by {transactions} transactions")
        self.database.rewind(transactions)
        self.checks.rewound()
        self.disturbances += 1

    def lose_snapshot(self, hard: float) -> None:
        snapshots = self.database.tables.snapshots
        if snapshots:
            keys = list(snapshots)
            del snapshots[keys[int(hard * len(keys)) % len(keys)]]

    # --- the whole ---------------------------------------------------------------------------------------------------

    def heal(self) -> None:
        self.note("the world heals")
        self.tape.is_calm = True
        self.trouble.cuts.clear()
        self.trouble.storeless.clear()
        self.trouble.is_disk_full = False
        self._start_store()
        self.network.start()
        for process in list(self.running.values()):
            self.network.carriage.unclog(process.node.name)
            process.node.go_on()
            self._restart(process)

    def _leased(self, key: Key, lease: int, worker: str) -> None:
        self.watched(lambda: self.checks.leased(key, lease, worker))

    def view(self) -> View:
        return DatabaseView(self.database.tables, self.bucket)

    def plain_store(self) -> Store:
        return self.database.client("outside")

    def caches(self) -> Iterator[tuple[str, Iterable[Cached]]]:
        for process in self.running.values():
            if isinstance(process, ServerProcess) and process.is_up and process.node.is_alive:
                yield process.node.name, process.settled_executions()

    def rows(self) -> Iterable[Execution]:
        return [row.execution for row in self.database.tables.executions.values()]

    async def ask(self, do: Callable[[Desk], Awaitable[Answer]]) -> Answer:
        servers = [one for one in self.running.values() if isinstance(one, ServerProcess) and one.is_up]
        servers = [one for one in servers if one.node.is_alive]
        if not servers:
            raise Unreachable("no server is there")
        chosen = self.tape.stream("users").pick(servers)
        return await self.line.call(chosen.node, lambda: do(chosen.server.desk))


async def nothing_wrong(_node: str, _call: str, _phase: str) -> None:
    """No fault, no delay."""
