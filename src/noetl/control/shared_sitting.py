"""A batch's time with a store that several servers share: row locks, tags and leases (protocol §5).

Open: lock the executions by ascending id, fence the reports, bring what is in memory up to the log. Commit: events,
rows and jobs in one transaction; jobs that somebody on this server waits for are written as leased already. A failure
leaves nothing: the next batch locks anew.

Most batches are reports of jobs that this server gave, of executions that nobody else has written to: what opening
would say is known. Those are decided first and locked, fenced, checked and written in one trip (`foreseen.py`). If
anything was otherwise nothing stands, memory is dropped, and the batch is opened as said above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.config import DEFAULT_POOL
from noetl.control.foreseen import Foreseen, Foresight
from noetl.control.handing_out import HandingOut, Reserved
from noetl.control.live import Executions, Live
from noetl.control.polls import Poll
from noetl.control.shared_following import subject_of
from noetl.control.turn import Turn
from noetl.engine import commands as ops
from noetl.engine.commands import Change, Key, Operation, Report
from noetl.engine.effects import ENDS_A_JOB
from noetl.engine.events import TaskWaiting
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE
from noetl.stores.contract import LIVE, Append, Batch, Unforeseen
from noetl.stores.shared import (
    FINAL,
    PARK,
    PROGRESS,
    Expiry,
    Fence,
    NewJob,
    ParkedJob,
    QueueChanges,
    Revoked,
    Transaction,
)

FOLLOW_SECONDS = 30.0  # so long a server may take to follow up what it decided, before another one does
FOLLOWED_UP = (
    ops.ListWanted,
    ops.CountWanted,
    ops.ElementWanted,
    ops.PlanWanted,
    ops.MoreWanted,
    ops.ParentTold,
    ops.ChildrenCancelled,
    ops.ChildDropped,
)


class SharedSitting:
    """See above."""

    def __init__(
        self,
        *,
        transaction: Transaction,
        executions: Executions,
        handing: HandingOut,
        clock: Clock,
        new_tag: Callable[[], int],
        revoke: Callable[[list[Revoked]], None],
    ) -> None:
        self.transaction = transaction
        self.executions = executions
        self.handing = handing
        self.clock = clock
        self.new_tag = new_tag
        self.revoke = revoke
        self._words: dict[tuple[Key, int], str] = {}
        self._ns: dict[tuple[Key, int], int] = {}
        self._ended: set[int] = set()
        self._tag = 0
        self._reserved: list[Reserved] = []
        self._revoked: list[Revoked] = []
        self._ready_pools: dict[str, None] = {}
        self._foresight = Foresight(executions, handing)
        self._foreseen: Foreseen | None = None

    async def open(self, operations: Sequence[Operation]) -> dict[int, Live]:
        self._words, self._ns, self._reserved, self._revoked, self._ready_pools = {}, {}, [], [], {}
        self.executions.trim()
        ids = sorted({one.execution_id for one in operations if not isinstance(one, ops.Start)})
        fences = self._fences(operations)
        self._foreseen = self._foresight.of(operations, fences)
        if self._foreseen is not None:
            self._words = {(fence.key, fence.lease): ACCEPTED for fence in fences}
            self._ended = set()
            return {live.state.execution_id: live for live in self._foreseen.lives}
        expiries = [
            Expiry(key=(one.execution_id, one.run, one.iter), lease=one.lease)
            for one in operations
            if isinstance(one, ops.Expire) and one.lease
        ]
        heads, self._words = await self.transaction.begin(ids, fences, expiries)
        buggify("pump.locked")
        self._ended = {head.id for head in heads.values() if head.status not in LIVE}
        held: dict[int, Live] = {}
        for execution_id in ids:
            head = heads.get(execution_id)
            if head is None or execution_id in self._ended:
                self.executions.forget(execution_id)
            else:
                self._foresight.compare(head)
                held[execution_id] = await self.executions.catch_up(head)
        return held

    def _fences(self, operations: Sequence[Operation]) -> list[Fence]:
        """One for each lease, by its newest report: a worker sends the next only when the one before is recorded, so
        whatever else there is came twice."""
        newest: dict[tuple[Key, int], Report] = {}
        for one in operations:
            if isinstance(one, Report) and one.n > self._ns.get((one.key, one.lease), 0):
                newest[one.key, one.lease] = one
                self._ns[one.key, one.lease] = one.n
        return [Fence(key=one.key, lease=one.lease, n=one.n, does=deed_of(one)) for one in newest.values()]

    def judge(self, report: Report) -> str:
        place = report.key, report.lease
        word = self._words.get(place, STALE)
        return DUPLICATE if word == ACCEPTED and report.n < self._ns[place] else word

    def is_current(self, operation: Operation) -> bool:
        if operation.execution_id in self._ended:
            return False
        if not isinstance(operation, ops.Expire) or not operation.lease:
            return True
        place = (operation.execution_id, operation.run, operation.iter), operation.lease
        return place not in self._ns and self._words.get(place, STALE) == ACCEPTED  # a report came after all

    async def commit(self, batch: Batch, turn: Turn) -> None:
        if not batch.appends and ACCEPTED not in self._words.values():
            await self.transaction.rollback()
            return
        self._tag = self.new_tag()
        timers = [change for change in turn.changes if isinstance(change, ops.TimerSet)]
        followed = {subject_of(change) for change in turn.changes if isinstance(change, FOLLOWED_UP)}
        if timers or followed:
            batch.appends = [self._looked_after(append, timers, followed) for append in batch.appends]
        changes = self._queue_changes(turn)
        if self._foreseen is None:
            self._revoked = await self.transaction.commit(batch, self._tag, changes)
            return
        seen, fences = self._foreseen.seen, self._foreseen.fences
        try:
            self._revoked = await self.transaction.commit_foreseen(seen, fences, batch, self._tag, changes)
        except Unforeseen:
            self._foresight.doubt(head.id for head in seen)
            raise

    def _looked_after(self, append: Append, timers: list[ops.TimerSet], followed: set[int]) -> Append:
        """What other servers must know of it, should this one not be there any more."""
        due = [timer.at for timer in timers if timer.execution_id == append.execution_id]
        until = self.clock.now() + FOLLOW_SECONDS if append.execution_id in followed else None
        return msgspec.structs.replace(append, deadline_at=min(due, default=None), follow_until=until)

    def _queue_changes(self, turn: Turn) -> QueueChanges:
        deeds = {report.key: deed_of(report) for report in turn.accepted}
        changes = queue_changes(turn.changes, deeds)
        guests = self.handing.guests(one.lease for one in turn.accepted if deeds[one.key] == FINAL)
        changes.added = [job if job.key[0] in turn.recovered else self._handed(job, guests) for job in changes.added]
        pools = [job.pool for job in changes.added if not job.lease and not job.child_key]
        pools += [pool for key in changes.ready if (pool := _pool_of(key, turn))]
        self._ready_pools = dict.fromkeys(pools)
        return changes

    def _handed(self, job: NewJob, guests: list[Poll]) -> NewJob:
        """A job that a worker already waits for is leased in the transaction that makes it (protocol §6, hand-off).

        Not one of an execution that was taken up: its row may be there, with somebody at work on it.
        """
        if job.group or job.child_key or job.until:
            return job
        reserved = self.handing.reserve(job.key, job.pool, guests)
        if reserved is None:
            return job
        self._reserved.append(reserved)
        return msgspec.structs.replace(job, lease=reserved.lease, worker=reserved.worker)

    def conclude(self, turn: Turn) -> None:
        for share in turn.shares.values():
            share.live.tag = self._tag
        self.handing.hand_over(self._reserved, (share.live for share in turn.shares.values()))
        self._reserved = []
        for pool in self._ready_pools:
            self.handing.ring(pool)
        if self._revoked:
            self.revoke(self._revoked)

    async def abandon(self) -> None:
        self.handing.take_back(self._reserved)
        self._reserved = []
        await self.transaction.rollback()


def deed_of(report: Report) -> str:
    """What a report does to its job, by its last event."""
    last = report.events[-1] if report.events else None
    if isinstance(last, ENDS_A_JOB):
        return FINAL
    return PARK if isinstance(last, TaskWaiting) else PROGRESS


def queue_changes(changes: Sequence[Change], deeds: Mapping[Key, str]) -> QueueChanges:
    """What decided changes do to the table of jobs. `deeds`: what reports of the batch did to their rows already.

    Of an execution that was taken up jobs are added whose rows are there: those rows stay as they are, unless something
    else of the batch ends or parks the job.
    """
    added: dict[Key, NewJob] = {}
    parked: dict[Key, ParkedJob] = {}
    ready: dict[Key, None] = {}
    gone: dict[Key, None] = {}
    child_keys = {change.key: change.child["key"] for change in changes if isinstance(change, ops.ChildWanted)}
    for change in changes:
        if isinstance(change, ops.JobAdded):
            added[change.key] = _new_job(change)
            gone.pop(change.key, None)
        elif isinstance(change, ops.JobGone):
            added.pop(change.key, None)
            if deeds.get(change.key) != FINAL:
                gone[change.key] = None
            parked.pop(change.key, None)
            ready.pop(change.key, None)
        elif isinstance(change, ops.JobParked):
            job = _parked(change, child_keys.get(change.key, ""))
            if change.key in added:
                added[job.key] = msgspec.structs.replace(added[job.key], until=job.until, child_key=job.child_key)
            if change.key not in added or deeds.get(change.key) == PARK:
                parked[job.key] = job
        elif isinstance(change, ops.JobReady):
            if change.key in added:
                added[change.key] = msgspec.structs.replace(added[change.key], until=0.0, child_key="")
            else:
                parked.pop(change.key, None)
                ready[change.key] = None
    return QueueChanges(added=list(added.values()), parked=list(parked.values()), ready=list(ready), gone=list(gone))


def _pool_of(key: Key, turn: Turn) -> str | None:
    execution_id, run_id, index = key
    share = turn.shares.get(execution_id)
    run = share.live.state.runs.get(run_id) if share else None
    job = run.jobs.get(index) if run else None
    return (job.pool or DEFAULT_POOL) if job else None


def _new_job(change: ops.JobAdded) -> NewJob:
    return NewJob(key=change.key, pool=change.pool or DEFAULT_POOL, priority=change.priority, group=change.group)


def _parked(change: ops.JobParked, child_key: str) -> ParkedJob:
    return ParkedJob(key=change.key, until=0.0 if change.is_for_child else change.until, child_key=child_key)
