"""How a transaction of a pump begins: executions locked by ascending id, then the reports fenced (protocol §5).

Each kind of fence is a statement of its own, and sees what the one before did. What it does to a job's row stays with
the transaction until it commits; nobody else sees it, and the row is locked meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from noetl.engine.commands import Key
from noetl.stores.shared import (
    ACCEPTED,
    DUPLICATE,
    FINAL,
    LEASED,
    PARK,
    PROGRESS,
    READY,
    RECENT_EVENTS,
    STALE,
    Expiry,
    Fence,
    Head,
)
from noetl.testing.simulator.database.locks import Row, Session
from noetl.testing.simulator.database.tables import ExecutionRow, Job, Tables

Words = dict[tuple[Key, int], str]


def existing(tables: Tables, ids: Sequence[int]) -> list[int]:
    """Those of which there is a row to lock, in the order of locking."""
    return sorted({execution_id for execution_id in ids if execution_id in tables.executions})


def head_of(row: ExecutionRow) -> Head:
    execution = row.execution
    return Head(id=execution.id, head=execution.head, tag=row.tag, status=execution.status)


def fenced_rows(tables: Tables, fences: Sequence[Fence], expiries: Sequence[Expiry]) -> list[Row]:
    """The jobs that a report or an expiry is right about, as far as leases go: their rows are locked."""
    told = [(one.key, one.lease) for one in fences]
    told += [(one.key, one.lease) for one in expiries]
    return sorted({key for key, lease in told if (job := tables.jobs.get(key)) and job.lease == lease})


class Fencing:
    """The fences of one transaction."""

    def __init__(self, tables: Tables, session: Session, now: float, lease_seconds: float) -> None:
        self._tables = tables
        self._session = session
        self._now = now
        self._lease_seconds = lease_seconds

    def words(self, fences: Sequence[Fence], expiries: Sequence[Expiry]) -> Words:
        words = dict.fromkeys(((one.key, one.lease) for one in fences), STALE)
        expired = [one for one in expiries if (one.key, one.lease) not in words]
        for does in (PROGRESS, FINAL, PARK):
            for job, fence in self._next_ones([one for one in fences if one.does == does]):
                words[fence.key, fence.lease] = ACCEPTED
                self._session.jobs[fence.key] = self._after(job, fence)
        for one in expired:
            found = self._job(one.key)
            has_run_out = found is not None and found.lease == one.lease and found.lease_until < self._now
            words[one.key, one.lease] = ACCEPTED if has_run_out else STALE
            if has_run_out:
                self._session.jobs[one.key] = None
        for fence in fences:
            if words[fence.key, fence.lease] == STALE and self._is_recorded(fence):
                words[fence.key, fence.lease] = DUPLICATE
        return words

    def _next_ones(self, fences: Sequence[Fence]) -> list[tuple[Job, Fence]]:
        """Those whose turn it is, by the rows as they are before any of them."""
        return [
            (job, one)
            for one in fences
            if (job := self._job(one.key)) is not None and job.lease == one.lease and job.last_report == one.n - 1
        ]

    def _after(self, job: Job, fence: Fence) -> Job | None:
        if fence.does == FINAL:
            return None
        if fence.does == PROGRESS:
            until = self._now + self._lease_seconds
            return replace(job, last_report=fence.n, lease_until=until, state=LEASED, deliveries=0)
        # Ready at once, until the commit says until when it is parked.
        return replace(
            job, last_report=fence.n, state=READY, ready_at=self._now, lease=-job.lease, worker="", deliveries=0
        )

    def _is_recorded(self, fence: Fence) -> bool:
        """By the row of the job or, if that is gone, by the log: a lease ends with one report, whose last event has
        its number."""
        job = self._job(fence.key)
        if job is not None and abs(job.lease) == fence.lease and job.last_report >= fence.n:
            return True
        row = self._tables.executions.get(fence.key[0])
        if fence.does == PROGRESS or row is None:
            return False
        return self._tables.endings.get((*fence.key, fence.lease), 0) > max(row.execution.head - RECENT_EVENTS, 0)

    def _job(self, key: Key) -> Job | None:
        own = self._session.jobs
        return own[key] if key in own else self._tables.jobs.get(key)
