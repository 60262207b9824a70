"""The last reports of jobs, those that end in the same moment together.

A hundred jobs that need no waiting are over before the first of them is recorded: one message says so of all of them.
It is sent until somebody answers; a job that was taken away meanwhile is left out the next time. Whatever the answers
are, the jobs are over here: one whose lease is somebody else's is told so, and there is nothing to undo.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from noetl.messaging.pauses import Pauses
from noetl.queues.contract import UNANSWERED, Transport
from noetl.runner.holding import Job


class Delivery:
    """The last reports of some jobs, on their way."""

    def __init__(
        self, jobs: list[Job], is_held: Callable[[Job], bool], transport: Transport, pauses: Callable[[], Pauses]
    ) -> None:
        self.jobs = jobs
        self._is_held = is_held
        self._transport = transport
        self._pauses = pauses

    def held(self) -> list[Job]:
        """Those that were not taken away."""
        return [job for job in self.jobs if self._is_held(job)]

    def begin(self) -> Awaitable[list[str]]:
        """Report what is held."""
        return self._transport.report_all([job.report for job in self.held() if job.report is not None])

    async def finish(self, answer: Awaitable[list[str]]) -> None:
        """Until somebody has answered, or nothing is left to report."""
        pauses = None
        while True:
            try:
                await answer
            except UNANSWERED:
                pauses = pauses or self._pauses()
                await pauses.wait()
            except Exception:
                if len(self.jobs) == 1:
                    raise
                await self._one_by_one()  # one of them cannot be recorded: the others shall be
                return
            else:
                return
            if not self.held():
                return
            answer = self.begin()

    async def _one_by_one(self) -> None:
        """Each by itself. Raises the first of what went wrong, when all were reported."""
        faults: list[Exception] = []
        for job in self.held():
            alone = Delivery([job], self._is_held, self._transport, self._pauses)
            try:
                await alone.finish(alone.begin())
            except Exception as error:
                faults.append(error)
        if faults:
            raise faults[0]
