"""A server of a cluster at work: PostgreSQL for what is kept, NATS for the way to workers, or a worker in this process.

The connection to NATS mends itself; without it workers get their jobs later and nothing is lost. Drain: polls are let
go, what is under way is answered, then the pumps stop.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.api_parts import HomeVault, Telling, cluster_parts
from noetl.clock import Clock, SystemClock
from noetl.cluster import ClusterServer, StoredDocuments, opened
from noetl.config import Settings
from noetl.control.outlook import Outlook, workers_by_pool
from noetl.control.revoking import revoking
from noetl.dsl.model import Playbook
from noetl.embedded import kinds_of
from noetl.errors import PASSING, TokenUnusable
from noetl.hosting import DRAIN_SECONDS_MAX, Host, make_meters
from noetl.identity import first_tokens, token_files
from noetl.identity.roles import WORKER
from noetl.keychain.local import keys_of
from noetl.keychain.opening import open_keychain
from noetl.keychain.server_source import ServerSource
from noetl.keychain.stored import StoredCredentials
from noetl.keychain.strongbox_records import RecordsStrongbox
from noetl.queues.direct import DirectTransport
from noetl.results.choices import results_stores_of
from noetl.results.stores import Stores
from noetl.stores.opening import open_postgres
from noetl.stores.shared import Revoked
from noetl.stores.turns import Turn
from noetl.tracing import tracing
from noetl.worker import make_worker, profile_of

if TYPE_CHECKING:
    from noetl.messaging.link import Link

PUMPS_DRAINED_SECONDS_MAX = 10.0
IDLE_LOOK_SECONDS = 0.05


@asynccontextmanager
async def cluster_host(settings: Settings, name: str) -> AsyncIterator[Host]:
    """All that a server of a cluster needs, at work."""
    clock, kinds, meters, telling = SystemClock(), kinds_of(settings), make_meters(), Telling()
    kinds.plugins.log_ignored()
    async with AsyncExitStack() as stack:
        store = await open_postgres(settings.store_url, lease_seconds=settings.lease_seconds)
        stack.push_async_callback(store.close)
        stored = StoredCredentials(RecordsStrongbox(StoredDocuments(store)), keys_of(settings, os.environ), clock)
        keychain = open_keychain(settings, os.environ, clock, is_embedded=False, stored=stored)
        stack.push_async_callback(keychain.close)
        results = Stores(settings.home / "results", results_stores_of(settings), is_shared=True)
        stack.push_async_callback(results.close)
        server = await opened(
            settings,
            store,
            clock=clock,
            kinds=kinds,
            keychain=keychain,
            results=results,
            observer=telling.committed,
            meters=meters,
        )
        stack.push_async_callback(server.close)
        link = await _link(settings, clock, stack)
        parts = cluster_parts(settings, server, telling, HomeVault(settings, clock, stored), link)
        meters.outlook = Outlook(
            live_executions=lambda: len(server.executions),
            waiting_polls=lambda: len(server.handing.polls),
            pools=store.pools,
            workers=lambda: workers_by_pool(server.sessions.roster),
        )
        host = Host(settings, msgspec.structs.replace(parts, metrics=meters, meters=meters))
        stack.push_async_callback(host.close)
        host.run(*server.parts())
        traces = tracing(settings, store, clock, meters, name)
        if traces is not None:
            telling.also.append(traces.told)
            host.run(traces.run())
        stack.push_async_callback(drained, server)
        await _meet_workers(settings, server, host, name, link, stack)
        stack.callback(server.handing.polls.close)
        yield host


async def _link(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Link | None:
    if not settings.queue_url:
        return None
    from noetl.queues.nats_link import server_link

    link = server_link(settings, clock)
    link.start()
    stack.push_async_callback(link.close)
    return link


async def _meet_workers(
    settings: Settings, server: ClusterServer, host: Host, name: str, link: Link | None, stack: AsyncExitStack
) -> None:
    """Let workers in: over NATS, or one in this process."""
    if link is None:
        if settings.server_workers:
            await _own_worker(settings, server, host, name, stack)
        return
    from noetl.queues.doorbell import Doorbell
    from noetl.queues.nats_service import NatsService

    service = NatsService(
        link,
        server.service,
        prefix=settings.queue_prefix,
        server_id=name,
        clock=server.clock,
        entropy=server.chance.bytes,
    )
    doorbell = Doorbell(link, prefix=settings.queue_prefix)
    server.handing.tell_others = doorbell.ring
    server.revoke = revoking(service.revoke)
    await service.start()
    await doorbell.heard(server.handing.hear)
    if settings.export_events:
        host.run(_exporting(settings, server, host, name, link))
    stack.push_async_callback(doorbell.close)
    stack.push_async_callback(service.drain)


async def _exporting(settings: Settings, server: ClusterServer, host: Host, name: str, link: Link) -> None:
    """Send events to the stream, whenever it is this server's turn."""
    from noetl.queues.nats_export import EventExport

    def exported(events: int, newest_at: float) -> None:
        host.parts.meters.exported(events=events, lag_seconds=max(0.0, server.clock.now() - newest_at))

    export = EventExport(
        link,
        server.store,
        prefix=settings.queue_prefix,
        clock=server.clock,
        chance=server.chance.random,
        is_mine=Turn(server.store, name="export", holder=name, clock=server.clock).is_mine,
        exported=exported,
    )
    await export.run()


async def _own_worker(settings: Settings, server: ClusterServer, host: Host, name: str, stack: AsyncExitStack) -> None:
    worker_file = await _worker_file(settings, server)
    kinds = kinds_of(settings)
    transport = DirectTransport(
        server.service,
        token=lambda: token_files.read_own(worker_file) or "",
        profile=profile_of(settings, name, kinds),
        clock=server.clock,
        chance=server.chance.random,
    )

    async def playbook(sha: str, planned: list[list[Any]]) -> Playbook:
        return (await server.catalog.loaded(sha, planned)).playbook

    # It asks as workers elsewhere do, so that it gets no more than they would, and all of it is in the audit log.
    asked = ServerSource(transport.credential, server.clock)
    keychain = open_keychain(settings, os.environ, server.clock, is_embedded=False, asked=asked)
    stack.push_async_callback(keychain.close)
    worker = make_worker(
        settings,
        name=name,
        transport=transport,
        results=server.results,
        keychain=keychain,
        playbooks=playbook,
        clock=server.clock,
        kinds=kinds,
        is_embedded=False,
        chance=server.chance.random,
    )

    def revoke(revoked: list[Revoked]) -> None:
        worker.revoked([(one.key, one.lease) for one in revoked if one.worker == name])

    server.revoke = revoke
    worker.take_along(transport)
    host.run(worker.run(), worker.beat())
    stack.push_async_callback(worker.kit.invoker.toolbox.close)
    stack.push_async_callback(_left, transport)
    stack.push_async_callback(worker.drain, DRAIN_SECONDS_MAX)


async def _left(transport: DirectTransport) -> None:
    """Off the roster, so that nobody thinks the pool is still served."""
    with suppress(*PASSING):
        await transport.leave()


async def _worker_file(settings: Settings, server: ClusterServer) -> Path:
    """The token that the worker of this process shows; raises TokenUnusable."""
    files = await first_tokens.ensure(server.tokens, settings.home)
    if WORKER not in files:
        file = settings.home / token_files.OF_WORKERS
        raise TokenUnusable(
            f"the worker in this server's process needs a token, and the store's tokens are in another home: put one "
            f"into {file} (noetl token create --role worker), or start the server with server.workers = false"
        )
    return files[WORKER]


async def drained(server: ClusterServer) -> None:
    """Finish what was asked and what follows from it, and say so: else another server would take it over."""
    waited = 0.0
    while not server.is_idle and waited < PUMPS_DRAINED_SECONDS_MAX:
        await server.clock.sleep(IDLE_LOOK_SECONDS)
        waited += IDLE_LOOK_SECONDS
    with suppress(*PASSING):
        await server.rescue.tell_follow_ups()
