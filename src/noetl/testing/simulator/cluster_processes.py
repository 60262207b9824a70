"""A server and a worker of a simulated cluster: the real parts, put together as their roles do, on simulated ones.

What differs from a real process: the store is a client of the simulated database, the link to NATS a simulated one,
results and credentials are in memory, heartbeats have no thread of their own, for nothing here can hold them up.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noetl.clock import AgreedClock
from noetl.cluster import ClusterServer, opened
from noetl.config import Settings
from noetl.control.live import Live
from noetl.control.revoking import revoking
from noetl.control.shared_sitting import deed_of
from noetl.engine.commands import Key, Report, Work
from noetl.errors import PASSING
from noetl.keychain.server_source import ServerSource
from noetl.messaging.pauses import Pauses
from noetl.queues.contract import STALE, Profile, Room
from noetl.queues.doorbell import Doorbell
from noetl.queues.nats import NatsTransport
from noetl.queues.nats_service import NatsService
from noetl.queues.wire import Subjects
from noetl.runner.heartbeat import Answered
from noetl.runner.worker import Worker
from noetl.stores.shared import FINAL
from noetl.testing.simulator.keychain import SimKeychain
from noetl.testing.simulator.nodes import Node
from noetl.worker import make_worker
from noetl.working.playbooks import FetchedPlaybooks

if TYPE_CHECKING:
    from noetl.testing.simulator.cluster_world import ClusterWorld

PREFIX = "sim"
FIRM_PART = 0.9  # of a lease's time, as the protocol says (§7, rule 4)
NOWHERE = Path("/nonexistent")


def settings_of(world: ClusterWorld, pool: str = "default") -> Settings:
    return Settings(
        home=NOWHERE,
        store_url="postgresql://simulated",
        queue_url="nats://simulated",
        queue_prefix=PREFIX,
        slots=world.configuration.slots,
        pool=pool,
        lease_seconds=world.configuration.lease_seconds,
        log_format="json",
    )


class Process:
    """One life of a server or a worker."""

    def __init__(self, world: ClusterWorld, kind: str, number: int, life: int) -> None:
        self.world = world
        self.kind = kind
        self.number = number
        self.life = life
        self.node = Node(world.loop, f"{kind}-{number}.{life}", kind)
        self.clock = world.clock_of(self.node.name)
        self.chance = world.chance_of(self.node.name)
        self.kinds = world.kinds_of(self.node)
        self.is_up = False

    def begin(self) -> None:
        self.world.go(self.live(), self.node)

    async def live(self) -> None:
        raise NotImplementedError

    async def until_done(self, deed: Any) -> Any:
        """Try until the store or a server answers, as whoever restarts a process that did not come up would."""
        pauses = Pauses(self.clock, self.chance.random)
        while True:
            try:
                return await deed()
            except PASSING:
                await pauses.wait()


class ServerProcess(Process):
    server: ClusterServer

    async def live(self) -> None:
        world = self.world
        lease_seconds = world.configuration.lease_seconds
        store = world.database.client(self.node.name, clock=self.clock, lease_seconds=lease_seconds)
        self.server = await self.until_done(
            lambda: opened(
                settings_of(world),
                store,
                clock=self.clock,
                kinds=self.kinds,
                keychain=world.keychain(),
                results=world.results_of(self.node),
                observer=lambda *_: None,
                chance=self.chance,
            )
        )
        link = world.network.link(self.node, inbox=Subjects(PREFIX).inboxes + self.node.name)
        link.start()
        server = self.server
        service = NatsService(
            link,  # type: ignore[arg-type]  # of the same shape
            server.service,
            prefix=PREFIX,
            server_id=self.node.name.replace(".", "-"),
            clock=server.clock,
            entropy=self.chance.bytes,
        )
        doorbell = Doorbell(link, prefix=PREFIX)  # type: ignore[arg-type]  # as above
        server.handing.tell_others = doorbell.ring
        server.revoke = revoking(service.revoke)
        await service.start()
        await doorbell.heard(server.handing.hear)
        for part in server.parts():
            world.go(part, self.node)
        self.is_up = True

    def settled_executions(self) -> list[Live]:
        """Those in memory that no batch works on now: while it does, they are ahead of their logs."""
        pumps = self.server.pumps
        return [live for live in self.server.executions if not pumps.of(live.state.execution_id).turn.locked()]


class TellingTransport(NatsTransport):
    """What a server gave and acknowledged to this worker is told to whoever keeps account of it."""

    def __init__(
        self, *given: Any, came: Callable[[Work, float], None], told: Callable[[Report, str, float], None], **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self._came = came
        self._told = told

    async def poll(self, worker: str, free: int) -> list[Work]:
        sent_at = self._clock.monotonic()
        works = await super().poll(worker, free)
        for work in works:
            self._came(work, sent_at)
        return works

    async def report_all(self, reports: list[Report]) -> list[str]:
        sent_at = self._clock.monotonic()
        words = await super().report_all(reports)
        for report, word in zip(reports, words, strict=True):
            self._told(report, word, sent_at)
        return words


class TellingTaker:
    """A worker to whom jobs come with the answers to its reports, which is told of, too."""

    def __init__(self, worker: Worker, came: Callable[[Work, float], None]) -> None:
        self._worker = worker
        self._came = came

    def room(self) -> Room:
        return self._worker.room()

    def arrived(self, room: Room, works: list[Work], sent_at: float) -> None:
        for work in works:
            self._came(work, sent_at)
        self._worker.arrived(room, works, sent_at)


class WorkerProcess(Process):
    worker: Worker

    async def live(self) -> None:
        world = self.world
        pool = world.pools[self.number % len(world.pools)]
        settings = settings_of(world, pool)
        self.agreed = AgreedClock(self.clock)
        transport = self._transport(settings)
        self.worker = make_worker(
            settings,
            name=self.node.name,
            transport=transport,
            results=world.results_of(self.node),
            keychain=SimKeychain(asked=ServerSource(transport.credential, self.agreed)),
            playbooks=FetchedPlaybooks(transport.playbook, self.kinds),
            clock=self.agreed,
            kinds=self.kinds,
            is_embedded=False,
            chance=self.chance.random,
        )
        await self.until_done(transport.enrol)
        heart = self._transport(settings)

        def answered(answer: Answered) -> None:
            self._over([(key, lease) for key, lease in answer.held if key in answer.gone])
            for key, lease in answer.held:
                if key not in answer.gone:
                    self._firm(key, lease, answer.sent_at)
            self.worker.answered(answer)
            transport.keep(list(answer.held))

        def revoked(held: list[tuple[Key, int]]) -> None:
            self._over(held)
            self.worker.revoked(held)

        await transport.on_revoked(revoked)
        self.worker.take_along(transport)
        transport.taker = TellingTaker(self.worker, self._came)
        world.go(self.worker.heartbeat(heart, answered).run(), self.node)
        world.go(self.worker.run(), self.node)
        self.is_up = True

    def _transport(self, settings: Settings) -> NatsTransport:
        link = self.world.network.link(self.node, inbox=Subjects(PREFIX).inboxes + self.node.name)
        link.start()
        profile = Profile(
            worker=self.node.name, pool=settings.pool, slots=settings.slots, host="sim", pid=1, version="0"
        )
        return TellingTransport(
            link,
            prefix=PREFIX,
            token=lambda: self.world.worker_token,
            profile=profile,
            clock=self.agreed,
            chance=self.chance.random,
            lease_seconds=settings.lease_seconds,
            entropy=self.chance.bytes,
            came=self._came,
            told=self._acknowledged,
        )

    def _came(self, work: Work, sent_at: float) -> None:
        self.world.checks.came(work.key, work.lease)
        self._firm(work.key, work.lease, sent_at)

    def _firm(self, key: Key, lease: int, sent_at: float) -> None:
        """What this worker sent then was answered: the job is its own for a while after, by its clock."""
        until = sent_at + FIRM_PART * self.world.configuration.lease_seconds
        self.world.checks.firm(self.node.name, key, lease, until / self.clock.rate)

    def _acknowledged(self, report: Report, word: str, sent_at: float) -> None:
        checks = self.world.checks
        if word == STALE or deed_of(report) == FINAL:
            self._over([(report.key, report.lease)])
        if word != STALE:
            self._firm(report.key, report.lease, sent_at)
            events = len(report.events)
            self.world.watched(lambda: checks.acknowledged_report(report.key, report.lease, report.n, events))

    def _over(self, held: list[tuple[Key, int]]) -> None:
        """This worker knows now that these jobs are not its own any more."""
        for key, lease in held:
            self.world.checks.told(self.node.name, key, lease)
