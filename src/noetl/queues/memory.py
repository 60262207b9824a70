"""The queue of one process: dictionaries and heaps, built from the log at start."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

import msgspec

from noetl.config import DEFAULT_POOL, LEASE_SECONDS
from noetl.engine.commands import Change, JobAdded, JobGone, JobParked, JobReady, Key, Report
from noetl.queues.contract import ACCEPTED, DELIVERIES_MAX, DUPLICATE, STALE, Claim

READY, LEASED, PARKED = 0, 1, 2
LEASE_BITS = 32
Group = tuple[int, int]  # execution and the run of its local loop


class Holder(msgspec.Struct):
    """Who has a local loop: all its jobs go there (LP-05), each under a number of its own, as everywhere."""

    worker: str
    jobs: int = 0
    until: float = 0.0  # with no job in hand it keeps the loop so long, for the iterations that follow


class Entry(msgspec.Struct):
    """One job."""

    key: Key
    pool: str
    priority: int
    group: Group | None
    order: int = 0
    state: int = READY
    lease: int = 0
    deliveries: int = 0
    last_report: int = 0
    worker: str = ""
    until: float = 0.0
    ready_since: float = 0.0
    holder: Holder | None = None  # of the local loop, while the job is with it


class PoolState(NamedTuple):
    """What waits and runs in one pool."""

    pool: str
    ready: int
    leased: int
    parked: int
    oldest_wait_seconds: float


class MemoryQueue:
    """See queues/contract.py. `nonce` is random per process, so that leases of two processes never collide."""

    def __init__(self, nonce: int, lease_seconds: float = LEASE_SECONDS) -> None:
        self.lease_seconds = lease_seconds
        self._leases = count((nonce << LEASE_BITS) + 1)
        self._orders = count(1)
        self._jobs: dict[Key, Entry] = {}
        self._ready: list[tuple[int, int, Key]] = []
        self._due: list[tuple[float, Key]] = []
        self._holders: dict[Group, Holder] = {}
        self._counts = {READY: 0, LEASED: 0, PARKED: 0}
        self._timed = 0  # parked until a known time

    # --- changes -----------------------------------------------------------------------------------------------------

    def change(self, changes: Iterable[Change], now: float) -> None:
        for change in changes:
            kind = type(change)
            if kind is JobAdded:
                self._add(change, now)  # type: ignore[arg-type]  # it is one
            elif kind is JobGone:
                self._remove(change.key, now)  # type: ignore[attr-defined]
            elif isinstance(change, JobParked):
                self._park(change, now)
            elif isinstance(change, JobReady) and change.key in self._jobs:
                self._make_ready(self._jobs[change.key], now)

    def _add(self, change: JobAdded, now: float) -> None:
        if change.key in self._jobs:
            return
        group = (change.key[0], change.group) if change.group else None
        entry = Entry(key=change.key, pool=change.pool or DEFAULT_POOL, priority=change.priority, group=group)
        self._jobs[change.key] = entry
        self._counts[READY] += 1
        self._push(entry, now)

    def _push(self, entry: Entry, now: float) -> None:
        entry.order = next(self._orders)
        entry.ready_since = now
        heapq.heappush(self._ready, (entry.priority, entry.order, entry.key))

    def _move(self, entry: Entry, state: int) -> None:
        self._counts[entry.state] -= 1
        self._counts[state] += 1
        entry.state = state

    def _remove(self, key: Key, now: float) -> None:
        entry = self._jobs.pop(key, None)
        if entry is None:
            return
        self._counts[entry.state] -= 1
        self._timed -= 1 if entry.state == PARKED and entry.until else 0
        self._leave(entry, now)

    def _leave(self, entry: Entry, now: float) -> None:
        """The job is no longer with its worker."""
        holder, entry.holder, entry.worker = entry.holder, None, ""
        if holder is not None:
            holder.jobs -= 1
            holder.until = now + self.lease_seconds

    def _park(self, change: JobParked, now: float) -> None:
        entry = self._jobs.get(change.key)
        if entry is None:
            return
        self._timed -= 1 if entry.state == PARKED and entry.until else 0
        self._leave(entry, now)
        self._move(entry, PARKED)
        entry.lease, entry.deliveries = 0, 0
        entry.until = 0.0 if change.is_for_child else max(change.until, now)
        if entry.until:
            self._timed += 1
            heapq.heappush(self._due, (entry.until, entry.key))

    def _make_ready(self, entry: Entry, now: float) -> None:
        if entry.state == READY:
            return
        self._timed -= 1 if entry.state == PARKED and entry.until else 0
        self._leave(entry, now)
        self._move(entry, READY)
        entry.until = 0.0
        self._push(entry, now)

    # --- leases ------------------------------------------------------------------------------------------------------

    def claim(self, worker: str, free: int, now: float, pool: str | None = None) -> list[Claim]:
        self._wake(now)
        claims: list[Claim] = []
        passed: list[tuple[int, int, Key]] = []
        while self._ready and len(claims) < free:
            item = heapq.heappop(self._ready)
            entry = self._jobs.get(item[2])
            if entry is None or entry.state != READY or entry.order != item[1]:
                continue
            if (pool is not None and entry.pool != pool) or not self._may_have(worker, entry):
                passed.append(item)
            else:
                claims.append(self._lease(worker, entry, now))
        for item in passed:
            heapq.heappush(self._ready, item)
        return claims

    def _wake(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            until, key = heapq.heappop(self._due)
            entry = self._jobs.get(key)
            if entry is not None and entry.state == PARKED and entry.until == until:
                self._make_ready(entry, now)

    def _may_have(self, worker: str, entry: Entry) -> bool:
        holder = self._holders.get(entry.group) if entry.group else None
        return holder is None or holder.worker == worker

    def _lease(self, worker: str, entry: Entry, now: float) -> Claim:
        entry.lease = next(self._leases)
        entry.deliveries += 1
        entry.last_report, entry.worker = 0, worker
        entry.holder = self._hold(worker, entry.group) if entry.group else None
        self._move(entry, LEASED)
        entry.until = now + self.lease_seconds
        return Claim(key=entry.key, lease=entry.lease, deliveries=entry.deliveries)

    def _hold(self, worker: str, group: Group) -> Holder:
        holder = self._holders.setdefault(group, Holder(worker))
        holder.jobs += 1
        return holder

    def judge(self, report: Report) -> str:
        entry = self._jobs.get(report.key)
        if entry is None or not entry.lease or entry.lease != report.lease:
            return STALE
        if report.n <= entry.last_report:
            return DUPLICATE
        return ACCEPTED if report.n == entry.last_report + 1 else STALE

    def accept(self, report: Report, now: float) -> None:
        entry = self._jobs.get(report.key)
        if entry is not None and entry.lease == report.lease:
            entry.last_report = report.n
            entry.deliveries = 0
            if entry.state == LEASED:
                entry.until = now + self.lease_seconds

    def extend(self, worker: str, held: Iterable[tuple[Key, int]], now: float) -> list[Key]:
        gone = []
        for key, lease in held:
            entry = self._jobs.get(key)
            if entry is None or entry.lease != lease or entry.worker != worker:
                gone.append(key)
            elif entry.state == LEASED:
                entry.until = now + self.lease_seconds
        return gone

    def expire(self, now: float) -> list[Claim]:
        lost = []
        for entry in self._overdue(now):
            claim = Claim(key=entry.key, lease=entry.lease, deliveries=entry.deliveries)
            self._make_ready(entry, now)  # the lease stays: a late report counts until someone else claims the job
            if entry.group:
                self._holders.pop(entry.group, None)  # its worker may be lost: any other one may go on
            if entry.deliveries >= DELIVERIES_MAX:
                lost.append(claim)
        self._drop_idle_holders(now)
        return lost

    def _drop_idle_holders(self, now: float) -> None:
        idle = [group for group, holder in self._holders.items() if not holder.jobs and holder.until < now]
        for group in idle:
            del self._holders[group]

    def _overdue(self, now: float) -> Iterator[Entry]:
        if self._counts[LEASED]:
            yield from [one for one in self._jobs.values() if one.state == LEASED and one.until < now]

    def next_at(self) -> float | None:
        while self._due and not self._is_due(*self._due[0]):
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else None

    def _is_due(self, until: float, key: Key) -> bool:
        entry = self._jobs.get(key)
        return entry is not None and entry.state == PARKED and entry.until == until

    @property
    def is_idle(self) -> bool:
        return not (self._counts[READY] or self._counts[LEASED] or self._timed)

    def pools(self, now: float) -> list[PoolState]:
        """What waits and runs, by pool: for people, so it looks at every job."""
        found: dict[str, list[Entry]] = {}
        for entry in self._jobs.values():
            found.setdefault(entry.pool, []).append(entry)
        return [_pool_state(pool, entries, now) for pool, entries in sorted(found.items())]

    def jobs(self) -> list[Entry]:
        """All of them, for people: to be looked at, not changed."""
        return list(self._jobs.values())

    def ready_in(self, execution_id: int) -> Counter[str]:
        """How many jobs of one execution are ready, by pool: for people, too."""
        entries = (entry for entry in self._jobs.values() if entry.key[0] == execution_id)
        return Counter(entry.pool for entry in entries if entry.state == READY)

    @property
    def ready(self) -> int:
        return self._counts[READY]


def _pool_state(pool: str, entries: list[Entry], now: float) -> PoolState:
    ready, leased, parked = (sum(entry.state == state for entry in entries) for state in (READY, LEASED, PARKED))
    since = min((entry.ready_since for entry in entries if entry.state == READY), default=now)
    return PoolState(pool, ready, leased, parked, max(0.0, now - since))
