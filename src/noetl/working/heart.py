"""Heartbeats in a thread of their own, with a loop and a connection of their own (protocol §7, rule 1).

Whatever holds up the worker's loop, a template that computes for a minute or a payload of 64 MiB that is parsed, its
leases stand. Only code that never lets go of the interpreter, which inline python can be, stops this thread too; then
the leases run out and the worker is fenced, as if it had been stopped.

A loop that has not moved for STALLED_SECONDS_MAX will not move again by itself, and its jobs must not be held for ever:
the process ends, and whoever supervises it starts another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from noetl.clock import Clock
from noetl.queues.contract import Transport
from noetl.runner.heartbeat import Answered
from noetl.runner.worker import Worker

STALLED_SECONDS_MAX = 300
LOOK_SECONDS = 1.0
AGAIN_SECONDS = 1.0
JOIN_SECONDS_MAX = 5.0
EXIT_STALLED = 70

log = logging.getLogger("noetl.worker")

Connect = Callable[[], AbstractAsyncContextManager[Transport]]


def end_process() -> None:
    """At once: there is no loop that could do it in order. What tools started ends with it."""
    os._exit(EXIT_STALLED)


class Heart:
    """The heartbeats of one worker; `connect` is called in the thread."""

    def __init__(
        self,
        worker: Worker,
        connect: Connect,
        clock: Clock,
        *,
        on_answer: Callable[[Answered], None],
        stalled_seconds_max: float = STALLED_SECONDS_MAX,
        on_stalled: Callable[[], None] = end_process,
    ) -> None:
        self._worker = worker
        self._connect = connect
        self._clock = clock
        self._on_answer = on_answer
        self._stalled_seconds_max = stalled_seconds_max
        self._on_stalled = on_stalled
        self._moves = 0  # counted by the worker's loop, read by the thread
        self._stop: Callable[[], object] = lambda: None  # known when the thread's loop is

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        """Beat as long as this lasts."""
        loop, has_begun = asyncio.get_running_loop(), threading.Event()

        def told(answer: Answered) -> None:
            loop.call_soon_threadsafe(self._on_answer, answer)

        moving = asyncio.ensure_future(self._move())
        thread = threading.Thread(
            target=lambda: asyncio.run(self._live(told, has_begun)), name="noetl-heart", daemon=True
        )
        thread.start()
        await asyncio.to_thread(has_begun.wait)
        try:
            yield
        finally:
            moving.cancel()
            self._stop()
            await asyncio.to_thread(thread.join, JOIN_SECONDS_MAX)

    async def _move(self) -> None:
        while True:
            self._moves += 1
            await self._clock.sleep(LOOK_SECONDS / 2)

    # --- in the thread -----------------------------------------------------------------------------------------------

    async def _live(self, told: Callable[[Answered], None], has_begun: threading.Event) -> None:
        loop, stopping = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stopping.set)
        has_begun.set()
        parts = [asyncio.ensure_future(part) for part in (self._beat(told), self._watch())]
        await stopping.wait()
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)

    async def _beat(self, told: Callable[[Answered], None]) -> None:
        while True:
            try:
                async with self._connect() as transport:
                    await self._worker.heartbeat(transport, told).run()
            except Exception:  # without a heart every job is lost: whatever it was, go on
                log.exception("heartbeats broke off", extra={"action": "heartbeat_failed"})
                await self._clock.sleep(AGAIN_SECONDS)

    async def _watch(self) -> None:
        """Looks are counted, and not time: a process that was stopped as a whole has not stalled."""
        seen, still = -1, 0
        while still * LOOK_SECONDS < self._stalled_seconds_max:
            await self._clock.sleep(LOOK_SECONDS)
            still = still + 1 if self._moves == seen else 0
            seen = self._moves
        facts = {"action": "worker_stalled", "jobs": self._worker.jobs}
        log.critical("the worker has not moved for too long; it is ended, and its jobs go to others", extra=facts)
        self._on_stalled()
