"""A connection to a NATS server, secured before anything secret is said.

A connection that breaks is not mended: what was under way fails at once, and whoever comes next makes a new one. So
nothing waits for a server that is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable
from typing import Any, TypeVar

import nats.errors
from nats.aio.client import Client

from noetl.messaging.server import Server, Witness, tls_context

CLOSE_SECONDS_MAX = 1.0
REFUSALS_KEPT_MAX = 20
NAME = "noetl"
Answer = TypeVar("Answer")


class Unsecured(nats.errors.Error):
    """The server does not offer the TLS that is demanded."""


class Broken(nats.errors.Error):
    """The connection ended while something was under way."""


class Connection:
    """One connection, and who uses it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.is_made = False
        self.users = 0
        self.used_at = 0.0
        self.ended = asyncio.Event()
        self.refusals: deque[str] = deque(maxlen=REFUSALS_KEPT_MAX)  # told besides: nothing answers what is not allowed

    @property
    def is_usable(self) -> bool:
        return self.client.is_connected and not self.ended.is_set()

    async def during(self, operation: Awaitable[Answer]) -> Answer:
        """Wait for something on this connection, as long as there is one. Raises Broken."""
        asked = asyncio.ensure_future(operation)
        ended = asyncio.ensure_future(self.ended.wait())
        try:
            await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
            if asked.done() and not asked.cancelled():
                return asked.result()
            raise Broken
        finally:
            ended.cancel()
            if not asked.done():
                asked.cancel()
                await asyncio.wait({asked})

    async def close(self) -> None:
        with contextlib.suppress(Exception):  # it is given up anyway
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                await self.client.close()


async def connected(server: Server, connect_seconds: float) -> Connection:
    """A new connection. Raises errors of the library, OSError, TimeoutError, Unsecured, UnusableCredential."""
    connection = Connection(Client())

    async def on_error(error: Exception) -> None:
        if not connection.is_made:
            raise error  # else the library tries again by itself until the time is over, and then nobody knows why
        connection.refusals.append(str(error))

    async def on_closed() -> None:
        connection.ended.set()

    context = tls_context(server) if server.needs_tls else None
    try:
        async with asyncio.timeout(connect_seconds):
            await connection.client.connect(
                server.url,
                name=NAME,
                allow_reconnect=False,
                connect_timeout=max(1, round(connect_seconds)),
                error_cb=on_error,
                closed_cb=on_closed,
                tls=context,
                tls_hostname=server.host if context else None,
                **identification(connection.client, server, context),
            )
            if context is not None and not context.is_used:
                raise Unsecured
            connection.is_made = True
    except BaseException:
        await connection.close()
        raise
    return connection


def identification(client: Client, server: Server, context: Witness | None) -> dict[str, Any]:
    """How to log in, as functions that the library calls when it comes to that: after TLS has begun, or not at all."""

    def only_secured(value: Any) -> Any:
        if context is not None and not context.is_used:
            raise Unsecured
        return value

    given: dict[str, Any] = {}
    if server.user is not None:
        given |= {"user": lambda: only_secured(server.user), "password": lambda: only_secured(server.password or "")}
    if server.token is not None:
        given["token"] = lambda: only_secured(server.token)
    proof = server.proof
    if proof is not None:
        given["signature_cb"] = lambda nonce: proof.sign(only_secured(nonce))
        if proof.token:
            given["user_jwt_cb"] = lambda: only_secured(proof.token).encode()
        else:
            client._public_nkey = proof.public_key  # the only other way in reads the seed with one more library
    return given
