"""Connections to NATS: one per credential's content, shared by all tasks that use it, closed when it is long unused.

A changed password is a connection of its own.
"""

from __future__ import annotations

import asyncio

from noetl.clock import Clock
from noetl.messaging.connection import Connection, connected
from noetl.messaging.server import Server

CONNECTIONS_MAX = 64
IDLE_SECONDS_MAX = 60.0


class Connections:
    """The connections of one worker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[bytes, Connection] = {}
        self._opening: dict[bytes, asyncio.Lock] = {}

    async def take(self, server: Server, identity: bytes, connect_seconds: float) -> Connection:
        """A connection for one task, to be given back; `identity` is equal for equal credentials. Raises what
        connecting raises."""
        async with self._opening.setdefault(identity, asyncio.Lock()):  # however many ask, one connects
            connection = self._open.get(identity)
            if connection is None or not connection.is_usable:
                await self._dropped(identity)
                await self._drop_unused()
                connection = self._open[identity] = await connected(server, connect_seconds)
            connection.users += 1
            return connection

    def give_back(self, connection: Connection) -> None:
        connection.users -= 1
        connection.used_at = self._clock.monotonic()

    async def close(self) -> None:
        connections = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _drop_unused(self) -> None:
        """Close what nobody has used for a while, and the longest unused if there are too many."""
        unused = sorted((found.used_at, identity) for identity, found in self._open.items() if not found.users)
        now, surplus = self._clock.monotonic(), len(self._open) + 1 - CONNECTIONS_MAX
        for place, (used_at, identity) in enumerate(unused):
            if now - used_at > IDLE_SECONDS_MAX or place < surplus:
                await self._dropped(identity)
                self._opening.pop(identity, None)

    async def _dropped(self, identity: bytes) -> None:
        connection = self._open.pop(identity, None)
        if connection is not None:
            await connection.close()
