"""What holds for lists of the jobs of a store that several servers share; `SharedStoreSuite` includes it."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

from noetl.engine.events import LoopStarted, StepScheduled
from noetl.stores.contract import Batch
from noetl.stores.job_lists import LEASED, PARKED, READY, WantedJobs
from noetl.stores.shared import SharedStore
from noetl.stores.wanted import Paths
from noetl.testing.logs import append
from noetl.testing.queued import OTHER, POOL, TTL_SECONDS, WORKER, claim, start

FAR_AWAY = 9e9  # seconds since 1970
ALL = WantedJobs()


class JobListsSuite:
    """Jobs one by one, and the steps they are of."""

    async def test_jobs_of_all_executions_are_listed_in_the_order_people_look(self, store: SharedStore) -> None:
        one, _ = await start(store, (1, {"pool": "b"}), (2, {"lease": 5, "worker": WORKER}), (3, {"child_key": "call"}))
        other, _ = await start(
            store, (1, {"pool": "a", "priority": 2}), (2, {"pool": "a", "priority": 1}), (3, {"until": FAR_AWAY})
        )

        jobs = await store.listed_jobs(100, ALL)

        assert [(job.key, job.state) for job in jobs] == [
            ((one, 2, -1), LEASED),
            ((other, 2, -1), READY),
            ((other, 1, -1), READY),
            ((one, 1, -1), READY),
            ((other, 3, -1), PARKED),
            ((one, 3, -1), PARKED),
        ]
        assert [(job.pool, job.priority, job.path) for job in jobs[:2]] == [(POOL, 0, "orders"), ("a", 1, "orders")]
        assert [job.is_for_child for job in jobs[-2:]] == [False, True]
        assert [job.key for job in await store.listed_jobs(4, ALL)] == [job.key for job in jobs[:4]]

    async def test_a_listed_job_tells_who_holds_it_and_for_how_long_yet(self, store: SharedStore) -> None:
        await start(store, (1, {}), (2, {"until": FAR_AWAY, "iter": 7}))
        await claim(store, WORKER, 11)

        leased, parked = await store.listed_jobs(100, ALL)

        assert (leased.worker, leased.deliveries) == (WORKER, 1)
        assert TTL_SECONDS / 2 < leased.lease_seconds <= TTL_SECONDS
        assert -TTL_SECONDS < leased.ready_seconds <= 0.0
        assert (parked.worker, parked.lease_seconds, parked.key[2]) == ("", 0.0, 7)
        assert parked.ready_seconds > TTL_SECONDS

    async def test_jobs_are_listed_by_pool_worker_state_and_path(self, store: SharedStore) -> None:
        one, _ = await start(store, (1, {"pool": "gpu"}), (2, {"lease": 5, "worker": WORKER}), path="team/a")
        other, _ = await start(store, (1, {}), (2, {"lease": 6, "worker": OTHER}), path="team_b")

        async def found(**wanted: object) -> list[tuple[int, int]]:
            jobs = await store.listed_jobs(100, WantedJobs(**wanted))  # type: ignore[arg-type]  # as they are given
            return sorted((job.key[0], job.key[1]) for job in jobs)

        assert await found(pool="gpu") == [(one, 1)]
        assert await found(worker=OTHER) == [(other, 2)]
        assert await found(worker=OTHER, state=READY) == []
        assert await found(state=LEASED) == [(one, 2), (other, 2)]
        assert await found(state=PARKED) == []
        assert await found(paths=Paths(exact=("team",), prefixes=("team/",))) == [(one, 1), (one, 2)]
        assert await found(paths=Paths(prefixes=("team",)), state=READY, pool=POOL) == [(other, 1)]

    async def test_the_step_of_a_run_is_known_from_the_log(self, store: SharedStore) -> None:
        one, _ = await start(store)
        other, _ = await start(store)
        events = [
            StepScheduled(ts=1.0, run=2, step="fetch", tokens=[1], has_loop=True),
            LoopStarted(ts=1.0, run=2, step="fetch", count=3),
            LoopStarted(ts=1.0, run=3, step="fetch", count=3),
        ]
        await store.commit(Batch(appends=[append(one, 2, events)]))
        await store.commit(
            Batch(appends=[append(other, 2, [StepScheduled(ts=1.0, run=2, step="save", tokens=[1])])]),
        )

        found = await store.run_steps([(one, 2), (one, 3), (other, 2), (other, 3), (99, 1)])

        assert found == {(one, 2): "fetch", (one, 3): "fetch", (other, 2): "save"}
        assert await store.run_steps([]) == {}
