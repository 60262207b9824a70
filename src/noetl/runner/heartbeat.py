"""Heartbeats: what a worker holds goes out, what it should hold no longer comes back (protocol §6, §7).

What is not listed is not extended: that is how a lost answer to a poll heals. A heartbeat that is not answered is sent
again soon, since a lease that runs out costs a task. Where this runs is decided by the role: in a cluster in a thread
and on a connection of its own, so that nothing a task does can hold it up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.engine.commands import Key
from noetl.messaging.pauses import Pauses
from noetl.queues.contract import UNANSWERED, Transport

log = logging.getLogger("noetl.runner")

JOBS_PER_MESSAGE_MAX = 4_000  # of some 50 bytes each: far below what a message may have
AGAIN_SECONDS_MAX = 2.0

Held = Sequence[tuple[Key, int]]


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What a server said to one heartbeat."""

    sent_at: float  # by the monotonic clock
    held: Held  # those that were listed, with their leases
    gone: frozenset[Key]  # of those, the ones that no longer stand


class Heartbeat:
    """The heartbeats of one worker."""

    def __init__(
        self,
        *,
        worker: str,
        transport: Transport,
        clock: Clock,
        chance: Callable[[], float],
        every_seconds: float,
        held: Callable[[], Held],
        on_answer: Callable[[Answered], None],
    ) -> None:
        self.worker = worker
        self.transport = transport
        self.clock = clock
        self.every_seconds = every_seconds
        self.held = held
        self.on_answer = on_answer
        self._pauses = Pauses(clock, chance, most_seconds=AGAIN_SECONDS_MAX)
        self._is_answered = True

    async def run(self) -> None:
        """Beat for ever."""
        while True:
            try:
                await self.beat()
            except UNANSWERED as error:
                self._tell(False, f"no server answers the heartbeats: {error}")
                await self._pauses.wait()
            else:
                self._tell(True, "heartbeats are answered again")
                self._pauses.reset()
                beats = 2 if buggify("heartbeat.skip") else 1
                await self.clock.sleep(beats * self.every_seconds)

    def _tell(self, is_answered: bool, message: str) -> None:
        """One line when it begins and one when it ends, however long it takes."""
        if is_answered != self._is_answered:
            self._is_answered = is_answered
            facts = {"action": "heartbeat_answered" if is_answered else "heartbeat_unanswered", "worker": self.worker}
            log.log(logging.INFO if is_answered else logging.WARNING, message, extra=facts)

    async def beat(self) -> None:
        """Say what is held, in as many messages as it takes; with nothing in hand, that one is alive."""
        held = self.held()
        for start in range(0, max(1, len(held)), JOBS_PER_MESSAGE_MAX):
            part = list(held[start : start + JOBS_PER_MESSAGE_MAX])
            sent_at = self.clock.monotonic()
            gone = await self.transport.heartbeat(self.worker, part)
            self.on_answer(Answered(sent_at=sent_at, held=part, gone=frozenset(gone)))
