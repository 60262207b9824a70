"""The worker's role: build a worker's parts and hand it over, or be one. A background pool: no HTTP, no log (RO-01).

`make_worker` is a worker in anybody's process; `start` is `noetl worker start`, whose processes are in `working/`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from noetl import __version__, lasting
from noetl.chance import SYSTEM
from noetl.clock import Clock
from noetl.config import Settings, cores
from noetl.errors import RequestError
from noetl.keychain.contract import Keychain
from noetl.queues.contract import Profile, Transport
from noetl.results.stores import Stores
from noetl.runner.invoke import Invoker
from noetl.runner.lease import Terms
from noetl.runner.toolbox import Toolbox
from noetl.runner.worker import Playbooks, Worker
from noetl.tools.contract import Hands, ToolSettings
from noetl.tools.registry import Declarations, is_installed


def start(
    settings: Settings,
    *,
    processes: int = 0,
    drain_seconds: float,
    on_ready: Callable[[int], None],
    wanted: Callable[[], int] | None = None,
) -> int:
    """Be a worker until a signal ends it; 0: it drained. `processes`: 0 is one for each core.

    `on_ready` is told how many processes take jobs, when all do and after each change. `wanted` says how many there
    should be when SIGHUP asks; without it, one process needs no supervisor. Raises what makes it no worker at all.
    """
    import asyncio

    if not settings.queue_url:
        raise RequestError("a worker reaches its servers over NATS: set queue.url, or give --queue nats://host:4222")
    count = processes or cores()
    if count == 1 and wanted is None:
        from noetl.working.alone import work_alone

        return lasting.run(work_alone(settings, drain_seconds=drain_seconds, on_ready=lambda: on_ready(1)))
    from noetl.working.supervisor import supervise

    return asyncio.run(supervise(settings, count, drain_seconds=drain_seconds, on_ready=on_ready, wanted=wanted))


def make_worker(
    settings: Settings,
    *,
    name: str,
    transport: Transport,
    results: Stores,
    keychain: Keychain,
    playbooks: Playbooks,
    clock: Clock,
    kinds: Declarations,
    is_embedded: bool,
    chance: Callable[[], float] = SYSTEM.random,
) -> Worker:
    """A worker that takes its jobs from a transport; `is_embedded`: it runs in the process of whoever asked."""
    hands = Hands(clock=clock, settings=tool_settings(settings, is_embedded=is_embedded))
    invoker = Invoker(toolbox=Toolbox(hands, kinds), results=results, keychain=keychain, clock=clock)
    return Worker(
        name=name,
        transport=transport,
        invoker=invoker,
        playbooks=playbooks,
        slots=settings.slots,
        chance=chance,
        terms=Terms(lease_seconds=settings.lease_seconds, is_fenced=not is_embedded),
    )


def profile_of(settings: Settings, name: str, kinds: Declarations) -> Profile:
    """What a worker of this process says of itself."""
    return Profile(
        worker=name,
        pool=settings.pool,
        slots=settings.slots,
        host=socket.gethostname(),
        pid=os.getpid(),
        version=__version__,
        kinds=tuple(sorted(kind for kind in kinds if kinds.can_run(kind) and is_installed(kinds[kind]))),
    )


def tool_settings(settings: Settings, *, is_embedded: bool) -> ToolSettings:
    """What the operator set for tools. On a machine of its own an author's tasks are at home; in a cluster they are
    guests, and the services of a worker's machine are none of theirs (security 7)."""
    return ToolSettings(
        http_allow=settings.http_allow,
        is_loopback_allowed=is_embedded if settings.http_loopback is None else settings.http_loopback,
        script_roots=settings.script_roots,
        process_slots=settings.process_slots,
        python_memory_mb=settings.python_memory_mb,
        is_inline_allowed=settings.python_inline,
        is_duckdb_external_allowed=settings.duckdb_external_access,
        home=settings.home,
        result_bytes_max=settings.result_bytes_max,
    )
