"""A server over one SQLite file, with its worker in the same process."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from noetl.api_parts import Telling, embedded_parts
from noetl.chance import SYSTEM
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control.outlook import Outlook
from noetl.embedded import Embedded, kinds_of, made
from noetl.hosting import DRAIN_SECONDS_MAX, Host, make_meters
from noetl.identity.tokens import Tokens
from noetl.stores.shared import PoolRow
from noetl.stores.sqlite import SqliteStore
from noetl.tracing import tracing

log = logging.getLogger("noetl.hosting")


@asynccontextmanager
async def embedded_host(settings: Settings, name: str) -> AsyncIterator[Host]:
    """All that a server of one machine needs, at work."""
    clock, kinds, meters, telling = SystemClock(), kinds_of(settings), make_meters(), Telling()
    store = await SqliteStore.open(settings.store_path)
    kinds.plugins.log_ignored()
    if settings.queue_url:
        log.warning(
            "over SQLite the work is done in this process: queue.url serves triggers, and no worker finds this server "
            "there. For workers, set store.url to postgresql://…",
            extra={"action": "queue_without_workers"},
        )
    traces = tracing(settings, store, clock, meters, name)
    if traces is not None:
        telling.also.append(traces.told)
    async with made(settings, store, telling, clock, kinds, is_lasting=True, meters=meters) as embedded:
        tokens = Tokens(store, clock, SYSTEM.new_secret)
        parts = embedded_parts(embedded, telling, tokens, meters=meters, metrics=meters)
        meters.outlook = Outlook(live_executions=lambda: len(embedded.executions), pools=pools_of(embedded))
        host = Host(settings, parts)
        embedded.on_failure = host.fail
        if traces is not None:
            host.run(traces.run())
        if settings.server_workers:
            embedded.work()
        await embedded.take_up_all()
        try:
            yield host
        finally:
            await embedded.worker.drain(DRAIN_SECONDS_MAX)
            await host.close()


def pools_of(embedded: Embedded) -> Callable[[], Awaitable[list[PoolRow]]]:
    async def pools() -> list[PoolRow]:
        return [PoolRow(**state._asdict()) for state in embedded.queue.pools(embedded.clock.monotonic())]

    return pools
