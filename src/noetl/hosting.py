"""A server at work: its parts, the API over them, and what runs beside them until it is told to stop.

Over SQLite it is one process with its worker in it (`embedded.py`); over PostgreSQL one of any number of servers
(`cluster.py`), whose workers come over NATS or, where there is no queue, are in its process. Wires, and decides
nothing. SIGTERM drains: no new work is taken, what is under way is finished, then it leaves.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from noetl import lasting
from noetl.api.app import make_app
from noetl.api.parts import Parts
from noetl.chance import SYSTEM
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control.prometheus import Prometheus
from noetl.identity import first_tokens
from noetl.logs import logging_to_stderr
from noetl.serving import check_transport, serve
from noetl.starts import Starts, with_starts

SIGNALS = (signal.SIGTERM, signal.SIGINT)
DRAIN_SECONDS_MAX = 30.0  # for tasks of a worker in this process
log = logging.getLogger("noetl.hosting")

Ready = Callable[[str], None]


def serve_forever(settings: Settings, on_ready: Ready) -> int:
    """Be a server until a signal ends it; 0: it drained."""

    def ready(url: str) -> None:
        lasting.keep_what_is_there()
        on_ready(url)

    return lasting.run(_serve(settings, ready))


async def _serve(settings: Settings, on_ready: Ready) -> int:
    check_transport(settings)
    name = server_name()
    stopping = asyncio.Event()
    logged = logging_to_stderr(settings.log_format, settings.log_level, {"server": name})
    with logged as lines, _stopped_by_signals(stopping):
        async with _hosted(settings, name) as host:
            lines.clean = host.clean
            await host.serve(on_ready, stopping)
            if host.failure is not None:
                log.error("a part of the server has died", extra={"action": "part_died"}, exc_info=host.failure)
                return 1
    return 0


@asynccontextmanager
async def _hosted(settings: Settings, name: str) -> AsyncIterator[Host]:
    if settings.is_shared:
        from noetl.cluster_host import cluster_host

        opened = cluster_host(settings, name)
    else:
        from noetl.embedded_host import embedded_host

        opened = embedded_host(settings, name)
    async with opened as host:
        yield host


class Host:
    """A server: what the API asks, what runs beside, and how it drains."""

    def __init__(self, settings: Settings, parts: Parts) -> None:
        self.settings = settings
        self.starts = Starts(settings, parts.desk, parts.store, parts.clock, parts.meters)
        self.parts = with_starts(parts, self.starts)
        self.failure: BaseException | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._died = asyncio.Event()

    def clean(self, data: Any) -> Any:
        """The same without the secrets that this server knows."""
        return self.parts.desk.keychain.redactor().clean(data)

    def run(self, *parts: Coroutine[Any, Any, None]) -> None:
        """Run parts until the end; a server of which one has died is of no use, and ends."""
        for part in parts:
            task = asyncio.get_running_loop().create_task(part)
            self._tasks.append(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        self.failure = self.failure or error
        self._died.set()

    async def serve(self, on_ready: Ready, stopping: asyncio.Event) -> None:
        """Be there, until told to stop or until a part has died."""
        await first_tokens.ensure(self.parts.tokens, self.settings.home)
        self.run(*self.starts.parts())
        ended = asyncio.Event()
        watching = asyncio.ensure_future(_first(stopping, self._died, ended))
        try:
            await serve(make_app(self.parts), self.settings, on_ready, ended)
        finally:
            watching.cancel()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _first(one: asyncio.Event, other: asyncio.Event, then: asyncio.Event) -> None:
    """Set an event when either of two is."""
    waits = [asyncio.ensure_future(event.wait()) for event in (one, other)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        then.set()
    finally:
        for wait in waits:
            wait.cancel()


@contextmanager
def _stopped_by_signals(stopping: asyncio.Event) -> Iterator[None]:
    """The first signal drains, the second ends at once."""

    def stop() -> None:
        if stopping.is_set():
            os._exit(1)
        log.info("draining", extra={"action": "draining"})
        stopping.set()

    undoing = [lasting.on_signal(number, stop) for number in SIGNALS]
    try:
        yield
    finally:
        for undo in undoing:
            undo()


def make_meters() -> Prometheus:
    return Prometheus(SystemClock())


def server_name() -> str:
    """Of this process, for subjects and logs: a word that no subject takes apart."""
    host = "".join(char if char.isalnum() or char == "-" else "-" for char in socket.gethostname())[:40]
    return f"{host}-{os.getpid()}-{SYSTEM.word(3)}"
