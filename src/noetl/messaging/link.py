"""A link to a NATS server that mends itself: for roles, which live longer than any connection.

A tool's connection is made when it is needed and is never mended (`connection.py`). A role needs one that comes back by
itself, for ever: each time a new connection, secured and logged in like the first, with every subscription made again.
Pauses between attempts grow, are bounded and jittered. Nothing is kept for later meanwhile: who asks while there is no
connection is told so at once, and what was under way when it broke fails. So nobody waits for a server that is gone,
and nothing is sent twice. A link belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import ssl
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from noetl.clock import Clock
from noetl.errors import PayloadTooLarge
from noetl.messaging.connection import Connection, Unsecured, connected
from noetl.messaging.pauses import Pauses
from noetl.messaging.server import Server
from noetl.messaging.signing import UnusableCredential
from noetl.messaging.unanswered import NobodyThere, NotConnected, Silent

CONNECT_SECONDS_MAX = 5.0
CHECK_SECONDS = 5.0  # how often a connection is asked whether it is alive
PONG_SECONDS_MAX = 5  # and how long it may take to say so
STEADY_SECONDS = 10.0  # a connection that held so long was a good one: the next pause is short again
ASKED_MAX = 100_000  # requests under way
STATUS, NO_RESPONDERS = "Status", "503"
FAULTS = (nats.errors.Error, OSError, TimeoutError)
NOT_LET_IN = (UnusableCredential, Unsecured, ssl.SSLError)

log = logging.getLogger("noetl.messaging")


class Letter(NamedTuple):
    """A message that came in."""

    subject: str
    data: bytes
    reply: str  # where an answer goes; "": nobody waits for one


class Subscription:
    """What a link listens to, on whichever connection it has."""

    def __init__(self, subject: str, queue: str, on_letter: Callable[[Letter], None]) -> None:
        self.subject = subject
        self.queue = queue
        self._on_letter = on_letter
        self._of_library: object = None

    async def make(self, client: Client) -> None:
        self._of_library = await client.subscribe(self.subject, queue=self.queue, cb=self._heard)

    async def unmake(self) -> None:
        end = getattr(self._of_library, "unsubscribe", None)
        self._of_library = None
        if end is not None:
            with contextlib.suppress(*FAULTS):  # of a connection that is gone
                await end()

    async def _heard(self, message: Msg) -> None:
        try:
            self._on_letter(Letter(message.subject, message.data, message.reply))
        except Exception:  # a fault of ours must not end the subscription
            log.exception("message not handled", extra={"action": "message_not_handled", "subject": message.subject})


class Link:
    """See above. `inbox` is the subject under which answers come; `start` it, `close` it."""

    def __init__(self, server: Server, *, inbox: str, clock: Clock, chance: Callable[[], float]) -> None:
        self.place = server.place
        self._server = server
        self._clock = clock
        self._inbox = f"{inbox}.{secrets.token_hex(16)}"  # nobody can guess where an answer is waited for
        self._numbers = count(1)
        self._asked: dict[str, asyncio.Future[bytes]] = {}
        self._subscriptions: list[Subscription] = []
        self._connection: Connection | None = None
        self._is_settled = asyncio.Event()  # there is a connection, or it is known that asking again will not help
        self._keeping: asyncio.Task[None] | None = None
        self._pauses = Pauses(clock, chance)
        self._why = "it was not tried yet"

    @property
    def is_up(self) -> bool:
        return self._connection is not None and self._connection.is_usable

    @property
    def message_bytes_max(self) -> int:
        """What the server takes; while there is none, what it usually takes."""
        return self._connection.client.max_payload if self._connection else 1024 * 1024

    def start(self) -> None:
        """Connect, in the background, and stay connected."""
        self._keeping = asyncio.get_running_loop().create_task(self._keep())

    async def until_up(self, wait_seconds: float) -> None:
        """Wait for the connection. Raises NotConnected, which says why there is none: at once if we are not let in."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_seconds):
                await self._is_settled.wait()
        if not self.is_up:
            raise NotConnected(f"cannot connect to NATS at {self.place}: {self._why}")

    async def close(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
            self._keeping = None

    # --- messages ----------------------------------------------------------------------------------------------------

    async def request(
        self, subject: str, data: bytes, wait_seconds: float, headers: dict[str, str] | None = None
    ) -> bytes:
        """Ask, and wait so long. Raises NotConnected, NobodyThere, Silent, PayloadTooLarge."""
        client = self._client(len(data))
        if len(self._asked) >= ASKED_MAX:
            raise NotConnected(f"{ASKED_MAX} requests to NATS are under way, which is as many as there may be")
        loop = asyncio.get_running_loop()
        number = str(next(self._numbers))
        answered: asyncio.Future[bytes] = loop.create_future()
        self._asked[number] = answered
        timer = loop.call_later(wait_seconds, self._give_up, answered, wait_seconds)
        try:
            await self._send(client, subject, data, f"{self._inbox}.{number}", headers)
            return await answered
        finally:
            timer.cancel()
            del self._asked[number]
            if answered.done() and not answered.cancelled():
                answered.exception()  # seen, also where sending failed first

    async def publish(self, subject: str, data: bytes = b"") -> None:
        """Say something to whoever listens. Raises NotConnected, PayloadTooLarge."""
        await self._send(self._client(len(data)), subject, data, "")

    async def subscribe(self, subject: str, on_letter: Callable[[Letter], None], queue: str = "") -> Subscription:
        """Listen, also on every later connection; of a queue's listeners one gets each message."""
        made = Subscription(subject, queue, on_letter)
        self._subscriptions.append(made)
        if self._connection is not None:
            with contextlib.suppress(*FAULTS):  # a connection that broke just now: the next one has it
                await made.make(self._connection.client)
                await self._connection.client.flush(PONG_SECONDS_MAX)
        return made

    async def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.remove(subscription)
        await subscription.unmake()

    def _client(self, size: int) -> Client:
        if self._connection is None or not self._connection.is_usable:
            raise NotConnected(f"there is no connection to NATS at {self.place}: {self._why}")
        if size > self._connection.client.max_payload:
            raise PayloadTooLarge("a message to NATS", size, self._connection.client.max_payload)
        return self._connection.client

    async def _send(
        self, client: Client, subject: str, data: bytes, reply: str, headers: dict[str, str] | None = None
    ) -> None:
        """The library swallows a cancellation while it waits for room; it is raised again here."""
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        try:
            await client.publish(subject, data, reply=reply, headers=headers)
        except FAULTS as fault:
            raise NotConnected(f"the connection to NATS at {self.place} broke") from fault
        if task and task.cancelling() > before:
            raise asyncio.CancelledError

    def _give_up(self, answered: asyncio.Future[bytes], wait_seconds: float) -> None:
        if not answered.done():
            answered.set_exception(Silent(f"nobody answered within {wait_seconds:g} s"))

    async def _hear_answer(self, message: Msg) -> None:
        answered = self._asked.get(message.subject.rpartition(".")[2])
        if answered is None or answered.done():
            return  # nobody waits for it any more
        if not message.data and message.headers and message.headers.get(STATUS) == NO_RESPONDERS:
            answered.set_exception(NobodyThere("nobody listens"))
        else:
            answered.set_result(message.data)

    # --- the connection ----------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        while True:
            try:
                connection = await connected(self._server, CONNECT_SECONDS_MAX)
            except Exception as fault:  # whatever it is, the next attempt may do better; who asks is told
                self._tell(why_of(fault))
                self._is_settled.clear()
                if isinstance(fault, NOT_LET_IN) or is_login_refused(fault):
                    self._is_settled.set()
            else:
                await self._use(connection)
            await self._pauses.wait()

    async def _use(self, connection: Connection) -> None:
        """One connection, from its making to its end."""
        begun = self._clock.monotonic()
        try:
            await self._furnish(connection.client)
            self._connection = connection
            self._is_settled.set()
            log.info("connected to NATS", extra={"action": "nats_connected", "place": self.place})
            await self._until_dead(connection)
            last_words = f" ({connection.refusals[-1]})" if connection.refusals else ""
            self._tell(f"the connection broke{last_words}")
        except FAULTS as fault:
            self._tell(why_of(fault))
        finally:
            self._connection = None
            self._is_settled.clear()
            for answered in self._asked.values():
                if not answered.done():
                    answered.set_exception(NotConnected(f"the connection to NATS at {self.place} broke"))
            await connection.close()
        if self._clock.monotonic() - begun >= STEADY_SECONDS:
            self._pauses.reset()

    async def _furnish(self, client: Client) -> None:
        """Listen to everything before anybody is told that there is a connection; also to what is added meanwhile."""
        await client.subscribe(f"{self._inbox}.*", cb=self._hear_answer)
        made: set[Subscription] = set()
        while missing := [one for one in self._subscriptions if one not in made]:
            for subscription in missing:
                await subscription.make(client)
                made.add(subscription)
            await client.flush(PONG_SECONDS_MAX)

    async def _until_dead(self, connection: Connection) -> None:
        """A server that hangs closes nothing, so it is asked for a sign of life."""
        while not connection.ended.is_set():
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await connection.ended.wait()
            except TimeoutError:
                self._pass_on(connection)
                await connection.during(connection.client.flush(PONG_SECONDS_MAX))

    def _pass_on(self, connection: Connection) -> None:
        """What the server told besides: nothing answers what is not allowed, so this is the only sign of it."""
        while connection.refusals:
            refusal = connection.refusals.popleft()
            log.warning("NATS at %s: %s", self.place, refusal, extra={"action": "nats_refusal"})

    def _tell(self, why: str) -> None:
        if why != self._why:  # once for each reason, however often it is tried
            log.warning("NATS at %s: %s", self.place, why, extra={"action": "nats_not_connected"})
        self._why = why


def is_login_refused(fault: Exception) -> bool:
    return "authorization" in str(fault).lower()


def why_of(fault: Exception) -> str:
    """Why there is no connection, for people; the library's texts name no secret."""
    if isinstance(fault, UnusableCredential):
        return str(fault)
    if isinstance(fault, Unsecured):
        return "it does not offer TLS, which is demanded off this machine"
    if is_login_refused(fault):
        return "it refused the log-in"
    if isinstance(fault, TimeoutError):
        return "it did not answer in time"
    if isinstance(fault, OSError) and fault.errno and not isinstance(fault, ssl.SSLError | socket.gaierror):
        return os.strerror(fault.errno)
    return str(fault) or type(fault).__name__
