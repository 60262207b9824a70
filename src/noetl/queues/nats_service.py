"""A server's ear on NATS: requests of workers come in, each is answered by a task of its own, within bounds.

    <prefix>.srv.any.<verb>          one of all servers gets it
    <prefix>.srv.<server id>.<verb>  this one: reports of jobs it gave, parts of large answers

A waiting poll is a coroutine and no thread. Beyond a bound of its kind a request is answered `busy`, at once and
without being looked at. An answer that cannot be sent is lost: whoever waits for it asks again (protocol §9).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from noetl.clock import Clock
from noetl.engine.commands import Key
from noetl.errors import NoetlError, Unreachable
from noetl.messaging.sealed import Entropy
from noetl.queues import wire
from noetl.queues.contract import WorkerService
from noetl.queues.nats_answers import Answers

if TYPE_CHECKING:  # the link needs the library of an extra
    from noetl.messaging.link import Letter, Link, Subscription

AT_ONCE_MAX = {wire.POLL: 10_000, wire.REPORT: 4_000}
OTHERS_AT_ONCE_MAX = 1_000  # of each further kind
BYTES_AT_ONCE_MAX = 256 * 1024 * 1024  # of all requests under way
DRAIN_SECONDS_MAX = 10.0

log = logging.getLogger("noetl.queues")


class NatsService:
    """The requests of all workers to one server."""

    def __init__(
        self,
        link: Link,
        service: WorkerService,
        *,
        prefix: str,
        server_id: str,
        clock: Clock,
        entropy: Entropy = os.urandom,
    ) -> None:
        self._link = link
        self._subjects = wire.Subjects(prefix)
        self._answers = Answers(service, server_id=server_id, clock=clock, entropy=entropy)
        self._shared: list[Subscription] = []
        self._own: list[Subscription] = []
        self._under_way: dict[asyncio.Task[None], None] = {}  # in the order they came: it shows when they stop
        self._counts: Counter[str] = Counter()
        self._bytes = 0

    async def start(self) -> None:
        """Listen; also after every break of the connection."""
        for verb in wire.VERBS:
            heard = partial(self._heard, verb)
            own = self._subjects.verb(self._answers.server_id, verb)
            self._own.append(await self._link.subscribe(own, heard))
            self._shared.append(await self._link.subscribe(self._subjects.verb(wire.ANY, verb), heard, wire.SERVERS))

    async def drain(self) -> None:
        """Take no further poll, leave all else to other servers, finish what is under way, listen no more.

        A waiting poll ends by itself within POLL_SECONDS_MAX: cutting it short could lose jobs that it just claimed.
        """
        self._answers.is_draining = True
        for subscription in self._shared:
            await self._link.unsubscribe(subscription)
        self._shared.clear()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=DRAIN_SECONDS_MAX)
        await self.close()

    async def close(self) -> None:
        """At once: who waits for an answer asks another server."""
        for subscription in (*self._shared, *self._own):
            await self._link.unsubscribe(subscription)
        self._shared.clear()
        self._own.clear()
        under_way = list(self._under_way)
        for task in under_way:
            task.cancel()
        if under_way:
            await asyncio.wait(under_way)

    async def revoke(self, worker: str, held: list[tuple[Key, int]]) -> None:
        """Tell a worker at once that these jobs are no longer its own. It may be lost: then a heartbeat tells."""
        for start in range(0, len(held), wire.HELD_MAX):
            try:
                part = held[start : start + wire.HELD_MAX]
                await self._link.publish(self._subjects.revoked(worker), wire.encode(part))
            except Unreachable:
                return

    @property
    def waiting_polls(self) -> int:
        return self._counts[wire.POLL]

    def _heard(self, verb: str, letter: Letter) -> None:
        if not letter.reply.startswith(self._subjects.inboxes):
            return  # nobody waits, or the server is to say something where it has no business to
        size = len(letter.data)
        is_full = self._counts[verb] >= AT_ONCE_MAX.get(verb, OTHERS_AT_ONCE_MAX)
        if is_full or self._bytes + size > BYTES_AT_ONCE_MAX:
            verb, size = wire.BUSY, 0
        self._counts[verb] += 1
        self._bytes += size
        task = asyncio.get_running_loop().create_task(self._serve(verb, letter))
        self._under_way[task] = None
        task.add_done_callback(partial(self._served, verb, size))

    def _served(self, verb: str, size: int, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self._counts[verb] -= 1
        self._bytes -= size

    async def _serve(self, verb: str, letter: Letter) -> None:
        if verb == wire.BUSY:
            answer = self._answers.refused(wire.BUSY, "the server has as much to do as it may")
        else:
            answer = await self._answers.answer(verb, letter.data, self._link.message_bytes_max)
        try:
            await self._link.publish(letter.reply, answer)
        except NoetlError as fault:
            log.info("answer not sent: %s", fault, extra={"action": "answer_not_sent"})
