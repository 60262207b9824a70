"""Pools and the workers in them, as the API asks for them: those of one process, and those of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from noetl.api.parts import Pool, SeenWorker
from noetl.control.unserved import Unserved, unserved, unserved_of
from noetl.embedded import Embedded
from noetl.queues.contract import Profile
from noetl.worker import profile_of

if TYPE_CHECKING:  # a server of one machine does without
    from noetl.cluster import ClusterServer


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

    async def unserved(self, execution_id: int) -> list[Unserved]:
        return [] if self._is_working else unserved_of(self._embedded.queue.ready_in(execution_id), {})

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

    async def unserved(self, execution_id: int) -> list[Unserved]:
        return await unserved(self._server.store, self._server.sessions.roster, execution_id)

    async def workers(self) -> list[SeenWorker]:
        return [row_of(seen.profile, seen.jobs, seen.seen_at) for seen in await self._server.sessions.roster.list()]


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
