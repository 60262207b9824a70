"""Messages of a NATS subject, shared by all servers: from a stream, at least once, or as they fly by, at most once.

Where a stream holds the subject, a durable consumer remembers what was not done yet: a message is taken off it when its
start is committed, and comes again otherwise, to any server, also after an outage of all of them. Where none does, a
queue group gives each message to one server that listens just then, and what comes while none does is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, Header

from noetl.errors import OperatorError, Unreachable
from noetl.messaging.connection import Broken, Connection, Unsecured, connected
from noetl.messaging.server import Server
from noetl.messaging.signing import UnusableCredential
from noetl.queues.subjects import DONE, LATER, Delivered, Handle

CONNECT_SECONDS_MAX = 10.0
ASK_SECONDS_MAX = 10.0
FETCH_SECONDS = 5.0
AT_ONCE_MAX = 16
WAITING_MAX = 1000  # messages without a stream that wait for their turn; more are dropped by the library
ACK_SECONDS = 30.0  # after so long without a word a stream gives a message to somebody else
LATER_SECONDS = 10.0
WITHDRAW_SECONDS_MAX = 1
INACTIVE_SECONDS_MAX = 30 * 24 * 3600.0  # a consumer that nobody reads from for so long is removed by its server
FAULTS = (nats.errors.Error, nats.js.errors.Error, OSError, TimeoutError, Unsecured, Broken)


class NatsListener:
    """See above. `queue` is the name that all servers share."""

    def __init__(self, server: Server, *, subject: str, queue: str, stream: str | None = None) -> None:
        self.server = server
        self.subject = subject
        self.queue = queue
        self.stream = stream

    async def listen(self, handle: Handle) -> None:
        try:
            connection = await connected(self.server, CONNECT_SECONDS_MAX)
        except UnusableCredential as error:
            raise OperatorError(str(error)) from None
        except FAULTS as error:
            raise Unreachable(f"cannot connect to NATS at {self.server.place}: {said(error)}") from None
        try:
            await self._listen(connection, handle)
        except FAULTS as error:
            refusals = "; ".join(connection.refusals)
            raise Unreachable(
                f"NATS at {self.server.place}, subject {self.subject}: {refusals or said(error)}"
            ) from None
        finally:
            await connection.close()

    async def _listen(self, connection: Connection, handle: Handle) -> None:
        jetstream = connection.client.jetstream(timeout=ASK_SECONDS_MAX)
        stream = self.stream or await self._stream_of_subject(connection, jetstream)
        if stream is None:
            await self._take(connection, handle)
        else:
            await self._fetch(connection, jetstream, stream, handle)

    async def _stream_of_subject(self, connection: Connection, jetstream: JetStreamContext) -> str | None:
        try:
            asked: Awaitable[str] = jetstream.find_stream_name_by_subject(self.subject)
            return await connection.during(asked)
        except (nats.js.errors.Error, nats.errors.NoRespondersError):  # none, or no JetStream here at all
            return None

    # --- as they fly by ----------------------------------------------------------------------------------------------

    async def _take(self, connection: Connection, handle: Handle) -> None:
        client: Client = connection.client
        found = await client.subscribe(self.subject, queue=self.queue, pending_msgs_limit=WAITING_MAX)
        free = asyncio.Semaphore(AT_ONCE_MAX)

        async def one(message: Msg) -> None:
            try:
                await handle(delivered(message))
            finally:
                free.release()

        async with asyncio.TaskGroup() as group:
            while True:
                await free.acquire()
                group.create_task(one(await connection.during(found.next_msg(timeout=None))))

    # --- from a stream -----------------------------------------------------------------------------------------------

    async def _fetch(self, connection: Connection, jetstream: JetStreamContext, stream: str, handle: Handle) -> None:
        config = ConsumerConfig(
            durable_name=self.queue,
            filter_subject=self.subject,
            deliver_policy=DeliverPolicy.NEW,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=ACK_SECONDS,
            inactive_threshold=INACTIVE_SECONDS_MAX,
        )
        await connection.during(jetstream.add_consumer(stream, config))
        found = await connection.during(jetstream.pull_subscribe_bind(durable=self.queue, stream=stream))
        try:
            while True:
                try:
                    messages = await connection.during(found.fetch(AT_ONCE_MAX, timeout=FETCH_SECONDS))
                except TimeoutError:
                    continue
                await connection.during(asyncio.gather(*(settled(message, handle) for message in messages)))
        finally:
            await withdrawn(connection, found)


async def withdrawn(connection: Connection, found: JetStreamContext.PullSubscription) -> None:
    """Ask for no more, and wait until the server knows: else it may give us a message that nobody here takes."""
    with suppress(*FAULTS, ValueError):
        await found.unsubscribe()
        await connection.client.flush(timeout=WITHDRAW_SECONDS_MAX)


async def settled(message: Msg, handle: Handle) -> None:
    """Hand a message over, and tell its stream what became of it."""
    verdict = await handle(delivered(message, is_kept=True))
    if verdict == DONE:
        await message.ack()
    elif verdict == LATER:
        await message.nak(delay=LATER_SECONDS)
    else:
        await message.term()


def delivered(message: Msg, *, is_kept: bool = False) -> Delivered:
    headers = dict(message.headers or {})
    found: Any = headers.get(Header.MSG_ID.value)
    if found is None and is_kept:  # the stream's own number: the same when it comes again
        place = message.metadata
        found = f"{place.stream}:{place.sequence.stream}"
    return Delivered(subject=message.subject, data=message.data, headers=headers, id=found, is_kept=is_kept)


def said(error: BaseException) -> str:
    if isinstance(error, Unsecured):
        return "it does not offer TLS, which is demanded off this machine"
    if isinstance(error, Broken | nats.errors.ConnectionClosedError):
        return "the connection broke"
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, nats.js.errors.NotFoundError):
        return "there is no such stream"
    return str(error) or type(error).__name__
