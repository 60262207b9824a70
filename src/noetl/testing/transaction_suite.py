"""What holds for the transactions of a store that several servers share; `SharedStoreSuite` includes it."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio

import pytest

from noetl.stores.contract import RUNNING, SUCCESS, Batch, Execution, HeadMoved
from noetl.stores.shared import (
    ACCEPTED,
    DUPLICATE,
    FINAL,
    PARK,
    PARKED,
    PROGRESS,
    STALE,
    Expiry,
    ParkedJob,
    QueueChanges,
    Revoked,
    SharedStore,
)
from noetl.testing.logs import append, log_of, started
from noetl.testing.queued import (
    LAPSED_SECONDS,
    OTHER,
    TTL_SECONDS,
    WORKER,
    claim,
    claimed_soon,
    committed,
    done,
    fence,
    job,
    start,
    waiting,
    word,
)

BLOCKED_SECONDS = 0.3  # nothing that is not locked takes so long
ROUNDS = 25


class TransactionSuite:
    """Locks, heads and tags; and which reports count (protocol §5)."""

    # --- logs --------------------------------------------------------------------------------------------------------

    async def test_a_commit_writes_log_row_and_jobs_together(self, store: SharedStore) -> None:
        execution_id, keys = await start(store, (1, {}))

        found = (await store.heads([execution_id, execution_id + 1]))[execution_id]

        assert (found.head, found.tag, found.status) == (1, 7, RUNNING)
        assert await store.tag_at(execution_id, 1) == 7
        assert await store.tag_at(execution_id, 2) is None
        assert [row.key for row in await store.jobs(execution_id)] == keys

    async def test_begin_gives_the_heads_of_those_that_are_there(self, store: SharedStore) -> None:
        first, _ = await start(store)
        second, _ = await start(store)
        transaction = await store.transaction()

        heads, words = await transaction.begin([second, second + 99, first], [])
        await transaction.close()

        assert {execution_id: head.head for execution_id, head in heads.items()} == {first: 1, second: 1}
        assert words == {}

    async def test_the_tag_of_a_row_is_that_of_its_last_events(self, store: SharedStore) -> None:
        execution_id, _ = await start(store)

        await committed(store, Batch(appends=[append(execution_id, 2, [started(2), started(3)])]), tag=2**63 - 1)

        assert (await store.heads([execution_id]))[execution_id].tag == 2**63 - 1
        assert [await store.tag_at(execution_id, seq) for seq in (1, 2, 3)] == [7, 2**63 - 1, 2**63 - 1]

    async def test_what_is_rolled_back_never_was(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
        transaction = await store.transaction()

        _, words = await transaction.begin([execution_id], [fence(key, 5, 1, FINAL)])
        await transaction.rollback()
        await transaction.rollback()
        await transaction.close()

        assert words == {(key, 5): ACCEPTED}
        assert await store.holds(WORKER, key, 5)

    async def test_a_second_transaction_waits_and_sees_what_the_first_one_did(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
        first, second = await store.transaction(), await store.transaction()
        await first.begin([execution_id], [fence(key, 5, 1, FINAL)])

        waiting_for_it = asyncio.ensure_future(second.begin([execution_id], [fence(key, 5, 1, FINAL)]))
        ready, _ = await asyncio.wait({waiting_for_it}, timeout=BLOCKED_SECONDS)
        await first.commit(Batch(appends=[append(execution_id, 2, [done(key, 5)])]), 8, QueueChanges())
        heads, words = await waiting_for_it
        await second.close()
        await first.close()

        assert not ready
        assert (heads[execution_id].head, heads[execution_id].tag) == (2, 8)
        assert words == {(key, 5): DUPLICATE}

    async def test_transactions_with_crossing_executions_never_wait_for_each_other(self, store: SharedStore) -> None:
        ids = [(await start(store))[0] for _ in range(4)]

        async def add_to(order: list[int]) -> None:
            transaction = await store.transaction()
            for _ in range(ROUNDS):
                heads, _ = await transaction.begin(order, [])
                appends = [append(one, heads[one].head + 1, [started(1)]) for one in order]
                await transaction.commit(Batch(appends=appends), 1, QueueChanges())
            await transaction.close()

        await asyncio.gather(add_to(ids), add_to(ids[::-1]), add_to(ids[2:] + ids[:2]))

        assert [(await store.heads(ids))[one].head for one in ids] == [1 + 3 * ROUNDS] * 4

    async def test_a_start_whose_key_is_taken_is_refused_and_the_next_one_is_not(self, store: SharedStore) -> None:
        await start(store, request_key="request")
        row = Execution(id=await store.reserve_ids(1), sha="5ha", path="orders", version=1, request_key="request")
        transaction = await store.transaction()

        await transaction.begin([], [])
        with pytest.raises(HeadMoved):
            await transaction.commit(Batch(executions=[row]), 1, QueueChanges(added=[job((row.id, 1, -1))]))
        await transaction.begin([], [])
        await transaction.commit(Batch(), 1, QueueChanges())
        await transaction.close()

        assert await store.execution(row.id) is None
        assert await store.jobs(row.id) == []

    async def test_an_append_in_the_wrong_place_leaves_nothing(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {}))

        with pytest.raises(HeadMoved):
            await committed(
                store, Batch(appends=[append(execution_id, 3, [started(2)])]), changes=QueueChanges(gone=[key])
            )

        assert len(await log_of(store, execution_id)) == 1
        assert [row.key for row in await store.jobs(execution_id)] == [key]

    # --- reports -----------------------------------------------------------------------------------------------------

    @pytest.mark.spec("RO-03")
    async def test_a_report_counts_once_in_its_turn_and_under_its_lease(self, store: SharedStore) -> None:
        _, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))

        words = [
            await word(store, fence(key, lease, n, PROGRESS))
            for lease, n in ((5, 2), (4, 1), (5, 1), (5, 1), (5, 3), (5, 2), (5, 1))
        ]

        assert words == [STALE, STALE, ACCEPTED, DUPLICATE, STALE, ACCEPTED, DUPLICATE]

    async def test_a_report_of_a_job_that_never_was_is_stale(self, store: SharedStore) -> None:
        execution_id, _ = await start(store)

        words = [await word(store, fence((execution_id, 9, -1), 5, 1, does)) for does in (PROGRESS, FINAL, PARK)]

        assert words == [STALE] * 3

    @pytest.mark.spec("RO-03")
    async def test_a_final_report_ends_its_job_and_is_a_duplicate_when_it_comes_again(self, store: SharedStore) -> None:
        execution_id, (key, other) = await start(
            store, (1, {"lease": 5, "worker": WORKER}), (2, {"lease": 6, "worker": WORKER})
        )
        ending = Batch(appends=[append(execution_id, 2, [done(key, 5)])])

        words = [await word(store, fence(key, 5, 1, FINAL), ending), await word(store, fence(key, 5, 1, FINAL))]

        assert words == [ACCEPTED, DUPLICATE]
        assert [row.key for row in await store.jobs(execution_id)] == [other]

    async def test_a_final_report_of_a_job_that_was_taken_away_is_stale(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
        await word(store, fence(key, 5, 1, PROGRESS), Batch(appends=[append(execution_id, 2, [started(2)])]))
        await committed(store, changes=QueueChanges(gone=[key]))

        assert await word(store, fence(key, 5, 2, FINAL)) == STALE

    async def test_a_park_gives_the_lease_back(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
        parking = QueueChanges(parked=[ParkedJob(key=key, child_key="call")])
        batch = Batch(appends=[append(execution_id, 2, [waiting(key, 5)])])

        words = [
            await word(store, fence(key, 5, 1, PARK), batch, parking),
            await word(store, fence(key, 5, 1, PARK)),
            await word(store, fence(key, 5, 2, PROGRESS)),
        ]
        (row,) = await store.jobs(execution_id)

        assert words == [ACCEPTED, DUPLICATE, STALE]
        assert (row.state, row.child_key, row.deliveries) == (PARKED, "call", 0)
        assert not await store.holds(WORKER, key, 5)
        assert await claim(store, WORKER, 8) == []

    async def test_a_parked_job_is_claimed_when_it_is_ready_again(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
        batch = Batch(appends=[append(execution_id, 2, [waiting(key, 5)])])
        await word(store, fence(key, 5, 1, PARK), batch, QueueChanges(parked=[ParkedJob(key=key, child_key="call")]))

        await committed(store, changes=QueueChanges(ready=[key]))
        (claimed,) = await claim(store, OTHER, 8)

        assert (claimed.key, claimed.lease, claimed.deliveries) == (key, 8, 1)
        assert (await store.jobs(execution_id))[0].child_key == ""
        assert await word(store, fence(key, 5, 1, PARK)) == DUPLICATE
        assert await word(store, fence(key, 8, 1, PROGRESS)) == ACCEPTED

    @pytest.mark.spec("RO-03")
    async def test_a_late_report_counts_until_somebody_else_has_the_job(self, store: SharedStore) -> None:
        _, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 5, ttl=LAPSED_SECONDS)
        await store.expire(10, 5)

        late = await word(store, fence(key, 5, 1, PROGRESS))
        is_held_again = await store.holds(WORKER, key, 5)

        assert (late, is_held_again) == (ACCEPTED, True)
        assert await claim(store, OTHER, 6) == []

    @pytest.mark.spec("RO-03")
    async def test_a_zombie_is_not_heard(self, store: SharedStore) -> None:
        _, (key,) = await start(store, (1, {}))
        await claim(store, WORKER, 5, ttl=LAPSED_SECONDS)
        await store.expire(10, 5)
        await claimed_soon(store, OTHER, 6)

        words = [await word(store, fence(key, 5, 1, does)) for does in (PROGRESS, PARK, FINAL)]

        assert words == [STALE] * 3
        assert await store.holds(OTHER, key, 6)

    async def test_a_report_says_that_the_worker_is_not_lost(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {}))
        for lease in (5, 6):
            await claimed_soon(store, WORKER, lease, ttl=LAPSED_SECONDS)
            await store.expire(10, 5)
        (before,) = await store.jobs(execution_id)

        await word(store, fence(key, 6, 1, PROGRESS))
        (after,) = await store.jobs(execution_id)

        assert (before.deliveries, after.deliveries) == (2, 0)
        assert after.lease_until > before.lease_until + TTL_SECONDS / 2

    async def test_a_lost_job_ends_only_while_its_lease_has_run_out(self, store: SharedStore) -> None:
        _, (lost, alive, elsewhere) = await start(store, (1, {}), (2, {}), (3, {}))
        leases = {one.key: one.lease for one in await claim(store, WORKER, 5, 6, 7, ttl=LAPSED_SECONDS)}
        await word(store, fence(alive, leases[alive], 1, PROGRESS))
        transaction = await store.transaction()
        expiries = [
            *(Expiry(key=key, lease=leases[key]) for key in (lost, alive)),
            Expiry(key=elsewhere, lease=leases[elsewhere] + 99),
        ]

        _, words = await transaction.begin([lost[0]], [], expiries)
        await transaction.commit(Batch(), 1, QueueChanges())
        await transaction.close()

        assert [words[one.key, one.lease] for one in expiries] == [ACCEPTED, STALE, STALE]
        assert [row.key for row in await store.jobs(lost[0])] == [alive, elsewhere]

    # --- what a commit does to the queue -----------------------------------------------------------------------------

    async def test_a_job_that_is_there_already_is_left_as_it_is(self, store: SharedStore) -> None:
        execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))

        await committed(store, changes=QueueChanges(added=[job(key, pool="elsewhere", lease=6, worker=OTHER)]))

        assert [row.pool for row in await store.jobs(execution_id)] == ["default"]
        assert await store.holds(WORKER, key, 5)

    async def test_a_commit_tells_from_whom_it_took_a_job(self, store: SharedStore) -> None:
        execution_id, (own, held, ready, parked) = await start(
            store,
            (1, {"lease": 5, "worker": WORKER}),
            (2, {"lease": 6, "worker": OTHER}),
            (3, {}),
            (4, {"child_key": "call"}),
        )

        _, revoked = await committed(
            store, fences=[fence(own, 5, 1, PROGRESS)], changes=QueueChanges(gone=[own, held, ready, parked])
        )

        assert revoked == [Revoked(key=held, lease=6, worker=OTHER)]
        assert await store.jobs(execution_id) == []

    # --- what others must know of an execution -----------------------------------------------------------------------

    async def test_the_earliest_deadline_stands_until_the_execution_ends(self, store: SharedStore) -> None:
        execution_id, _ = await start(store)
        due = [append(execution_id, 2, [started(2)], deadline_at=5.0), append(execution_id, 3, [started(3)])]

        await committed(store, Batch(appends=due[:1]))
        await committed(store, Batch(appends=due[1:]))
        await committed(store, Batch(appends=[append(execution_id, 4, [started(4)], deadline_at=9e9)]))
        meanwhile = await store.overdue(10)
        await committed(store, Batch(appends=[append(execution_id, 5, [started(5)], status=SUCCESS, deadline_at=1.0)]))

        assert meanwhile == [execution_id]
        assert await store.overdue(10) == []

    async def test_what_is_followed_up_is_said_kept_and_taken_back(self, store: SharedStore) -> None:
        execution_id, _ = await start(store)

        async def abandoned_after(seq: int, follow_until: float | None) -> list[int]:
            one = append(execution_id, seq, [started(seq)], follow_until=follow_until, status=SUCCESS)
            await committed(store, Batch(appends=[one]))
            return [row.id for row in await store.abandoned(10)]

        found = [await abandoned_after(2, 5.0), await abandoned_after(3, None), await abandoned_after(4, 0.0)]

        assert found == [[execution_id], [execution_id], []]
