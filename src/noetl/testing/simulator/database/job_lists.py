"""The jobs of a simulated database, for people (`noetl.stores.job_lists`)."""

from __future__ import annotations

from collections.abc import Sequence

from noetl.engine.events import LoopStarted, StepScheduled, decode
from noetl.stores import shared
from noetl.stores.job_lists import LEASED, PARKED, READY, ListedJob, StepRun, WantedJobs, order_of
from noetl.testing.simulator.database.calls import Caller
from noetl.testing.simulator.database.tables import Job


class DatabaseJobLists(Caller):
    """See `noetl.stores.shared.SharedStore`."""

    async def listed_jobs(self, limit: int, wanted: WantedJobs) -> list[ListedJob]:
        def found() -> list[ListedJob]:
            listed = [self._listed(job) for job in self._tables.jobs.values()]
            fitting = [one for one in listed if wanted.fits(one)]
            return sorted(fitting, key=order_of)[:limit]

        return await self._read("listed_jobs", found)

    def _listed(self, job: Job) -> ListedJob:
        now, state = self._now(), state_of(job, self._now())
        return ListedJob(
            key=job.key,
            path=self._tables.executions[job.key[0]].execution.path,
            pool=job.pool,
            priority=job.priority,
            state=state,
            worker=job.worker if state == LEASED else "",
            deliveries=job.deliveries,
            ready_seconds=job.ready_at - now,
            lease_seconds=job.lease_until - now if state == LEASED else 0.0,
            is_for_child=job.state == shared.PARKED,
        )

    async def run_steps(self, runs: Sequence[StepRun]) -> dict[StepRun, str]:
        def found() -> dict[StepRun, str]:
            steps: dict[StepRun, str] = {}
            for execution_id in sorted({one for one, _ in runs}):
                for body, _ in self._tables.logs.get(execution_id, []):
                    event = decode(body)
                    if isinstance(event, StepScheduled | LoopStarted):
                        steps[execution_id, event.run] = event.step
            return {one: steps[one] for one in runs if one in steps}

        return await self._read("run_steps", found) if runs else {}


def state_of(job: Job, now: float) -> str:
    if job.state == shared.LEASED:
        return LEASED
    return READY if job.state == shared.READY and job.ready_at <= now else PARKED
