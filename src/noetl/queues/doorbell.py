"""The doorbell: one server tells the others that a pool has ready jobs (protocol §6).

A message may be lost, doubled or late: servers with waiting polls look by themselves, too. At most one for each pool in
RING_SECONDS goes out: the first at once, and one more at the end of that time if somebody rang meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from noetl.errors import Unreachable
from noetl.queues.wire import Subjects

if TYPE_CHECKING:  # the link needs the library of an extra
    from noetl.messaging.link import Letter, Link, Subscription

RING_SECONDS = 0.005


class Doorbell:
    def __init__(self, link: Link, *, prefix: str) -> None:
        self._link = link
        self._subjects = Subjects(prefix)
        self._quiet: dict[str, bool] = {}  # pools that were rung for just now; True: somebody rang again
        self._ringing: set[asyncio.Task[None]] = set()
        self._subscription: Subscription | None = None

    def ring(self, pool: str) -> None:
        """There may be work in that pool."""
        if pool in self._quiet:
            self._quiet[pool] = True
            return
        self._quiet[pool] = False
        loop = asyncio.get_running_loop()
        loop.call_later(RING_SECONDS, self._again, pool)
        task = loop.create_task(self._publish(pool))
        self._ringing.add(task)
        task.add_done_callback(self._ringing.discard)

    def _again(self, pool: str) -> None:
        if self._quiet.pop(pool):
            self.ring(pool)

    async def _publish(self, pool: str) -> None:
        try:
            await self._link.publish(self._subjects.ready(pool))
        except Unreachable:
            return  # it may be lost

    async def heard(self, callback: Callable[[str], None]) -> None:
        """Call this with the pool whenever another server, or this one, has rung."""

        def on_letter(letter: Letter) -> None:
            callback(letter.subject.rpartition(".")[2])

        self._subscription = await self._link.subscribe(self._subjects.ready("*"), on_letter)

    async def close(self) -> None:
        if self._subscription is not None:
            await self._link.unsubscribe(self._subscription)
            self._subscription = None
        if self._ringing:
            await asyncio.wait(self._ringing)
