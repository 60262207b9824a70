"""A worker of one process: no supervisor, and whoever started it sees to it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from noetl.config import Settings
from noetl.working.process import Stop, work

SIGNALS = (signal.SIGTERM, signal.SIGINT)
EXIT_AT_ONCE = 1


async def work_alone(settings: Settings, *, drain_seconds: float, on_ready: Callable[[], None]) -> int:
    """Be a worker in this process until a signal ends it."""
    await work(settings, stopped_by_signals(drain_seconds), on_ready)
    return 0


def stopped_by_signals(drain_seconds: float) -> Stop:
    """The first signal drains; the second ends the process at once, and what tools started with it."""
    stop = Stop(drain_seconds)

    def stopped() -> None:
        if stop.asked.is_set():
            os._exit(EXIT_AT_ONCE)
        stop()

    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopped)
    return stop
