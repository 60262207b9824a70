"""Work on its way: which jobs are ready, who holds which under what lease, and how workers and server speak.

A job is leased under a number that is never used again; only the holder of the current number is heard (RO-03). The
queue is a projection of the log: it can be thrown away and built again from the states (`engine.effects.pending`).
The suite in `noetl.testing.queue_suite` holds for every implementation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from noetl.engine.commands import Change, Key, Report, Work

LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 10.0
DELIVERIES_MAX = 5
ACCEPTED, DUPLICATE, STALE = "ok", "dup", "stale"


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A job and the lease it was handed out under."""

    key: Key
    lease: int
    deliveries: int = 1


class Queue(Protocol):
    """The jobs. Times are of one clock, in seconds; the caller says what it is now."""

    def change(self, changes: Iterable[Change], now: float) -> None:
        """Take in what follows from committed events: jobs added, gone, parked, ready again."""
        ...

    def claim(self, worker: str, free: int, now: float, pool: str | None = None) -> list[Claim]:
        """Lease up to `free` ready jobs, lower priority numbers first, then older ones; no pool: of all pools."""
        ...

    def judge(self, report: Report) -> str:
        """Whether a report would count: ACCEPTED, DUPLICATE (it did already) or STALE. Changes nothing."""
        ...

    def accept(self, report: Report, now: float) -> None:
        """A report was committed: number it and extend its lease."""
        ...

    def extend(self, worker: str, held: Iterable[tuple[Key, int]], now: float) -> list[Key]:
        """A heartbeat: extend exactly these leases; gives those that no longer stand."""
        ...

    def expire(self, now: float) -> list[Claim]:
        """Jobs whose lease ran out are ready again, lease left as it is; gives those lost DELIVERIES_MAX times."""
        ...

    def next_at(self) -> float | None:
        """When the next parked job is due."""
        ...

    @property
    def is_idle(self) -> bool:
        """Nothing is ready, leased or due at a known time: only a child or a signal can bring work."""
        ...


class Transport(Protocol):
    """How a worker reaches its server: function calls, or messages."""

    async def poll(self, worker: str, free: int) -> list[Work]:
        """Wait for work; an empty list: there is none for now."""
        ...

    async def report(self, report: Report) -> str:
        """Send a report until it is answered: ACCEPTED, DUPLICATE or STALE."""
        ...

    async def heartbeat(self, worker: str, held: list[tuple[Key, int]]) -> list[Key]:
        """Say what one works on; gives what one should drop."""
        ...
