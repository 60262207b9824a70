"""The jobs in a worker's hands: which they are, under which lease each, and what the server takes away (protocol §7).

A job is held from when it comes until it is reported, given back or taken away; heartbeats name what is held. One that
the server ends is stopped, and one that it ended while it was on its way here is never begun.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import msgspec

from noetl.engine.commands import Key, Report, Work
from noetl.runner.execute import Execution
from noetl.runner.heartbeat import Answered
from noetl.runner.lease import Lease
from noetl.runner.slots import Seat

EARLY_MAX = 100  # revocations that are remembered for jobs that may be on their way


class Job(msgspec.Struct, eq=False, kw_only=True):
    """A job in this worker's hands."""

    work: Work
    lease: Lease
    seat: Seat
    execution: Execution | None = None
    report: Report | None = None  # its last, once it is at its end
    task: asyncio.Future[Any] | None = None  # that works on it, or that it goes on with
    is_over: bool = False

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Holding:
    """See above. Whoever runs the jobs says when they are over."""

    def __init__(self) -> None:
        self._jobs: dict[Key, Job] = {}
        self._early: deque[tuple[Key, int]] = deque(maxlen=EARLY_MAX)  # ended before they came

    def _hold(self, job: Job) -> None:
        key = job.work.key
        if key in self._jobs:  # handed out anew, so the lease that it was held under is over
            self._drop(self._jobs[key])
        self._jobs[key] = job

    def _is_held(self, job: Job) -> bool:
        return self._jobs.get(job.work.key) is job

    def _let_go(self, job: Job) -> None:
        """It is in our hands no more: no heartbeat names it."""
        if self._is_held(job):
            del self._jobs[job.work.key]

    def _is_ended(self, work: Work) -> bool:
        """Whether it was ended while it was on its way here."""
        return (work.key, work.lease) in self._early

    def held(self) -> list[tuple[Key, int]]:
        """What this worker works on. Other threads may ask: a copy is made in one go."""
        return [(job.work.key, job.work.lease) for job in self._jobs.copy().values()]

    def answered(self, answer: Answered) -> None:
        """A heartbeat was answered: what is gone is dropped, the rest is ours for longer."""
        for key, lease in answer.held:
            job = self._jobs.get(key)
            if job is None or job.work.lease != lease:
                continue  # it has ended meanwhile, or was handed out anew
            if key in answer.gone:
                self._drop(job)
            else:
                job.lease.heard(answer.sent_at)

    def revoke(self, key: Key) -> None:
        """A job was ended by the server: stop what runs for it."""
        if key in self._jobs:
            self._drop(self._jobs[key])

    def revoked(self, held: list[tuple[Key, int]]) -> None:
        """The same of several, each under the lease that was ended: it may be held under another by now, or not be here
        yet."""
        for key, lease in held:
            if key in self._jobs and self._jobs[key].work.lease == lease:
                self._drop(self._jobs[key])
            else:
                self._early.append((key, lease))

    def _drop(self, job: Job) -> None:
        self._let_go(job)
        job.stop()
