"""What holds for the jobs of a store that several servers share; `SharedStoreSuite` includes it."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio

import pytest

from noetl.stores.contract import Batch
from noetl.stores.shared import (
    ACCEPTED,
    FINAL,
    LEASED,
    PARK,
    PARKED,
    PROGRESS,
    READY,
    Claimed,
    ParkedJob,
    PoolRow,
    QueueChanges,
    SharedStore,
)
from noetl.testing.queued import (
    LAPSED_SECONDS,
    OTHER,
    POOL,
    TTL_SECONDS,
    WORKER,
    claim,
    claimed_soon,
    committed,
    fence,
    job,
    start,
    word,
)

FAR_AWAY = 9e9  # seconds since 1970
JOBS, CLAIMERS = 200, 6
DELIVERIES_MAX = 5


class JobsSuite:
    """Claims, heartbeats and lost workers (protocol §6)."""

    # --- claims ------------------------------------------------------------------------------------------------------

    async def test_jobs_are_claimed_by_priority_and_age_each_under_a_lease_of_its_own(self, store: SharedStore) -> None:
        _, (late, urgent) = await start(store, (1, {"priority": 5}), (2, {"priority": 1}))
        _, (later,) = await start(store, (1, {"priority": 5}))

        claimed = await claim(store, WORKER, 11, 12)
        rest = await claim(store, WORKER, 13, 14)

        assert claimed == [Claimed(key=urgent, lease=11, deliveries=1), Claimed(key=late, lease=12, deliveries=1)]
        assert rest == [Claimed(key=later, lease=13, deliveries=1)]

    @pytest.mark.spec("RO-03")
    async def test_a_claimed_job_is_held_by_its_worker_under_its_lease(self, store: SharedStore) -> None:
        _, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 11)

        held = [await store.holds(*asked) for asked in ((WORKER, key, 11), (OTHER, key, 11), (WORKER, key, 12))]

        assert held == [True, False, False]

    async def test_who_got_a_lease_is_known_while_it_stands(self, store: SharedStore) -> None:
        _, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 11, ttl=LAPSED_SECONDS)
        await store.expire(10, 5)

        lapsed = [await store.holder(key, lease) for lease in (11, 12)]
        await claimed_soon(store, OTHER, 12)
        claimed_anew = [await store.holder(key, lease) for lease in (11, 12)]
        await store.release(OTHER, [(key, 12)])

        assert (lapsed, claimed_anew) == ([WORKER, None], [None, OTHER])
        assert await store.holder(key, 12) is None

    async def test_only_the_jobs_of_the_pool_that_are_ready_now_are_claimed(self, store: SharedStore) -> None:
        await start(store, (1, {"pool": "gpu"}), (2, {"until": FAR_AWAY}), (3, {"child_key": "call"}))
        await start(store, (1, {"lease": 5, "worker": OTHER}))

        assert await claim(store, WORKER, 11, 12, 13) == []
        assert [one.lease for one in await store.claim(WORKER, "gpu", [11, 12], TTL_SECONDS)] == [11]

    async def test_whether_a_pool_has_a_job_that_is_ready_is_known_without_claiming_it(
        self, store: SharedStore
    ) -> None:
        await start(store, (1, {"pool": "busy"}), (2, {"pool": "later", "until": FAR_AWAY}))

        ready = [await store.has_ready(pool) for pool in ("busy", "busy", "later", "nobody")]
        await store.claim(WORKER, "busy", [5], TTL_SECONDS)

        assert ready == [True, True, False, False]
        assert not await store.has_ready("busy")

    async def test_a_job_that_is_parked_until_a_time_is_claimed_then(self, store: SharedStore) -> None:
        execution_id, (due, undue) = await start(
            store, (1, {"lease": 5, "worker": WORKER}), (2, {"lease": 6, "worker": WORKER})
        )
        parking = QueueChanges(parked=[ParkedJob(key=due, until=5.0), ParkedJob(key=undue, until=FAR_AWAY)])
        await committed(store, fences=[fence(due, 5, 1, PARK), fence(undue, 6, 1, PARK)], changes=parking)

        claimed = await claim(store, OTHER, 11, 12)

        assert [one.key for one in claimed] == [due]
        assert [row.ready_at for row in await store.jobs(execution_id) if row.key == undue] == [FAR_AWAY]

    @pytest.mark.spec("RO-03")
    async def test_a_job_is_claimed_by_one_of_many(self, store: SharedStore) -> None:
        await start(store, *((1, {"iter": index}) for index in range(JOBS)))

        async def claim_all(number: int) -> list[Claimed]:
            claimed: list[Claimed] = []
            leases = [number * 10_000 + lease for lease in range(7)]
            while found := await claim(store, f"worker-{number}", *leases):
                claimed += found
                leases = [lease + 10 for lease in leases]
            return claimed

        found = await asyncio.gather(*map(claim_all, range(1, CLAIMERS)))
        claims = [one for claimed in found for one in claimed]

        assert sorted(one.key[2] for one in claims) == list(range(JOBS))
        assert len({one.lease for one in claims}) == JOBS

    async def test_nobody_waits_for_a_job_that_a_transaction_has(self, store: SharedStore) -> None:
        execution_id, (key, free) = await start(store, (1, {"lease": 5, "worker": WORKER}), (2, {}))
        transaction = await store.transaction()
        await transaction.begin([execution_id], [fence(key, 5, 1, PROGRESS)])

        gone = await store.extend(WORKER, [(key, 5)], TTL_SECONDS)
        claimed = await claim(store, WORKER, 11, 12)
        expired = await store.expire(10, DELIVERIES_MAX)
        released = await store.release(WORKER, [(key, 5)])
        await transaction.close()

        assert gone == []
        assert [one.key for one in claimed] == [free]
        assert expired == (0, [])
        assert released == 0

    @pytest.mark.spec("RO-03")
    async def test_a_job_that_is_ready_again_is_not_claimed_while_its_late_report_is_taken_in(
        self, store: SharedStore
    ) -> None:
        execution_id, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 5)
        await store.release(WORKER, [(key, 5)])
        transaction = await store.transaction()
        _, words = await transaction.begin([execution_id], [fence(key, 5, 1, PROGRESS)])

        meanwhile = await claim(store, OTHER, 6)
        await transaction.commit(Batch(), 8, QueueChanges())
        await transaction.close()

        assert words == {(key, 5): ACCEPTED}
        assert meanwhile == await claim(store, OTHER, 6) == []

    # --- heartbeats --------------------------------------------------------------------------------------------------

    @pytest.mark.spec("RO-03")
    async def test_a_heartbeat_extends_what_it_lists_and_names_what_is_gone(self, store: SharedStore) -> None:
        execution_id, (held, unlisted, foreign) = await start(
            store,
            (1, {"lease": 5, "worker": WORKER}),
            (2, {"lease": 6, "worker": WORKER}),
            (3, {"lease": 7, "worker": OTHER}),
        )
        never = (execution_id, 9, -1)
        before = {row.key: row.lease_until for row in await store.jobs(execution_id)}

        gone = await store.extend(WORKER, [(held, 5), (held, 4), (foreign, 7), (never, 8)], 2 * TTL_SECONDS)
        after = {row.key: row.lease_until for row in await store.jobs(execution_id)}

        assert sorted(gone) == [held, foreign, never]
        assert after[held] > before[held] + TTL_SECONDS / 2
        assert (after[unlisted], after[foreign]) == (before[unlisted], before[foreign])

    async def test_a_heartbeat_takes_a_job_back_that_nobody_claimed_meanwhile(self, store: SharedStore) -> None:
        _, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 5, ttl=LAPSED_SECONDS)
        await store.expire(10, DELIVERIES_MAX)

        gone = await store.extend(WORKER, [(key, 5)], TTL_SECONDS)

        assert gone == []
        assert await store.holds(WORKER, key, 5)

    async def test_an_empty_heartbeat_is_harmless(self, store: SharedStore) -> None:
        assert await store.extend(WORKER, [], TTL_SECONDS) == []
        assert await store.release(WORKER, []) == 0

    async def test_a_job_that_is_given_back_is_ready_at_once_and_was_no_loss(self, store: SharedStore) -> None:
        _, (key, foreign) = await start(store, (1, {}), (2, {"lease": 6, "worker": OTHER}))
        await claim(store, WORKER, 5)

        count = await store.release(WORKER, [(key, 5), (foreign, 6)])
        gone = await store.extend(WORKER, [(key, 5)], TTL_SECONDS)
        late = await word(store, fence(key, 5, 1, PROGRESS))
        await store.expire(10, DELIVERIES_MAX)

        assert (count, gone, late) == (1, [key], ACCEPTED)
        assert await store.holds(OTHER, foreign, 6)

    async def test_a_job_that_is_given_back_goes_to_the_next_who_asks(self, store: SharedStore) -> None:
        _, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 5)
        await store.release(WORKER, [(key, 5)])

        assert await claim(store, OTHER, 6) == [Claimed(key=key, lease=6, deliveries=1)]

    # --- lost workers ------------------------------------------------------------------------------------------------

    @pytest.mark.spec("RO-03")
    async def test_a_lease_that_ran_out_makes_its_job_ready_after_a_pause_that_grows(self, store: SharedStore) -> None:
        execution_id, _ = await start(store, (1, {}))
        pauses = []

        for lease in (5, 6, 7):
            await claimed_soon(store, WORKER, lease, ttl=LAPSED_SECONDS)
            expired = await store.expire(10, DELIVERIES_MAX)
            (row,) = await store.jobs(execution_id)
            pauses.append(row.ready_at - row.lease_until + LAPSED_SECONDS)
            assert (expired, row.state, row.deliveries) == ((1, []), READY, len(pauses))

        assert 0.0 < pauses[0] < 2.0  # what a worker's death may cost beyond its lease
        assert pauses[0] < pauses[1] < pauses[2]

    async def test_a_lease_that_stands_is_left_alone(self, store: SharedStore) -> None:
        _, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 5)

        assert await store.expire(10, DELIVERIES_MAX) == (0, [])
        assert await store.holds(WORKER, key, 5)

    async def test_a_sweep_takes_no_more_than_it_was_told(self, store: SharedStore) -> None:
        await start(store, *((run, {}) for run in range(1, 6)))
        await claim(store, WORKER, *range(5, 10), ttl=LAPSED_SECONDS)

        counts = [(await store.expire(3, DELIVERIES_MAX))[0] for _ in range(3)]

        assert counts == [3, 2, 0]

    async def test_a_job_that_was_lost_too_often_is_named_and_not_handed_out_again(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 1, ttl=LAPSED_SECONDS)
        await store.expire(10, 2)
        await claimed_soon(store, WORKER, 2, ttl=LAPSED_SECONDS)

        count, lost = await store.expire(10, 2)
        again = await store.expire(10, 2)
        (row,) = await store.jobs(execution_id)

        assert (count, [(one.key, one.lease) for one in lost]) == (0, [(key, 2)])
        assert again == (0, [])
        assert (row.state, row.deliveries) == (LEASED, 2)
        assert await word(store, fence(key, 2, 1, FINAL)) == ACCEPTED  # it was not lost after all

    # --- local loops -------------------------------------------------------------------------------------------------

    @pytest.mark.spec("LP-05")
    async def test_all_jobs_of_a_local_loop_go_to_one_worker(self, store: SharedStore) -> None:
        execution_id, keys = await start(store, *((4, {"iter": index, "group": 4}) for index in range(3)))

        first = await claim(store, WORKER, 11)
        foreign = await claim(store, OTHER, 21, 22)
        rest = await claim(store, WORKER, 31, 32, 33)
        await committed(store, changes=QueueChanges(added=[job((execution_id, 4, 3), group=4)]))
        foreign_again = await claim(store, OTHER, 23)
        last = await claim(store, WORKER, 41)

        assert foreign + foreign_again == []
        assert {one.key for one in first + rest} == set(keys)
        assert [one.lease for one in first + rest + last] == [11, 31, 32, 41]

    @pytest.mark.spec("LP-05")
    async def test_a_local_loop_goes_to_one_of_many_who_want_it_at_once(self, store: SharedStore) -> None:
        for round_number in range(5):
            await start(store, *((4, {"iter": index, "group": 4}) for index in range(12)))
            claims = await asyncio.gather(
                *(
                    claim(
                        store,
                        f"worker-{number}",
                        *range(1000 * round_number + 10 * number, 1000 * round_number + 10 * number + 3),
                    )
                    for number in range(1, CLAIMERS)
                )
            )

            assert len([found for found in claims if found]) == 1
            (winner,) = [number for number, found in enumerate(claims, 1) if found]
            await self._take_all(store, f"worker-{winner}")

    async def _take_all(self, store: SharedStore, worker: str) -> None:
        while await claim(store, worker, *range(1, 30)):
            pass

    async def test_different_loops_go_to_different_workers(self, store: SharedStore) -> None:
        await start(store, (4, {"iter": 0, "group": 4}))
        await start(store, (4, {"iter": 0, "group": 4}), (5, {"iter": 0, "group": 5}))

        claims = [await claim(store, worker, lease) for worker, lease in ((WORKER, 11), (OTHER, 21), (WORKER, 31))]

        assert [[one.lease for one in found] for found in claims] == [[11], [21], [31]]

    async def test_a_local_loop_is_free_again_when_its_worker_is_lost(self, store: SharedStore) -> None:
        _, keys = await start(store, *((4, {"iter": index, "group": 4}) for index in range(2)))
        await claim(store, WORKER, 11, ttl=LAPSED_SECONDS)
        await store.expire(10, DELIVERIES_MAX)

        first = await claim(store, OTHER, 21)
        second = await claimed_soon(store, OTHER, 22)

        assert {one.key for one in first + second} == set(keys)
        assert [one.lease for one in first + second] == [21, 22]
        assert await claim(store, WORKER, 12) == []

    async def test_a_local_loop_is_free_again_when_its_worker_gives_it_back(self, store: SharedStore) -> None:
        _, (key, _) = await start(store, *((4, {"iter": index, "group": 4}) for index in range(2)))
        await claim(store, WORKER, 11)
        await store.release(WORKER, [(key, 11)])

        assert len(await claim(store, OTHER, 21, 22)) == 2

    async def test_a_heartbeat_keeps_the_loop_too(self, store: SharedStore) -> None:
        _, (key, _) = await start(store, *((4, {"iter": index, "group": 4}) for index in range(2)))
        await claim(store, WORKER, 11, ttl=LAPSED_SECONDS)
        await store.extend(WORKER, [(key, 11)], TTL_SECONDS)
        await store.expire(10, DELIVERIES_MAX)

        assert await claim(store, OTHER, 21) == []

    @pytest.mark.parametrize("how", ["parked", "expired", "given back", "taken away"])
    async def test_a_job_of_a_loop_never_has_the_same_lease_twice(self, store: SharedStore, how: str) -> None:
        _, (key, _) = await start(store, *((4, {"iter": index, "group": 4}) for index in range(2)))
        (first,) = await claim(store, WORKER, 11)
        if how == "parked":
            parking = QueueChanges(parked=[ParkedJob(key=key, until=5.0)])
            await committed(store, fences=[fence(key, 11, 1, PARK)], changes=parking)
        elif how == "expired":
            await store.extend(WORKER, [(key, 11)], LAPSED_SECONDS)
            await store.expire(10, DELIVERIES_MAX)
        elif how == "given back":
            await store.release(WORKER, [(key, 11)])
        else:
            await committed(store, changes=QueueChanges(gone=[key]))
            await committed(store, changes=QueueChanges(added=[job(key, group=4)]))

        again = await claimed_soon(store, WORKER, 21, 22)
        while key not in {one.key for one in again}:
            again += await claimed_soon(store, WORKER, 23)

        assert first.lease == 11
        assert [one.lease for one in again if one.key == key] != [11]

    # --- for people --------------------------------------------------------------------------------------------------

    async def test_jobs_of_an_execution_are_listed_as_they_stand(self, store: SharedStore) -> None:
        execution_id, (ready, leased, parked) = await start(
            store, (1, {}), (2, {"lease": 5, "worker": WORKER}), (3, {"child_key": "call"})
        )

        rows = await store.jobs(execution_id)

        assert [(row.key, row.state) for row in rows] == [(ready, READY), (leased, LEASED), (parked, PARKED)]
        assert [row.child_key for row in rows] == ["", "", "call"]
        assert [(row.worker, row.deliveries) for row in rows] == [("", 0), (WORKER, 1), ("", 0)]
        assert len(await store.jobs(execution_id, limit=2)) == 2

    async def test_pools_tell_what_waits_and_runs(self, store: SharedStore) -> None:
        await start(store, (1, {}), (2, {"lease": 5, "worker": WORKER}), (3, {"child_key": "call"}))
        await start(store, (1, {"pool": "gpu", "until": FAR_AWAY}), (2, {"pool": "gpu", "until": 5.0}))

        pools = await store.pools()

        waits = [pool.oldest_wait_seconds for pool in pools]
        assert [(pool.pool, pool.ready, pool.leased, pool.parked) for pool in pools] == [
            (POOL, 1, 1, 1),
            ("gpu", 1, 0, 1),
        ]
        assert all(0.0 <= wait < 60.0 for wait in waits)
        assert all(isinstance(pool, PoolRow) for pool in pools)
