"""One lease, as its holder knows it (protocol §7, rule 4).

A server counts a lease from when it last heard of the worker. When that was is not known here; when it was *sent* is,
and that is earlier, so it is what counts. Past a part of the lease's time the worker no longer knows that the job is
its own: it starts no task until a server has answered again. Nothing here asks a server.
"""

from __future__ import annotations

import asyncio
import math

import msgspec

from noetl.clock import Clock
from noetl.config import LEASE_SECONDS

FIRM_PART = 0.9
HEARTBEATS_PER_LEASE = 3


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How long a lease lasts without a word of its holder, and what follows from that."""

    lease_seconds: float = LEASE_SECONDS
    is_fenced: bool = True  # False: worker and server are one process, and stop together

    @property
    def heartbeat_seconds(self) -> float:
        return self.lease_seconds / HEARTBEATS_PER_LEASE

    @property
    def firm_seconds(self) -> float:
        return self.lease_seconds * FIRM_PART if self.is_fenced else math.inf


class Lease:
    """What is known of one lease. All times are of the monotonic clock."""

    __slots__ = ("_clock", "_firm_seconds", "_heard", "_sent_at")

    def __init__(self, terms: Terms, clock: Clock, sent_at: float) -> None:
        """`sent_at`: when the request was sent that the job came in answer to."""
        self._clock = clock
        self._firm_seconds = terms.firm_seconds
        self._sent_at = sent_at
        self._heard: asyncio.Event | None = None  # made when somebody waits, which is seldom

    def heard(self, sent_at: float) -> None:
        """A server has answered what was sent then, and the lease stood."""
        self._sent_at = max(self._sent_at, sent_at)
        if self._heard is not None:
            self._heard.set()

    @property
    def is_firm(self) -> bool:
        """Whether the job is surely ours: a task may be started."""
        return self._clock.monotonic() - self._sent_at <= self._firm_seconds

    async def firm(self) -> None:
        """Wait until it is; a lease that is gone is told otherwise, by ending whoever waits here."""
        while not self.is_firm:
            self._heard = asyncio.Event()
            await self._heard.wait()
