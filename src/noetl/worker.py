"""The worker's role: build a worker's parts and hand it over. A pure background pool: no HTTP, no log (RO-01)."""

from __future__ import annotations

import random

from noetl.clock import Clock
from noetl.config import Settings
from noetl.keychain.contract import Keychain
from noetl.queues.contract import Transport
from noetl.results.contract import Results
from noetl.runner.invoke import Invoker
from noetl.runner.toolbox import Toolbox
from noetl.runner.worker import Playbooks, Worker
from noetl.tools.contract import Hands, ToolSettings


def make_worker(
    settings: Settings,
    *,
    name: str,
    transport: Transport,
    results: Results,
    keychain: Keychain,
    playbooks: Playbooks,
    clock: Clock,
) -> Worker:
    """A worker that takes its jobs from a transport."""
    hands = Hands(clock=clock, results=results, credentials=keychain, settings=tool_settings(settings))
    invoker = Invoker(toolbox=Toolbox(hands), results=results, keychain=keychain, clock=clock)
    return Worker(
        name=name,
        transport=transport,
        invoker=invoker,
        playbooks=playbooks,
        slots=settings.slots,
        chance=random.random,
    )


def tool_settings(settings: Settings) -> ToolSettings:
    """What the operator set for tools."""
    return ToolSettings(
        http_allow=settings.http_allow,
        script_roots=settings.script_roots,
        process_slots=settings.process_slots,
        python_memory_mb=settings.python_memory_mb,
        result_bytes_max=settings.result_bytes_max,
    )
