"""Jobs for people: one by one, with the place they wait in, who holds them, and for how long yet.

What a job is called is what it can do now: one that is ready only later is parked, as one that waits for a child is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.engine.commands import Key
from noetl.stores.wanted import ANY_PATH, Paths

READY, LEASED, PARKED = "ready", "leased", "parked"
STATES = (LEASED, READY, PARKED)  # in this order they are listed
StepRun = tuple[int, int]  # execution and run


class WantedJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs a list has. All that is given must hold."""

    pool: str = ""
    worker: str = ""  # only those that it holds
    state: str = ""
    paths: Paths = ANY_PATH  # of the playbooks that the executions run

    @property
    def states(self) -> tuple[str, ...]:
        """Those that can be in the list, in order."""
        return tuple(one for one in STATES if self.state in ("", one) and (not self.worker or one == LEASED))

    def fits(self, job: ListedJob) -> bool:
        return (
            job.state in self.states
            and self.pool in ("", job.pool)
            and self.worker in ("", job.worker)
            and self.paths.fit(job.path)
        )


class ListedJob(msgspec.Struct, frozen=True, kw_only=True):
    """Times count from now, by the clock of whoever keeps the jobs."""

    key: Key
    path: str
    pool: str
    priority: int
    state: str
    worker: str  # "": nobody holds it
    deliveries: int
    ready_seconds: float  # until it is ready; below 0: since it was
    lease_seconds: float  # until its lease runs out; 0.0: it has none
    is_for_child: bool  # it waits for no time


def order_of(job: ListedJob) -> tuple[Any, ...]:
    """By what a list is sorted."""
    orders: dict[str, tuple[Any, ...]] = {
        LEASED: (job.lease_seconds,),
        READY: (job.pool, job.priority, job.ready_seconds),
        PARKED: (job.is_for_child, job.ready_seconds),
    }
    return STATES.index(job.state), *orders[job.state], job.key
