"""Pools, jobs and workers, as the API asks for them: those of one process, and those of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from noetl.api.parts import Job, Pool, SeenWorker, WantedJobs
from noetl.control.filters import paths_seen
from noetl.control.unserved import Unserved, unserved, unserved_of
from noetl.embedded import Embedded
from noetl.engine.commands import Key
from noetl.queues.contract import Profile
from noetl.queues.memory import LEASED, PARKED, READY, Entry
from noetl.stores import job_lists
from noetl.stores.job_lists import ListedJob, StepRun, order_of
from noetl.worker import profile_of

if TYPE_CHECKING:  # a server of one machine does without
    from noetl.cluster import ClusterServer


STEPS_KEPT_MAX = 20_000
STATES = {READY: job_lists.READY, LEASED: job_lists.LEASED, PARKED: job_lists.PARKED}


class OwnWorkforce:
    """The one worker of an embedded server, which takes jobs of every pool; none with `--no-workers`."""

    def __init__(self, embedded: Embedded) -> None:
        self._embedded = embedded

    async def pools(self) -> list[Pool]:
        states = self._embedded.queue.pools(self._embedded.clock.monotonic())
        return [Pool(**state._asdict(), workers=int(self._is_working)) for state in states]

    @property
    def _is_working(self) -> bool:
        return self._embedded.settings.server_workers

    async def jobs(self, limit: int, wanted: WantedJobs) -> list[Job]:
        queue, now = self._embedded.queue, self._embedded.clock.monotonic()
        paths = {one: await self._path(one) for one in {entry.key[0] for entry in queue.jobs()}}
        listed = [listed_job(entry, paths.get(entry.key[0], ""), now) for entry in queue.jobs()]
        asked = asked_for(wanted)
        found = sorted((job for job in listed if job.path and asked.fits(job)), key=order_of)[:limit]
        return [job_row(job, self._step(job.key), queue.lease_seconds) for job in found]

    async def _path(self, execution_id: int) -> str:
        """Of the playbook that it runs; "": it has ended meanwhile."""
        live = self._embedded.executions.known(execution_id)
        if live is not None:
            return live.state.path
        row = await self._embedded.store.execution(execution_id)
        return row.path if row else ""

    def _step(self, key: Key) -> str | None:
        live = self._embedded.executions.known(key[0])
        run = live.state.runs.get(key[1]) if live else None
        return run.step if run else None

    async def unserved(self, execution_id: int) -> list[Unserved]:
        return [] if self._is_working else unserved_of(self._embedded.queue.ready_in(execution_id), {})

    async def present(self) -> int:
        return int(self._is_working)

    async def workers(self) -> list[SeenWorker]:
        if not self._is_working:
            return []
        worker = self._embedded.worker
        profile = profile_of(self._embedded.settings, worker.name, self._embedded.kinds)
        return [row_of(profile, worker.jobs, self._embedded.clock.now())]


class RosterWorkforce:
    """Pools, from the table of jobs, and the workers that were seen."""

    def __init__(self, server: ClusterServer) -> None:
        self._server = server
        self._steps: dict[StepRun, str] = {}  # a run is of one step for ever

    async def pools(self) -> list[Pool]:
        roster = self._server.sessions.roster
        there = [seen.profile.pool for seen in await roster.list() if roster.is_alive(seen)]
        rows = {row.pool: row for row in await self._server.store.pools()}
        found = [Pool(**msgspec.structs.asdict(row), workers=there.count(pool)) for pool, row in rows.items()]
        idle = [
            Pool(pool=pool, ready=0, leased=0, parked=0, oldest_wait_seconds=0.0, workers=there.count(pool))
            for pool in sorted(set(there) - set(rows))
        ]
        return sorted(found + idle, key=lambda one: one.pool)

    async def jobs(self, limit: int, wanted: WantedJobs) -> list[Job]:
        found = await self._server.store.listed_jobs(limit, asked_for(wanted))
        await self._learn({job.key[:2] for job in found} - set(self._steps))
        lease_seconds = self._server.settings.lease_seconds
        return [job_row(job, self._steps.get(job.key[:2]), lease_seconds) for job in found]

    async def _learn(self, runs: set[StepRun]) -> None:
        if len(self._steps) > STEPS_KEPT_MAX:
            self._steps.clear()
        self._steps |= await self._server.store.run_steps(sorted(runs))

    async def unserved(self, execution_id: int) -> list[Unserved]:
        return await unserved(self._server.store, self._server.sessions.roster, execution_id)

    async def present(self) -> int:
        roster = self._server.sessions.roster
        return sum(roster.is_alive(seen) for seen in await roster.list())

    async def workers(self) -> list[SeenWorker]:
        return [row_of(seen.profile, seen.jobs, seen.seen_at) for seen in await self._server.sessions.roster.list()]


# --- jobs ------------------------------------------------------------------------------------------------------------


def asked_for(wanted: WantedJobs) -> job_lists.WantedJobs:
    paths = paths_seen(wanted.path_prefix)
    return job_lists.WantedJobs(pool=wanted.pool, worker=wanted.worker, state=wanted.state, paths=paths)


def listed_job(entry: Entry, path: str, now: float) -> ListedJob:
    """A job of the queue in memory, as stores list those of theirs."""
    is_leased, is_parked = entry.state == LEASED, entry.state == PARKED
    return ListedJob(
        key=entry.key,
        path=path,
        pool=entry.pool,
        priority=entry.priority,
        state=STATES[entry.state],
        worker=entry.worker if is_leased else "",
        deliveries=entry.deliveries,
        ready_seconds=(entry.until if is_parked and entry.until else entry.ready_since) - now,
        lease_seconds=entry.until - now if is_leased else 0.0,
        is_for_child=is_parked and not entry.until,
    )


def job_row(job: ListedJob, step: str | None, lease_seconds: float) -> Job:
    is_leased = job.state == job_lists.LEASED
    left = max(job.lease_seconds, 0.0)
    return Job(
        execution_id=str(job.key[0]),
        path=job.path,
        step=step,
        run=job.key[1],
        iteration=job.key[2] if job.key[2] >= 0 else None,
        pool=job.pool,
        priority=job.priority,
        state=job.state,
        worker=job.worker or None,
        age_seconds=max(-job.ready_seconds, 0.0),
        due_in_seconds=job.ready_seconds if job.ready_seconds > 0 and not job.is_for_child else None,
        lease_age_seconds=max(lease_seconds - left, 0.0) if is_leased else None,
        lease_left_seconds=left if is_leased else None,
        deliveries=job.deliveries,
    )


# --- workers ---------------------------------------------------------------------------------------------------------


def row_of(profile: Profile, jobs: int, seen_at: float) -> SeenWorker:
    return SeenWorker(
        worker=profile.worker,
        pool=profile.pool,
        slots=profile.slots,
        host=profile.host,
        pid=profile.pid,
        version=profile.version,
        kinds=profile.kinds,
        jobs=jobs,
        seen_at=seen_at,
    )
