"""A worker: asks for jobs as long as it has free slots, runs each, and says that it is alive.

It executes pipelines and reports; it decides nothing about steps, and it never touches the log (RO-02).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from noetl.dsl.model import Playbook
from noetl.engine.commands import Key, Work
from noetl.queues.contract import HEARTBEAT_SECONDS, Transport
from noetl.runner.execute import Kit, execute
from noetl.runner.invoke import Invoker
from noetl.runner.slots import Slots

log = logging.getLogger("noetl.runner")

Playbooks = Callable[[str, list[list[Any]]], Awaitable[Playbook]]


class Worker:
    """The jobs of one process."""

    def __init__(
        self,
        *,
        name: str,
        transport: Transport,
        invoker: Invoker,
        playbooks: Playbooks,
        slots: int,
        chance: Callable[[], float],
    ) -> None:
        self.name = name
        self.transport = transport
        self.playbooks = playbooks
        self.slots = Slots(slots)
        self._stopping = asyncio.Event()
        self.kit = Kit(
            transport=transport,
            invoker=invoker,
            clock=invoker.clock,
            slots=self.slots,
            chance=chance,
            stopping=self._stopping,
        )
        self._jobs: dict[asyncio.Task[None], Work] = {}
        self.failure: BaseException | None = None
        self.on_idle: Callable[[], None] = lambda: None
        self.on_failure: Callable[[BaseException], None] = lambda _error: None

    async def run(self) -> None:
        """Take jobs until told to stop."""
        while not self._stopping.is_set():
            free = await self.slots.any_free()
            for work in await self.transport.poll(self.name, free):
                self.slots.try_take()
                playbook = await self.playbooks(work.sha, work.planned)
                self._spawn(work, playbook)

    def _spawn(self, work: Work, playbook: Playbook) -> None:
        task = asyncio.get_running_loop().create_task(execute(self.kit, playbook, work))
        self._jobs[task] = work
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._jobs[task]
        if not self._jobs:
            self.on_idle()
        if not task.cancelled() and task.exception() is not None:
            error = task.exception()
            assert error is not None  # noqa: S101 - just asked
            self.failure = error
            self.on_failure(error)

    def revoke(self, key: Key) -> None:
        """A job was ended by the server: stop what runs for it."""
        for task, work in self._jobs.items():
            if work.key == key:
                task.cancel()

    async def beat(self) -> None:
        """Heartbeats: what is not listed is not extended, what comes back is dropped."""
        while True:
            await self.kit.clock.sleep(HEARTBEAT_SECONDS)
            gone = set(await self.transport.heartbeat(self.name, self.held()))
            for task, work in list(self._jobs.items()):
                if work.key in gone:
                    task.cancel()

    def held(self) -> list[tuple[Key, int]]:
        return [(work.key, work.lease) for work in self._jobs.values()]

    @property
    def jobs(self) -> int:
        return len(self._jobs)

    async def drain(self) -> None:
        """Start no further task; what runs may finish and is recorded."""
        self._stopping.set()
        while self._jobs:
            await asyncio.wait(self._jobs)

    async def abandon(self) -> None:
        """Stop at once; what was not reported is done again by whoever takes the job up."""
        self._stopping.set()
        for task in self._jobs:
            task.cancel()
        if self._jobs:
            await asyncio.wait(self._jobs)
