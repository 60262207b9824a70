"""I2: every accepted report carried the lease that was current for its job; no job ever has the same lease twice, and
nobody gets a job that another surely has. None is given up for lost before it was handed out in vain five times.

A ledger of the checker's own: what is handed out comes in, and what is recorded is compared with it. A lease that ran
out or was given back stays current until another claim: the old holder is heard until then. One whose job was parked
or has ended is over at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from noetl.engine import events as facts
from noetl.engine.commands import Key
from noetl.engine.events import Event
from noetl.stores.shared import ACCEPTED, Expiry, Fence
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks.view import JobSeen

LOST = "worker_lost"  # error.kind of a job that was given up
HANDED_OUT_MAX = 5  # protocol §6
JOB_ENDS = frozenset(
    (
        facts.StepDone,
        facts.StepFailed,
        facts.StepCancelled,
        facts.LoopIterationDone,
        facts.LoopIterationFailed,
        facts.LoopIterationCancelled,
    )
)


class Given(NamedTuple):
    """A job was handed out."""

    lease: int
    worker: str
    at: float


class Leases:
    """See above."""

    def __init__(self, lease_seconds: float = 0.0) -> None:
        self.lease_seconds = lease_seconds
        self.current: dict[Key, tuple[int, str]] = {}  # lease and worker
        self.given: dict[Key, list[Given]] = {}  # all there ever were, in order
        self._stands_until: dict[Key, float] = {}  # what is current, whatever its holder does
        self._in_vain: Counter[Key] = Counter()  # hand-outs since the last report that counted
        self._is_history_whole = True  # so that all of them are known
        self._come_at: dict[tuple[Key, int], float] = {}  # when the worker had got what it was given
        self._numbers: dict[tuple[Key, int], int] = {}  # the last accepted report

    def leased(self, key: Key, lease: int, worker: str, now: float) -> None:
        """A job was handed out."""
        if self.current.get(key) == (lease, worker):
            return  # it was told before
        given = self.given.setdefault(key, [])
        if any(one.lease == lease for one in given):
            raise Violation("I2", f"job {key} was handed out under lease {lease} twice, now to {worker}", key[0])
        left_seconds = self._stands_until.get(key, 0.0) - now
        if key in self.current and left_seconds > 0:
            holder = self.current[key][1]
            message = f"job {key} was handed out to {worker}, though {holder} has it for another {left_seconds:.3f} s"
            raise Violation("leases", message, key[0])
        given.append(Given(lease, worker, now))
        self._in_vain[key] += 1
        self.current[key] = (lease, worker)
        self._stands_until[key] = now + self.lease_seconds

    def extended(self, key: Key, lease: int, now: float) -> None:
        """A heartbeat has made a lease longer. So does a report, but from when it was fenced, which is not told."""
        if self.current.get(key, (0, ""))[0] == lease:
            self._stands_until[key] = now + self.lease_seconds

    def released(self, key: Key) -> None:
        """A job was given back: another may have it at once."""
        self._stands_until.pop(key, None)

    def came(self, key: Key, lease: int, now: float) -> None:
        """A worker has got a job that was handed out to it."""
        self._come_at.setdefault((key, lease), now)

    def held(self, key: Key, worker: str, at: float) -> Given | None:
        """The lease under which a worker had a job then: the last one that had come to it."""
        given = [one for one in self.given.get(key, ()) if one.worker == worker]
        return next((one for one in reversed(given) if self._come_at.get((key, one.lease), math.inf) <= at), None)

    def check(self, key: Key, lease: int, what: str, seq: int = 0) -> None:
        current = self.current.get(key, (0, ""))[0]
        if lease != current:
            stands = f"lease {current} stands" if current else "none stands"
            raise Violation("I2", f"{what} of job {key} counted under lease {lease}, but {stands}", key[0], seq)

    def read(self, execution_id: int, seq: int, event: Event) -> None:
        """An event was committed."""
        key = (execution_id, event.run, event.iter)
        if event.lease:
            self.check(key, event.lease, facts.name_of(event), seq)
        if isinstance(event, facts.StepFailed | facts.LoopIterationFailed) and event.error.get("kind") == LOST:
            self._check_lost(key, seq)
        if type(event) in JOB_ENDS or type(event) is facts.TaskWaiting:
            self.current.pop(key, None)
        elif type(event) is facts.EngineError:
            self._end_all(execution_id)

    def _check_lost(self, key: Key, seq: int) -> None:
        """A loop fails with what its iterations failed by: it was never handed out itself."""
        if self._is_history_whole and key in self.given and self._in_vain[key] < HANDED_OUT_MAX:
            message = f"job {key} was given up for lost after it was handed out in vain {self._in_vain[key]} times"
            raise Violation("leases", message, key[0], seq)

    def _end_all(self, execution_id: int) -> None:
        for key in [key for key in self.current if key[0] == execution_id]:
            del self.current[key]

    def judged(self, fences: Iterable[Fence], expiries: Iterable[Expiry], words: Mapping[tuple[Key, int], str]) -> None:
        """Before its events are read: what a commit took for current. Reports of a lease are numbered 1, 2, 3…"""
        for expiry in expiries:
            if words.get((expiry.key, expiry.lease)) == ACCEPTED:
                self.check(expiry.key, expiry.lease, "an expiry")
        for fence in fences:
            place = fence.key, fence.lease
            if words.get(place) != ACCEPTED:
                continue
            self.check(*place, f"report {fence.n}")
            if fence.n != self._numbers.get(place, fence.n - 1) + 1:
                message = f"report {fence.n} of job {fence.key} counted after report {self._numbers[place]}"
                raise Violation("I3", message, fence.key[0])
            self._numbers[place] = fence.n
            self._in_vain[fence.key] = 0

    def rewound(self, jobs: Mapping[Key, JobSeen]) -> None:
        """History is shorter: what stands is what the store says. Numbers that were given stay given."""
        self.current = {key: (job.lease, job.worker) for key, job in jobs.items() if job.lease}
        self._stands_until.clear()
        self._is_history_whole = False
        self._numbers.clear()
