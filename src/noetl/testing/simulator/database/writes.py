"""What a commit writes to a simulated database: executions, events, snapshots, and the jobs that follow from them.

A log that ends somewhere else, or a key that is taken, raises HeadMoved; whoever calls takes back what was written
until then (`Tables.transact`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from noetl.engine.commands import Key
from noetl.engine.events import Event, LoopIterationDone, encode
from noetl.stores.contract import LIVE, Append, Batch, Execution, HeadMoved, Snapshot
from noetl.stores.shared import (
    LAST_EVENTS,
    LEASED,
    PARKED,
    READY,
    NewJob,
    ParkedJob,
    QueueChanges,
    Revoked,
)
from noetl.testing.simulator.database.locks import Row, Session
from noetl.testing.simulator.database.tables import ExecutionRow, Job, Tables


def written_rows(tables: Tables, batch: Batch, changes: QueueChanges) -> list[Row]:
    """What a commit changes of what is there, in the order of locking."""
    ids = {append.execution_id for append in batch.appends if append.execution_id in tables.executions}
    keys = {key for key in (*changes.gone, *changes.ready) if key in tables.jobs}
    keys.update(parked.key for parked in changes.parked if parked.key in tables.jobs)
    return [*sorted(ids), *sorted(keys)]


class Writing:
    """One batch, written under a tag."""

    def __init__(self, tables: Tables, tag: int, now: float, lease_seconds: float) -> None:
        self._tables = tables
        self._tag = tag
        self._now = now
        self._lease_seconds = lease_seconds

    def write(self, session: Session, batch: Batch, changes: QueueChanges) -> list[Revoked]:
        """All of it: the leased jobs that it took away. Raises HeadMoved."""
        for key, job in session.jobs.items():
            self._put_job(key, job)
        for row in batch.executions:
            self._insert(row)
        for append in batch.appends:
            self._append(append)
        for snapshot in batch.snapshots:
            self._keep(snapshot)
        for added in changes.added:
            self._add(added)
        for parked in changes.parked:
            self._park(parked)
        for key in changes.ready:
            self._make_ready(key)
        return self._take_away(changes.gone)

    # --- logs --------------------------------------------------------------------------------------------------------

    def _insert(self, row: Execution) -> None:
        tables = self._tables
        keys = [("request", row.request_key), ("parent", row.parent_key)]
        own = [(kind, key) for kind, key in keys if key is not None]
        if row.id in tables.executions or any(key in tables.ids for key in own):
            raise HeadMoved("an execution with that id, request key or parent key is there already")
        tables.put(tables.executions, row.id, ExecutionRow(execution=row, tag=self._tag))
        for key in own:
            tables.put(tables.ids, key, row.id)

    def _append(self, append: Append) -> None:
        tables = self._tables
        row = tables.executions.get(append.execution_id)
        if row is None or row.execution.head != append.first_seq - 1:
            raise HeadMoved(f"the log of execution {append.execution_id} ends somewhere else")
        tables.put(tables.executions, append.execution_id, self._moved(row, append))
        bodies = [(encode(event), self._tag) for event in append.events]
        tables.extend(tables.logs, append.execution_id, bodies)
        for seq, event in enumerate(append.events, append.first_seq):
            self._note(append.execution_id, seq, event)

    def _moved(self, row: ExecutionRow, append: Append) -> ExecutionRow:
        execution = replace(
            row.execution,
            head=row.execution.head + len(append.events),
            status=append.status,
            ended_at=append.ended_at,
            digest=append.digest,
        )
        due = [at for at in (row.deadline_at, append.deadline_at) if at is not None]
        return ExecutionRow(
            execution=execution,
            tag=self._tag,
            deadline_at=min(due, default=None) if append.status in LIVE else None,
            follow_until=(row.follow_until if append.follow_until is None else append.follow_until) or None,
            exported=row.exported,
        )

    def _note(self, execution_id: int, seq: int, event: Event) -> None:
        """What the log is asked for by other than its order."""
        tables = self._tables
        if isinstance(event, LoopIterationDone):
            tables.extend(tables.iterations, (execution_id, event.run), ((event.iter, seq),))
        if isinstance(event, LAST_EVENTS):
            tables.put(tables.endings, (execution_id, event.run, event.iter, event.lease), seq)

    def _keep(self, snapshot: Snapshot) -> None:
        known = self._tables.snapshots.get(snapshot.execution_id)
        if known is None or snapshot.seq >= known.seq:
            self._tables.put(self._tables.snapshots, snapshot.execution_id, snapshot)

    # --- jobs --------------------------------------------------------------------------------------------------------

    def _put_job(self, key: Key, job: Job | None) -> None:
        if job is None:
            self._tables.remove(self._tables.jobs, key)
        else:
            self._tables.put(self._tables.jobs, key, job)

    def _add(self, added: NewJob) -> None:
        if added.key in self._tables.jobs:
            return
        job = Job(
            key=added.key,
            pool=added.pool,
            priority=added.priority,
            state=_state_of(added),
            group=added.group,
            lease=added.lease,
            deliveries=int(added.lease > 0),
            last_report=0,
            worker=added.worker,
            lease_until=self._now + self._lease_seconds,
            ready_at=max(added.until, self._now),
            child_key=added.child_key,
        )
        self._tables.put(self._tables.jobs, added.key, job)

    def _park(self, parked: ParkedJob) -> None:
        job = self._tables.jobs.get(parked.key)
        if job is None:
            return
        after = replace(
            job,
            state=READY if parked.until else PARKED,
            ready_at=parked.until if parked.until > 0 else job.ready_at,
            child_key=parked.child_key,
            lease=-abs(job.lease),
            worker="",
            deliveries=0,
        )
        self._tables.put(self._tables.jobs, parked.key, after)

    def _make_ready(self, key: Key) -> None:
        job = self._tables.jobs.get(key)
        if job is not None and (job.state != READY or job.ready_at > self._now):
            after = replace(job, state=READY, ready_at=self._now, child_key="", worker="")
            self._tables.put(self._tables.jobs, key, after)

    def _take_away(self, keys: Sequence[Key]) -> list[Revoked]:
        tables = self._tables
        gone = [tables.jobs[key] for key in dict.fromkeys(keys) if key in tables.jobs]
        for job in gone:
            tables.remove(tables.jobs, job.key)
            # A loop's jobs may come back under the same keys, and must not come back under the same lease.
            if job.group and (job.key[0], job.group) in tables.holdings:
                tables.remove(tables.holdings, (job.key[0], job.group))
        return [Revoked(key=job.key, lease=job.lease, worker=job.worker) for job in gone if job.state == LEASED]


def _state_of(added: NewJob) -> int:
    if added.child_key:
        return PARKED
    return LEASED if added.lease else READY
