"""A node's link to the simulated message server: the shape of `messaging.link.Link`, as its users know it.

As with the real one: who asks while there is no connection is told so at once, what was under way when it broke fails,
a broken connection is made again after a pause, with every subscription, and nothing is kept for later. A partition
closes nothing: messages vanish until the link, which would ask for a sign of life, notices it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from noetl.errors import PayloadTooLarge
from noetl.messaging.pauses import PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX, SHORTEST_PART
from noetl.messaging.unanswered import NobodyThere, NotConnected, Silent
from noetl.testing.simulator.network.carriage import Place

if TYPE_CHECKING:
    from noetl.testing.simulator.network.network import Network

CHECK_SECONDS, PONG_SECONDS = 5.0, 5.0  # when a hanging connection is noticed: the first, and at most both

log = logging.getLogger("noetl.messaging")


class SimLetter(NamedTuple):
    """A message that came in."""

    subject: str
    data: bytes
    reply: str  # where an answer goes; "": nobody waits for one


class SimSubscription:
    """What a link listens to."""

    def __init__(self, link: SimLink, subject: str, queue: str, on_letter: Callable[[SimLetter], None]) -> None:
        self.link = link
        self.subject = subject
        self.queue = queue
        self.is_over = False
        self._on_letter = on_letter

    def hear(self, letter: SimLetter) -> None:
        if self.is_over or not self.link.is_up:
            return
        try:
            self._on_letter(letter)
        except Exception:  # as in the real link: a fault of ours must not end the subscription
            log.exception("message not handled", extra={"action": "message_not_handled", "subject": letter.subject})


class SimLink:
    """See above."""

    def __init__(self, network: Network, node: Place, inbox: str) -> None:
        self.place = "the simulated network"
        self.node = node
        self.inbox = inbox
        self.is_up = False
        self.subscriptions: list[SimSubscription] = []
        self._network = network
        self._numbers = count(1)
        self._asked: dict[str, asyncio.Future[bytes]] = {}
        self._came_up = asyncio.Event()
        self._is_started = False
        self._is_suspected = False
        self._connections = 0
        self._pause_seconds = PAUSE_SECONDS_FIRST
        self._why = "it was not tried yet"

    @property
    def message_bytes_max(self) -> int:
        return self._network.message_bytes_max

    # --- messages ----------------------------------------------------------------------------------------------------

    async def request(
        self, subject: str, data: bytes, wait_seconds: float, headers: dict[str, str] | None = None
    ) -> bytes:
        """Ask, and wait so long. Raises NotConnected, NobodyThere, Silent, PayloadTooLarge."""
        self._check(len(data))
        loop = asyncio.get_running_loop()
        number = str(next(self._numbers))
        answered: asyncio.Future[bytes] = loop.create_future()
        self._asked[number] = answered
        silence = Silent(f"nobody answered within {wait_seconds:g} s")
        timer = loop.call_later(wait_seconds, fail, answered, silence)
        try:
            self._network.send(self, subject, data, f"{self.inbox}.{number}", headers)
            return await answered
        finally:
            timer.cancel()
            del self._asked[number]

    async def publish(self, subject: str, data: bytes = b"") -> None:
        """Say something to whoever listens. Raises NotConnected, PayloadTooLarge."""
        self._check(len(data))
        self._network.send(self, subject, data)

    async def subscribe(self, subject: str, on_letter: Callable[[SimLetter], None], queue: str = "") -> SimSubscription:
        """Listen, also on every later connection; of a queue's listeners one gets each message."""
        made = SimSubscription(self, subject, queue, on_letter)
        self.subscriptions.append(made)
        if self.is_up:
            self._network.listeners.add(made)
        return made

    async def unsubscribe(self, subscription: SimSubscription) -> None:
        self.subscriptions.remove(subscription)
        subscription.is_over = True
        self._network.listeners.remove(subscription)

    def hear_answer(self, number: str, data: bytes) -> None:
        answered = self._asked.get(number)
        if answered is not None and not answered.done():
            answered.set_result(data)

    def hear_nobody(self, number: str) -> None:
        answered = self._asked.get(number)
        if answered is not None:
            fail(answered, NobodyThere("nobody listens"))

    def _check(self, size: int) -> None:
        if not self.is_up:
            raise NotConnected(f"there is no connection to NATS at {self.place}: {self._why}")
        if size > self.message_bytes_max:
            raise PayloadTooLarge("a message to NATS", size, self.message_bytes_max)

    # --- the connection ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Connect, in the background, and stay connected."""
        self._is_started = True
        self._connect_later()

    async def until_up(self, wait_seconds: float) -> None:
        """Wait for the connection. Raises NotConnected."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_seconds):
                await self._came_up.wait()
        if not self.is_up:
            raise NotConnected(f"cannot connect to NATS at {self.place}: {self._why}")

    async def close(self) -> None:
        self._is_started = False
        self.break_off("it was closed")

    def break_off(self, why: str) -> None:
        """The connection is gone, and both ends know it."""
        self._why = why
        if not self.is_up:
            return
        self.is_up = False
        self._came_up.clear()
        self._network.leave(self)
        for answered in self._asked.values():
            fail(answered, NotConnected(f"the connection to NATS at {self.place} broke"))
        self._connect_later()

    def vanish(self) -> None:
        """The process is dead: nothing here happens any more, and nobody is told."""
        self._is_started = self.is_up = False
        self._asked = {}

    def suspect(self) -> None:
        """A message did not get through a partition: after a while the link has noticed, if it is still so."""
        if self._is_suspected:
            return
        self._is_suspected = True
        seconds = CHECK_SECONDS + PONG_SECONDS * self._network.faults.random()
        self.node.later(seconds, self._judge, self._connections)

    def _judge(self, connection: int) -> None:
        self._is_suspected = False
        if connection == self._connections and self._network.is_cut_off(self.node):
            self.break_off("it did not answer in time")

    def _connect_later(self) -> None:
        if not self._is_started:
            return
        seconds = self._pause_seconds * (SHORTEST_PART + (1 - SHORTEST_PART) * self._network.faults.random())
        self._pause_seconds = min(2 * self._pause_seconds, PAUSE_SECONDS_MAX)
        self.node.later(seconds, self._connect)

    def _connect(self) -> None:
        if not self._is_started or self.is_up:
            return
        if self._network.is_down or self._network.is_cut_off(self.node):
            self._why = "connection refused" if self._network.is_down else "it did not answer in time"
            self._connect_later()
            return
        self.is_up = True
        self._connections += 1
        self._pause_seconds = PAUSE_SECONDS_FIRST
        self._network.join(self)
        self._came_up.set()


def fail(answered: asyncio.Future[Any], fault: BaseException) -> None:
    """End the wait of whoever waits; if that process is killed first, nobody is to miss it."""
    if not answered.done():
        answered.set_exception(fault)
        answered.exception()
