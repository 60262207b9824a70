"""Servers of a cluster in the test's own process, each over its own connections to one PostgreSQL, with or without a
worker: for what needs two of them, or one that dies at a chosen moment."""

import asyncio
import random
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from noetl.clock import SystemClock
from noetl.cluster import ClusterServer, opened
from noetl.config import Settings
from noetl.control.requests import RunRequest
from noetl.dsl.model import Playbook
from noetl.embedded import kinds_of
from noetl.identity.tokens import Grant
from noetl.keychain.opening import open_keychain
from noetl.queues.contract import Profile
from noetl.queues.direct import DirectTransport
from noetl.results.stores import Stores
from noetl.runner.worker import Worker
from noetl.stores.contract import LIVE, Execution
from noetl.stores.postgres import PostgresStore
from noetl.testing.waiting import until
from noetl.worker import make_worker

SECONDS_MAX = 60.0
LOOK_SECONDS = 0.02
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}}}\n"


class Server:
    """One server, and its worker if it has one."""

    def __init__(self, cluster: ClusterServer, name: str, settings: Settings, keychain: Any) -> None:
        self.cluster = cluster
        self.store = cluster.store
        self.desk = cluster.desk
        self.name = name
        self.settings = settings
        self.keychain = keychain
        self.worker: Worker | None = None
        self.tasks = [asyncio.create_task(part) for part in cluster.parts()]

    async def work(self, pool: str = "default") -> Worker:
        """Give it a worker of its own."""
        issued = await self.cluster.tokens.create(Grant(role="worker"), by="test")
        profile = Profile(
            worker=f"{self.name}-{pool}-{uuid4().hex[:6]}", pool=pool, slots=64, host="h", pid=1, version="0"
        )
        transport = DirectTransport(
            self.cluster.service,
            token=lambda: issued.token,
            profile=profile,
            clock=self.cluster.clock,
            chance=random.random,
        )

        async def playbook(sha: str, planned: list[list[Any]]) -> Playbook:
            return (await self.cluster.catalog.loaded(sha, planned)).playbook

        worker = make_worker(
            self.settings,
            name=profile.worker,
            transport=transport,
            results=self.cluster.results,
            keychain=self.keychain,
            playbooks=playbook,
            clock=self.cluster.clock,
            kinds=kinds_of(self.settings),
            is_embedded=False,
        )
        self.cluster.revoke = lambda revoked: worker.revoked(
            [(one.key, one.lease) for one in revoked if one.worker == worker.name]
        )
        worker.take_along(transport)
        self.tasks += [asyncio.create_task(worker.run()), asyncio.create_task(worker.beat())]
        self.worker = worker
        return worker

    async def start(self, body: str, name: str = "trial", **wanted: Any) -> int:
        text = (HEAD.format(name=name) + textwrap.dedent(body)).encode()
        started = await self.desk.start(RunRequest(data=text, name="trial.yaml", **wanted))
        return started.execution_id

    async def register(self, body: str, name: str) -> None:
        text = (HEAD.format(name=name) + textwrap.dedent(body)).encode()
        await self.desk.register(RunRequest(data=text, name=f"{name}.yaml"))

    async def ended(self, execution_id: int) -> Execution:
        """Wait for its end."""
        async with asyncio.timeout(SECONDS_MAX):
            while (row := await self.store.execution(execution_id)) is None or row.status in LIVE:
                await asyncio.sleep(LOOK_SECONDS)
        return row

    async def until(self, is_so: Any) -> None:
        await until(is_so)

    async def die(self) -> None:
        """As if by kill -9: nothing is finished, nothing is told to anybody."""
        tasks, self.tasks = self.tasks, []
        tasks += list(self.cluster.insistent._tasks)
        if self.worker is not None:
            tasks += list(self.worker._tasks)
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def serving(
    url: str,
    folder: Path,
    name: str = "one",
    *,
    is_working: bool = True,
    lease_seconds: float = 30.0,
    store: PostgresStore | None = None,
) -> AsyncIterator[Server]:
    settings = Settings(home=folder, store_url=url, lease_seconds=lease_seconds, results_stores=("files",))
    clock = SystemClock()
    store = store or await PostgresStore.open(url, lease_seconds=lease_seconds)
    keychain = open_keychain(settings, {}, clock)
    results = Stores(folder / "results", settings.results_stores)
    cluster = await opened(
        settings,
        store,
        clock=clock,
        kinds=kinds_of(settings),
        keychain=keychain,
        results=results,
        observer=lambda *_: None,
    )
    server = Server(cluster, name, settings, keychain)
    try:
        if is_working:
            await server.work()
        yield server
    finally:
        worker = server.worker
        if worker is not None:
            await worker.abandon()
        await server.die()
        if worker is not None:
            await worker.kit.invoker.toolbox.close()
        await cluster.close()
        await keychain.close()
        await results.close()
        await store.close()
