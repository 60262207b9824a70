"""What a store offers that several servers share: transactions of a pump, the jobs, and what a sweep looks for.

The queue is a table beside the log, changed in the same transaction as the log (protocol §4 to §6). Who is right is
settled by row locks, tags and leases; times only say when to give up, and are those of the database's clock. The suite
in `noetl.testing.shared_store_suite` holds for every implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from noetl.engine.commands import Key
from noetl.engine.events import (
    Event,
    LoopIterationCancelled,
    LoopIterationDone,
    LoopIterationFailed,
    StepCancelled,
    StepDone,
    StepFailed,
    TaskWaiting,
)
from noetl.stores.contract import Batch, Execution, Store

if TYPE_CHECKING:  # for those who list jobs
    from noetl.stores.job_lists import ListedJob, StepRun, WantedJobs

READY, LEASED, PARKED = 0, 1, 2  # of a job; PARKED: until a child ends
ACCEPTED, DUPLICATE, STALE = "ok", "dup", "stale"
PROGRESS, FINAL, PARK = "progress", "final", "park"  # what a report does to its job

BACKOFF_SECONDS, BACKOFF_SECONDS_MAX = 0.25, 30.0  # before the second delivery; it doubles with each
NAMED_AGAIN_SECONDS = 5.0  # a job that was lost too often is named until somebody ends it
RECENT_EVENTS = 2000  # so far back a report is looked for that may have been recorded before
LAST_EVENTS: tuple[type[Event], ...] = (
    *(StepDone, StepFailed, StepCancelled),
    *(LoopIterationDone, LoopIterationFailed, LoopIterationCancelled),
    TaskWaiting,
)  # that a final report or a park ends with


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Where a log ends. `tag` is new with every append, and is also on the events of that append."""

    id: int
    head: int
    tag: int
    status: str


class Fence(msgspec.Struct, frozen=True, kw_only=True):
    """A report, as far as its job's row is concerned."""

    key: Key
    lease: int
    n: int
    does: str  # PROGRESS, FINAL or PARK


class Expiry(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is to end because its worker was lost too often; it counts only while that lease stands."""

    key: Key
    lease: int


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that an append makes. With a lease it is handed out in the same transaction."""

    key: Key
    pool: str
    priority: int = 0
    group: int = 0  # of a local loop: all its jobs go to one worker (`holding`)
    lease: int = 0
    worker: str = ""
    until: float = 0.0  # it is ready only then (seconds since 1970)
    child_key: str = ""  # it is PARKED until this child ends


class ParkedJob(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    until: float = 0.0  # seconds since 1970; 0.0: until its child ends
    child_key: str = ""


class QueueChanges(msgspec.Struct, kw_only=True):
    """What an append does to the queue, in this order. A job that is there already is left as it is."""

    added: list[NewJob] = []
    parked: list[ParkedJob] = []
    ready: list[Key] = []
    gone: list[Key] = []


class Revoked(msgspec.Struct, frozen=True, kw_only=True):
    """A job that a commit took from the worker that held it."""

    key: Key
    lease: int
    worker: str


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    lease: int
    deliveries: int


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """A job, for people."""

    key: Key
    pool: str
    state: int
    worker: str
    deliveries: int
    ready_at: float
    lease_until: float
    child_key: str = ""


class PoolRow(msgspec.Struct, frozen=True, kw_only=True):
    """What waits and runs in one pool."""

    pool: str
    ready: int
    leased: int
    parked: int
    oldest_wait_seconds: float  # of those that are ready; 0.0: none is


class Transaction(Protocol):
    """The transactions of one pump, one after the other, on a connection of its own.

        heads, words = await t.begin(ids, fences, expiries)
        …decide…
        revoked = await t.commit(batch, tag, changes)      or      await t.rollback()

    Where memory knows what `begin` would say, all of it can go in one trip: `commit_foreseen`.

    Any failure leaves it ready for the next `begin`, which connects again if it must.
    """

    async def begin(
        self, ids: Sequence[int], fences: Sequence[Fence], expiries: Sequence[Expiry] = ()
    ) -> tuple[dict[int, Head], dict[tuple[Key, int], str]]:
        """Lock these executions by ascending id, then fence the reports.

        Gives the heads of those that are there, and a word for each (key, lease): ACCEPTED, DUPLICATE or STALE. An
        accepted PROGRESS has its lease extended, a FINAL one or an expiry has lost its row, a PARK has given its lease
        back. Raises Unreachable.
        """
        ...

    async def commit(self, batch: Batch, tag: int, changes: QueueChanges) -> list[Revoked]:
        """Write everything and commit.

        Raises HeadMoved (the keys of a start are taken), Unreachable (whether it stands is not known).
        """
        ...

    async def commit_foreseen(
        self, seen: Sequence[Head], fences: Sequence[Fence], batch: Batch, tag: int, changes: QueueChanges
    ) -> list[Revoked]:
        """Begin and commit in one go, what was decided before anything was locked.

        It stands only if all of this holds under the locks: these heads, by number and tag, and each report ACCEPTED.
        Raises Unforeseen otherwise, and what `commit` raises.
        """
        ...

    async def rollback(self) -> None: ...

    async def close(self) -> None: ...


class SharedStore(Store, Protocol):
    """A store that several servers use side by side."""

    async def transaction(self) -> Transaction: ...

    async def heads(self, ids: Sequence[int]) -> dict[int, Head]: ...

    async def tag_at(self, execution_id: int, seq: int) -> int | None:
        """The tag of one event: whether a log is still the one that somebody has in memory."""
        ...

    async def clock_ahead_seconds(self) -> float:
        """What to add to this machine's monotonic clock, which nobody puts, to get the database's time."""
        ...

    # --- jobs --------------------------------------------------------------------------------------------------------

    async def claim(self, worker: str, pool: str, leases: Sequence[int], lease_seconds: float) -> list[Claimed]:
        """Lease up to len(leases) ready jobs, by priority and age, each under a number of its own.

        Jobs of one group go to the worker that holds the group.
        """
        ...

    async def has_ready(self, pool: str) -> bool:
        """Whether a job of the pool is ready now, for whomever it may be."""
        ...

    async def extend(self, worker: str, held: Sequence[tuple[Key, int]], lease_seconds: float) -> list[Key]:
        """A heartbeat: extend exactly these; gives those that no longer stand under that lease."""
        ...

    async def release(self, worker: str, held: Sequence[tuple[Key, int]]) -> int:
        """A worker gives these back: those it holds under that lease are ready now, lease left as it is, and the
        delivery does not count. How many."""
        ...

    async def expire(self, limit: int, deliveries_max: int) -> tuple[int, list[Expiry]]:
        """Leases that ran out: the jobs are ready again, lease left as it is. How many; and those lost too often."""
        ...

    async def holds(self, worker: str, key: Key, lease: int) -> bool:
        """Whether that worker has that job under that lease now."""
        ...

    async def holder(self, key: Key, lease: int) -> str | None:
        """The worker that got that job under that lease; None: no such lease stands, or it was given back."""
        ...

    async def jobs(self, execution_id: int, limit: int = 1000) -> list[JobRow]: ...

    async def pools(self) -> list[PoolRow]: ...

    async def listed_jobs(self, limit: int, wanted: WantedJobs) -> list[ListedJob]:
        """Leased ones first, those that run out soonest before others; then ready ones by pool, priority and age; then
        parked ones, those that wait for a time before others."""
        ...

    async def run_steps(self, runs: Sequence[StepRun]) -> dict[StepRun, str]:
        """The step that each of these is a run of, if the log has it."""
        ...

    # --- what a sweep looks for --------------------------------------------------------------------------------------

    async def overdue(self, limit: int) -> list[int]:
        """Live executions whose deadline_at has passed."""
        ...

    async def set_deadline(self, execution_id: int, deadline_at: float | None, head: int) -> None:
        """What is due was asked for: the next time to look, if there is one, as the log is at `head`.

        If it has grown since, nothing is changed: there may be an earlier time by now.
        """
        ...

    async def abandoned(self, limit: int) -> list[Execution]:
        """Executions whose server said it would follow something up, and did not in time. Ended ones among them."""
        ...

    async def take_over(self, limit: int, until: float) -> list[Execution]:
        """Those that are abandoned, marked as this server's until then: of several that ask, one gets each."""
        ...

    async def following(self, execution_ids: Sequence[int], until: float) -> None:
        """This server is still at it, until then."""
        ...

    async def followed(self, execution_ids: Sequence[int], marked_until: float) -> None:
        """This server is through. A later mark than that is of whoever decided something since, and stays."""
        ...

    async def orphans(self, limit: int, age_seconds: float) -> list[int]:
        """Live children, older than that, whose caller has ended or does not wait for them any more.

        A caller in an incident waits: its jobs come back when it is taken up again.
        """
        ...

    async def stranded(self, limit: int, age_seconds: float) -> list[int]:
        """I12: executions older than that with status running, of which there is no job and nobody follows them up."""
        ...

    async def unheard(self, limit: int, age_seconds: float) -> list[Execution]:
        """I12: children that ended so long ago, whose callers' jobs still wait for them."""
        ...

    # --- how far logs were exported ----------------------------------------------------------------------------------

    async def prepare_export(self) -> None:
        """Make what `behind` looks with, if it is not there: only where events are exported it costs anything."""
        ...

    async def behind(self, limit: int) -> list[tuple[int, int]]:
        """(execution, last exported seq) of those whose log has more."""
        ...

    async def advance(self, cursors: Sequence[tuple[int, int]]) -> None:
        """Everything up to these was exported; a cursor never goes back."""
        ...
