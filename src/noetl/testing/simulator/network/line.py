"""A user's way to a server, as HTTP would be: a request goes there, is worked on there, and its answer comes back.

Work runs as a task of the server's process: if that is killed the work ends where it is, and no answer comes. A request
may be lost, late or doubled, and so may its answer; nobody who waits for one knows which it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from noetl.messaging.unanswered import NotConnected, Silent
from noetl.testing.simulator.network.carriage import Carriage, Place
from noetl.testing.simulator.network.links import fail

PATIENCE_SECONDS = 10.0
Answer = TypeVar("Answer")


class Line:
    """See above; `node` is the user's."""

    def __init__(self, node: Place, carriage: Carriage) -> None:
        self._node = node
        self._carriage = carriage
        self._under_way: set[object] = set()  # work at servers: the loop alone would not hold on to it

    async def call(
        self, server: Place, work: Callable[[], Awaitable[Answer]], patience_seconds: float = PATIENCE_SECONDS
    ) -> Answer:
        """What the work gave, or what it raised. Raises Silent: no answer came; NotConnected: nobody is there."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()
        silence = Silent(f"{server.name} did not answer within {patience_seconds:g} s")
        timer = loop.call_later(patience_seconds, fail, answered, silence)
        if server.is_alive:
            self._carriage.carry(self._node, server, self._serve, server, work, answered)
        else:
            refused = NotConnected(f"cannot connect to {server.name}: connection refused")
            self._carriage.carry(self._node, self._node, fail, answered, refused)
        try:
            return await answered
        finally:
            timer.cancel()

    def _serve(self, server: Place, work: Callable[[], Awaitable[Answer]], answered: asyncio.Future[Answer]) -> None:
        """At the server."""
        task = asyncio.get_running_loop().create_task(done(work))
        self._under_way.add(task)
        task.add_done_callback(partial(self._send_back, server, answered))

    def _send_back(self, server: Place, answered: asyncio.Future[Answer], task: asyncio.Task[Answer]) -> None:
        self._under_way.discard(task)
        if task.cancelled():
            broken = NotConnected(f"{server.name} ended the connection")
            self._carriage.carry(server, self._node, fail, answered, broken)
        elif (fault := task.exception()) is not None:
            self._carriage.carry(server, self._node, fail, answered, fault)
        else:
            self._carriage.carry(server, self._node, succeed, answered, task.result())


async def done(work: Callable[[], Awaitable[Answer]]) -> Answer:
    return await work()


def succeed(answered: asyncio.Future[Answer], answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)
