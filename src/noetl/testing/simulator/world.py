"""One seed, from its configuration to a verdict: what embedded and cluster worlds share.

    verdict = run(Case(seed=7))

A world is built, its users begin, and faults strike for a drawn time. Then it heals: nothing strikes any more, what was
down comes up, and everything must end. Safety is checked all along, liveness only after that.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from noetl.buggify import POINTS
from noetl.chance import Chance
from noetl.control import catalog as catalogs
from noetl.control.catalog import Catalog, Text
from noetl.control.desk import Desk
from noetl.engine import events as facts
from noetl.engine.events import name_of
from noetl.errors import PASSING, Unreachable
from noetl.stores.contract import INCIDENT, LIVE, Execution, Store
from noetl.testing.simulator.case import CLUSTER, RATES, Case, Configuration, Verdict, Violation, configured
from noetl.testing.simulator.chaos import Chaos
from noetl.testing.simulator.checks.checks import Checks
from noetl.testing.simulator.checks.states import Cached
from noetl.testing.simulator.checks.view import View
from noetl.testing.simulator.coverage import Coverage
from noetl.testing.simulator.database.database import Committed
from noetl.testing.simulator.judgement import compare_with_references, ordeal_of
from noetl.testing.simulator.keychain import SimKeychain, canary_entries
from noetl.testing.simulator.ledger import Ledger
from noetl.testing.simulator.loop import SimLoop, Stuck
from noetl.testing.simulator.node_clocks import NodeClock
from noetl.testing.simulator.nodes import NODE, Node
from noetl.testing.simulator.playbooks.drawing import generated
from noetl.testing.simulator.playbooks.plans import Family
from noetl.testing.simulator.results import Bucket, SimResults
from noetl.testing.simulator.tape import Tape
from noetl.testing.simulator.tools import ScriptedKinds
from noetl.testing.simulator.trouble import ToolTrouble, Trouble
from noetl.testing.simulator.users import Users, Wish

LOOK_SECONDS = 1.0
LOOKS_PER_CHECK = 5
ON_CALL_LOOKS = 20  # so many looks after the healing somebody takes up what waits as an incident, and again
REPAIRED_LOOKS = 400  # by then somebody has repaired what killed whoever ran it
HEALED_SECONDS_MAX = 1200.0  # by then everything must have ended
TURNS_MAX = 3_000_000
CANARIES = 3
SWEPT_AFTER_SECONDS = 300.0
GOING_WRONG = (facts.WorkflowFailing, facts.WorkflowCompensating)
EXPECTED = {"faults": tuple(RATES), "points": tuple(point.name for point in POINTS)}
Answer = TypeVar("Answer")


class World:
    """See above."""

    def __init__(self, case: Case, *, is_traced: bool = False, family: Family | None = None) -> None:
        self.case = case
        self.tape = Tape(case.seed, None if case.only is None else frozenset(case.only))
        self.configuration: Configuration = configured(case, self.tape.stream("config"))
        self.loop = SimLoop(self.tape.stream("sched"))  # type: ignore[abstract]  # sockets are none of its business
        self.outside = Node(self.loop, "outside")  # users, chaos, and whoever looks: never harmed
        self.coverage = Coverage(EXPECTED)
        self.ledger = Ledger()
        self.trouble = Trouble(self.tape, self.configuration, self.kill)
        self.chaos = Chaos(self)
        self.family = family or generated(self.tape.stream("playbook"), self.configuration.size, self.pools)
        self.secrets = tuple(f"canary-{case.seed}-{number}" for number in range(CANARIES))
        self.checks = Checks(
            coverage=self.coverage,
            view=self.view,
            now=self.loop.time,
            ledger=self.ledger,
            secrets=self.secrets,
            is_shared=case.shape == CLUSTER,
            lease_seconds=self.configuration.lease_seconds,
        )
        self.users = Users(self, self.wishes())
        self.bucket = Bucket()
        self.commits = self.events = 0
        self.disturbances = 0  # what may cost a worker that lives its jobs: pauses, partings, outages, servers killed
        self.killed: dict[str, float] = {}  # processes, and when that was
        self.jumped_seconds = 0.0  # by which clocks that waits are told by were moved: waits may be so much longer
        self.planted: set[int] = set()  # executions in which a decision was made to fail
        self.texts: list[Text] = []  # of all playbooks that there are
        self.names: list[str] = []  # of all processes that there were
        self.cut_off: set[str] = set()  # of those, the ones that stood still or could not be reached for a while
        self.violation: Violation | None = None
        self.is_over = False
        self.trace: list[str] | None = [] if is_traced else None
        self._digest = hashlib.sha256()

    # --- one seed ----------------------------------------------------------------------------------------------------

    def run(self) -> Verdict:
        self.go(self._play())
        try:
            self.loop.run_until(self._is_over)
            if self.violation is None:
                self.verify()
        except Violation as found:
            self.violation = self.violation or found
        except Stuck as stuck:
            self.violation = Violation("I15", str(stuck))
        finally:
            self.loop.end()
        return self._verdict()

    def _is_over(self) -> bool:
        if self.loop.turns > TURNS_MAX:
            raise Violation("I15", f"{TURNS_MAX} turns, and no end")
        return self.is_over or self.violation is not None

    async def _play(self) -> None:
        await self.prepare()
        for part in (self.chaos.run(), *self.users.plans(), self.users.register(self.family.texts)):
            self.go(part)
        looks = 0
        while self.loop.time() < self.configuration.trouble_seconds:
            await asyncio.sleep(LOOK_SECONDS)
            looks += 1
            self._look(looks)
        self.heal()
        await self._recover(looks)
        await self.users.read_all([row.id for row in self.rows()])
        self.is_over = True

    async def _recover(self, looks: int) -> None:
        """Until everything has ended."""
        healed = 0
        while self.users.waiting or self.is_busy():
            await asyncio.sleep(LOOK_SECONDS)
            looks, healed = looks + 1, healed + 1
            self._look(looks)
            if healed == REPAIRED_LOOKS:
                self.trouble.poison = 0  # a compensation that kills its process can be neither done nor given up
            if healed % ON_CALL_LOOKS == 0:
                self._take_up_incidents()
                self._open_gates()
            if healed * LOOK_SECONDS > HEALED_SECONDS_MAX + self.jumped_seconds:
                raise Violation("I15", f"{healed * LOOK_SECONDS:g} s after the healing: {self.what_waits()}")

    def _look(self, looks: int) -> None:
        if looks % LOOKS_PER_CHECK == 0:
            self.check()

    def _take_up_incidents(self) -> None:
        for row in self.rows():
            if row.status == INCIDENT:
                self.go(self.users.settle(row.id))

    def _open_gates(self) -> None:
        """A signal may have been lost with the history it was in, or nobody sent one."""
        if self.family.main.waits_for_signal:
            for row in self.rows():
                if row.status in LIVE and row.parent_id is None:
                    self.go(self.users.open_gates(row.id))

    def is_busy(self) -> bool:
        return any(row.status in LIVE for row in self.rows())

    def what_waits(self) -> str:
        live = [f"{row.id} ({row.path}, {row.status}, head {row.head})" for row in self.rows() if row.status in LIVE]
        return f"{self.users.waiting} users wait; live: {', '.join(live) or 'none'}"

    def _verdict(self) -> Verdict:
        return Verdict(
            case=self.case,
            configuration=self.configuration,
            violation=self.violation,
            strikes=tuple(strike.identity for strike in self.tape.strikes),
            counts=self.tape.counts,
            coverage=self.covered(),
            commits=self.commits,
            events=self.events,
            turns=self.loop.turns,
            seconds=self.loop.time(),
            trace=self.trace or [],
            trace_hash=self._digest.hexdigest() if self.trace is not None else "",
        )

    def covered(self) -> dict[str, dict[str, int]]:
        for kind, count in self.tape.counts.items():
            self.coverage.count("faults", kind, count)
        for point, count in self.trouble.points.items():
            self.coverage.count("points", point, count)
        return self.coverage.counters()

    # --- of nodes ----------------------------------------------------------------------------------------------------

    def go(self, work: Coroutine[Any, Any, Any] | Awaitable[Any], node: Node | None = None) -> asyncio.Task[Any]:
        """Do something as a node; a fault of it ends the run."""
        task = (node or self.outside).run(work)  # type: ignore[arg-type]  # a coroutine
        task.add_done_callback(self._ended, context=self.outside.context)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, Violation):
            import traceback

            lines = "".join(traceback.format_exception(error)[-6:])
            error = Violation("process", f"a part of a process died: {error!r}\n{lines}")
        self.violation = self.violation or error

    def note(self, what: str) -> None:
        """Into the trace, if there is one."""
        if self.trace is None:
            return
        node = NODE.get(None)
        line = f"{self.loop.time():10.4f} {node.name if node else '-':12} {what}"
        self._digest.update(line.encode())
        self.trace.append(line)

    def clock_of(self, name: str) -> NodeClock:
        """A clock of its own for a process, as wrong as the configuration lets it be."""
        stream, configuration = self.tape.stream(f"clock/{name}"), self.configuration
        most = configuration.clock_offset_seconds_max
        rate = 2.0 ** (stream.between(-1.0, 1.0) * configuration.clock_rate_spread)
        return NodeClock(self.loop, stream.between(-most, most), rate)

    def chance_of(self, name: str) -> Chance:
        return Chance(random.Random(f"{self.case.seed}/{name}"))  # noqa: S311 - it must repeat, not surprise

    # --- what processes are given ------------------------------------------------------------------------------------

    def kinds_of(self, node: Node) -> ScriptedKinds:
        return ScriptedKinds(self.ledger, node.name, ToolTrouble(self.trouble, node))

    def results_of(self, node: Node) -> Any:
        """A process's way to the stores of results."""
        return SimResults(self.bucket, node.name, self.trouble.result)

    def keychain(self) -> Any:
        return SimKeychain(canary_entries(self.secrets))

    def wishes(self) -> list[Wish]:
        """What the users want to run: the family's main playbook, each time with another payload."""
        path, text = next(iter(self.family.texts.items()))
        is_waiting = self.family.main.waits_for_signal
        return [
            Wish(text=text, name=f"{path}.yaml", payload={"wish": number}, waits_for_signal=is_waiting)
            for number in range(self.configuration.executions)
        ]

    async def register_all(self, store: Any, clock: NodeClock) -> None:
        """They are in the catalog before anything goes wrong: a failover that loses a text, but not the start that was
        under way with it, leaves an execution that nobody can load, and that is not proved away here."""
        catalog = Catalog(store, self.kinds_of(self.outside), clock)
        for path, data in self.family.texts.items():
            text = Text(data=data, name=f"{path}.yaml")
            await catalog.register(text)
            self.learn(text)

    def learn(self, text: Text) -> None:
        """What whoever checks knows of a playbook."""
        self.texts.append(text)
        self.checks.known(text.sha, catalogs.playbook_of(text, self.kinds_of(self.outside)))

    def committed(self, committed: Committed) -> None:
        """A batch stands."""
        self.commits += 1
        self.events += sum(len(append.events) for append in committed.batch.appends)
        if self.trace is not None:
            for append in committed.batch.appends:
                names = " ".join(name_of(event) for event in append.events)
                self.note(f"{append.execution_id} {append.first_seq}: {names} [{append.status}]")
        self.watched(lambda: self.checks.committed(committed))
        for append in committed.batch.appends:
            if any(isinstance(event, GOING_WRONG) for event in append.events) and not append.ended_at:
                self.users.hear_of_trouble(append.execution_id)

    def watched(self, look: Callable[[], None]) -> None:
        """Look at something from within the product, which must not notice."""
        try:
            look()
        except Violation as found:
            self.violation = self.violation or found

    def check(self) -> None:
        """Look at the whole world."""
        self.checks.periodic(self.caches())

    def verify(self) -> None:
        """When all has ended."""
        self.check()
        self.checks.ended(ordeal_of(self))
        compare_with_references(self)

    def fill_store(self, seconds: float) -> None:
        self.note(f"the disk is full for {seconds:.1f} s")
        self.trouble.is_disk_full = True
        self.disturbances += 1
        self.outside.later(seconds, self._make_room)

    def _make_room(self) -> None:
        self.trouble.is_disk_full = False

    def sweep_results(self) -> None:
        """Results that no log names are swept away, at any time; what a worker may be about to name is too young."""
        self.go(self._swept())

    async def _swept(self) -> None:
        with suppress(*PASSING):
            await self.bucket.sweep(self.plain_store(), older_than_seconds=SWEPT_AFTER_SECONDS)

    # --- what each shape has of its own ------------------------------------------------------------------------------

    @property
    def pools(self) -> Sequence[str]:
        return ("default", "big", "far")[: self.configuration.pools]

    async def prepare(self) -> None:
        raise NotImplementedError

    def heal(self) -> None:
        raise NotImplementedError

    def view(self) -> View:
        """The store, as it is now."""
        raise NotImplementedError

    def plain_store(self) -> Store:
        """The store, as somebody has it for whom nothing goes wrong."""
        raise NotImplementedError

    def caches(self) -> Iterable[tuple[str, Iterable[Cached]]]:
        """What each server that runs has in memory."""
        raise NotImplementedError

    def rows(self) -> Iterable[Execution]:
        raise NotImplementedError

    async def ask(self, do: Callable[[Desk], Awaitable[Answer]]) -> Answer:
        raise Unreachable("nobody is there to be asked")

    def processes(self, kind: str) -> Sequence[Node]:
        raise NotImplementedError

    def kill(self, node: Node) -> None:
        raise NotImplementedError

    def restart_later(self, node: Node, seconds: float) -> None:
        raise NotImplementedError

    def pause(self, node: Node, seconds: float) -> None:
        raise NotImplementedError

    def jump_clock(self, node: Node, seconds: float) -> None:
        raise NotImplementedError

    def lose_snapshot(self, hard: float) -> None:
        raise NotImplementedError

    # --- of several processes only: one by itself has no network, and its store is a disk -----------------------------

    def part(self, nodes: Sequence[Node], seconds: float) -> None:
        """Nobody to be parted from."""

    def clog(self, node: Node, seconds: float) -> None:
        """As above."""

    def stop_network(self, seconds: float) -> None:
        """As above."""

    def stop_store(self, seconds: float) -> None:
        """It is where the process is."""

    def cut_store(self, node: Node, seconds: float) -> None:
        """As above."""

    def rewind(self, transactions: int) -> None:
        """As above."""
