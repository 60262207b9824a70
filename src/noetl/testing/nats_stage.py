"""Servers and workers on one NATS, each with a link of its own, in one process: for tests of what happens between."""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noetl.clock import Clock, SystemClock
from noetl.messaging.link import Link
from noetl.messaging.server import server_of
from noetl.queues.contract import Profile, WorkerService
from noetl.queues.doorbell import Doorbell
from noetl.queues.nats import NatsTransport
from noetl.queues.nats_service import NatsService
from noetl.queues.wire import Subjects
from noetl.testing.office import TOKEN, a_profile

CONNECT_SECONDS_MAX = 10.0


class NatsStage:
    """Everything stands under a prefix that nobody else uses; `close` takes it all down."""

    def __init__(self, url: str, prefix: str = "") -> None:
        self.url = url
        self.prefix = prefix or f"test-{secrets.token_hex(4)}"
        self.subjects = Subjects(self.prefix)
        self.links: list[Link] = []
        self.services: list[NatsService] = []

    async def link(self, inbox: str = "", url: str = "", **fields: str) -> Link:
        """A link that is up."""
        made = Link(
            server_of("queue.url", {"url": url or self.url, **fields}),
            inbox=inbox or self.subjects.server_inbox,
            clock=SystemClock(),
            chance=random.random,
        )
        made.start()
        self.links.append(made)
        await made.until_up(CONNECT_SECONDS_MAX)
        return made

    async def server(self, service: WorkerService, server_id: str = "one", link: Link | None = None) -> NatsService:
        """A server that listens."""
        made = NatsService(
            link or await self.link(), service, prefix=self.prefix, server_id=server_id, clock=SystemClock()
        )
        await made.start()
        self.services.append(made)
        return made

    async def transport(
        self,
        profile: Profile | None = None,
        token: str = TOKEN,
        clock: Clock | None = None,
        link: Link | None = None,
    ) -> NatsTransport:
        profile = profile or a_profile()
        return NatsTransport(
            link or await self.link(self.subjects.inbox(profile.pool)),
            prefix=self.prefix,
            token=lambda: token,
            profile=profile,
            clock=clock or SystemClock(),
            chance=random.random,
        )

    async def doorbell(self) -> Doorbell:
        return Doorbell(await self.link(), prefix=self.prefix)

    async def close(self) -> None:
        for service in self.services:
            await service.close()
        for link in self.links:
            await link.close()


@asynccontextmanager
async def on_nats(url: str, prefix: str = "") -> AsyncIterator[NatsStage]:
    stage = NatsStage(url, prefix)
    try:
        yield stage
    finally:
        await stage.close()
