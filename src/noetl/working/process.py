"""One worker process: its parts, put together, from its first connection to the end of its drain.

In the cluster a worker has no HTTP endpoint and no database: NATS is its only way to servers, and secrets come over it
by name, for the job at hand. It wires and decides nothing. The first signal drains: no further job, no further task,
what does not finish in time goes back to its server. The second ends it at once; tools end with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from noetl import lasting
from noetl.chance import SYSTEM
from noetl.clock import AgreedClock, Clock, SystemClock
from noetl.config import Settings
from noetl.embedded import kinds_of
from noetl.errors import Unreachable
from noetl.identity import token_files
from noetl.keychain.opening import open_keychain
from noetl.keychain.server_source import ServerSource
from noetl.logs import logging_to_stderr
from noetl.messaging.pauses import Pauses
from noetl.queues.contract import POLL_SECONDS_MAX, Transport
from noetl.queues.nats import NatsTransport
from noetl.queues.nats_link import worker_link
from noetl.results.choices import results_stores_of
from noetl.results.stores import Stores
from noetl.runner.heartbeat import Answered
from noetl.runner.waiting import first_of
from noetl.worker import make_worker, profile_of
from noetl.working.heart import Heart
from noetl.working.playbooks import FetchedPlaybooks

NAME_BYTES = 4
AGAIN_SECONDS = 5.0  # after a fault of ours in the asking
LAST_POLL_SECONDS_MAX = POLL_SECONDS_MAX + 3.0  # the one that is under way when the drain begins
CONNECT_SECONDS_MAX = 2.0  # before it is said that one waits
CLOSE_SECONDS_MAX = 10.0

log = logging.getLogger("noetl.worker")


class Stop:
    """How a worker is told to end."""

    def __init__(self, drain_seconds: float) -> None:
        self.drain_seconds = drain_seconds
        self.asked = asyncio.Event()

    def __call__(self, drain_seconds: float | None = None) -> None:
        """End; `drain_seconds`: with so much time for what runs, instead of what was set."""
        if drain_seconds is not None:
            self.drain_seconds = drain_seconds
        self.asked.set()


async def work(settings: Settings, stop: Stop, on_ready: Callable[[], None]) -> None:
    """Be a worker until it is stopped. Raises what makes it no worker at all: a token that is not taken, a URL."""
    name = worker_name()
    async with AsyncExitStack() as stack:
        process = WorkerProcess(settings, name, SystemClock())
        about = {"worker": name, "pool": settings.pool}
        stack.enter_context(logging_to_stderr(settings.log_format, settings.log_level, about, process.clean))
        await stack.enter_async_context(process.open())
        if await process.enrolled(stop):
            await process.run(stop, on_ready)


def worker_name() -> str:
    """Unique: the host and the process for people, and a word that no other process ever had."""
    return f"{socket.gethostname()}-{os.getpid()}-{SYSTEM.word(NAME_BYTES)}"


class WorkerProcess:
    """The parts of a worker."""

    def __init__(self, settings: Settings, name: str, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock = AgreedClock(clock)
        self.kinds = kinds_of(settings)
        self.profile = profile_of(settings, name, self.kinds)
        self.link = worker_link(settings, clock)
        self.transport = self._transport(self.link)
        asked = ServerSource(self.transport.credential, clock)
        self.keychain = open_keychain(settings, os.environ, clock, is_embedded=False, asked=asked)
        self.results = Stores(settings.home / "results", results_stores_of(settings), is_shared=True)
        self.worker = make_worker(
            settings,
            name=name,
            transport=self.transport,
            results=self.results,
            keychain=self.keychain,
            playbooks=FetchedPlaybooks(self.transport.playbook, self.kinds),
            clock=clock,
            kinds=self.kinds,
            is_embedded=False,
        )

    def _transport(self, link: object) -> NatsTransport:
        return NatsTransport(
            link,  # type: ignore[arg-type]  # a Link; its class needs the library of an extra
            prefix=self.settings.queue_prefix,
            token=self._token,
            profile=self.profile,
            clock=self.clock,
            chance=SYSTEM.random,
            lease_seconds=self.settings.lease_seconds,
            entropy=SYSTEM.bytes,
        )

    def _token(self) -> str:
        """Read anew for every enrolment: files change. A server of the same home may be about to make it."""
        if self.settings.server_token_file is not None:
            return token_files.read_named(self.settings.server_token_file)
        file = self.settings.home / token_files.OF_WORKERS
        token = token_files.read_own(file)
        if token is None:
            raise Unreachable(
                f"there is no token of role worker: neither --token-file was given nor is there {file}. The first "
                "server over a store makes one in its home; for another home: noetl token create --role worker"
            )
        return token

    def clean(self, data: object) -> object:
        return self.keychain.redactor().clean(data)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Connected, as far as NATS is there, until the end; what is open is closed within a bounded time."""
        self.link.start()
        try:
            yield
        finally:
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                await self.worker.abandon()
                await self.transport.leave()
                await self.worker.kit.invoker.toolbox.close()
                await self.keychain.close()
                await self.results.close()
                await self.link.close()

    async def enrolled(self, stop: Stop) -> bool:
        """Let in by a server, for which one waits; False: told to stop before that."""
        pauses = Pauses(self.clock, SYSTEM.random)
        is_waiting = False
        while not stop.asked.is_set():
            try:
                await self.link.until_up(CONNECT_SECONDS_MAX)
                await self.transport.enrol()
                return True
            except Unreachable as outage:
                if not is_waiting:
                    log.warning("waiting for a server: %s", outage, extra={"action": "worker_waits"})
                is_waiting = True
                await first_of(pauses.wait(), stop.asked.wait())
        return False

    async def run(self, stop: Stop, on_ready: Callable[[], None]) -> None:
        """Take jobs until told to stop, and drain."""
        heart = Heart(self.worker, self._heart_transport, self.clock, on_answer=self._answered)
        async with heart.beating():
            await self.transport.on_revoked(self.worker.revoked)
            self.worker.take_along(self.transport)
            polling = asyncio.ensure_future(self._poll())
            log.info("takes jobs", extra={"action": "worker_ready", "slots": self.settings.slots})
            lasting.keep_what_is_there()
            on_ready()
            await stop.asked.wait()
            log.info("draining", extra={"action": "worker_drains", "jobs": self.worker.jobs})
            await self.worker.drain(stop.drain_seconds)
            await asyncio.wait({polling}, timeout=LAST_POLL_SECONDS_MAX)
            polling.cancel()
        log.info("drained", extra={"action": "worker_drained"})

    async def _poll(self) -> None:
        """A fault of ours in the asking must not end what runs: it is told, and asking goes on."""
        while not self.worker.is_stopping:
            try:
                await self.worker.run()
            except Exception:
                log.exception("polling broke off", extra={"action": "poll_failed"})
                await self.clock.sleep(AGAIN_SECONDS)

    @asynccontextmanager
    async def _heart_transport(self) -> AsyncIterator[Transport]:
        link = worker_link(self.settings, self.clock)
        link.start()
        try:
            with suppress(Unreachable):  # then the first heartbeat says so
                await link.until_up(CONNECT_SECONDS_MAX)
            yield self._transport(link)
        finally:
            await link.close()

    def _answered(self, answer: Answered) -> None:
        self.worker.answered(answer)
        self.transport.keep(list(answer.held))
