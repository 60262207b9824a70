"""What holds for transactions that were decided before anything was locked; `SharedStoreSuite` includes it."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from noetl.engine.commands import Key
from noetl.stores.contract import RUNNING, Batch, Execution, HeadMoved, Unforeseen
from noetl.stores.shared import (
    FINAL,
    LEASED,
    PARK,
    PROGRESS,
    Fence,
    Head,
    ParkedJob,
    QueueChanges,
    Revoked,
    SharedStore,
)
from noetl.testing.logs import append, log_of, started
from noetl.testing.queued import OTHER, WORKER, committed, done, fence, job, start, waiting

ROUNDS = 25


async def begun(store: SharedStore) -> tuple[Key, Head]:
    """A job that a worker has under lease 5, and the head of its log."""
    execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
    return key, (await store.heads([execution_id]))[execution_id]


async def foreseen(
    store: SharedStore, seen: list[Head], fences: list[Fence], batch: Batch, changes: QueueChanges | None = None
) -> list[Revoked]:
    transaction = await store.transaction()
    try:
        return await transaction.commit_foreseen(seen, fences, batch, 9, changes or QueueChanges())
    finally:
        await transaction.close()


class ForeseenSuite:
    """Decided first, locked and proved afterwards (protocol §5)."""

    async def test_what_is_as_foreseen_stands(self, store: SharedStore) -> None:
        key, seen = await begun(store)
        new = job((key[0], 2, -1), lease=6, worker=OTHER)

        revoked = await foreseen(
            store,
            [seen],
            [fence(key, 5, 1, FINAL)],
            Batch(appends=[append(key[0], 2, [done(key, 5), started(2)])]),
            QueueChanges(added=[new]),
        )

        head = (await store.heads([key[0]]))[key[0]]
        assert (revoked, head.head, head.tag) == ([], 3, 9)
        assert [(row.key, row.state, row.worker) for row in await store.jobs(key[0])] == [(new.key, LEASED, OTHER)]

    @pytest.mark.parametrize("does", [PROGRESS, PARK])
    async def test_reports_that_end_nothing_are_fenced_the_same_way(self, store: SharedStore, does: str) -> None:
        key, seen = await begun(store)
        event = waiting(key, 5) if does == PARK else started(2)
        changes = QueueChanges(parked=[ParkedJob(key=key, child_key="call")] if does == PARK else [])

        await foreseen(store, [seen], [fence(key, 5, 1, does)], Batch(appends=[append(key[0], 2, [event])]), changes)

        assert await store.holds(WORKER, key, 5) == (does == PROGRESS)
        newest = (await store.heads([key[0]]))[key[0]]
        with pytest.raises(Unforeseen):
            await foreseen(store, [newest], [fence(key, 5, 1, does)], Batch())

    @pytest.mark.spec("RO-03")
    @pytest.mark.parametrize(
        ("head", "tag", "lease", "n"),
        [(1, 7, 4, 1), (1, 7, 5, 2), (1, 8, 5, 1), (2, 7, 5, 1), (0, 7, 5, 1)],
        ids=["lease", "number", "tag", "behind", "ahead"],
    )
    async def test_what_is_otherwise_leaves_nothing(
        self, store: SharedStore, head: int, tag: int, lease: int, n: int
    ) -> None:
        key, there = await begun(store)
        seen = replace(there, head=head, tag=tag)
        batch = Batch(appends=[append(key[0], head + 1, [done(key, 5)])])

        with pytest.raises(Unforeseen):
            await foreseen(store, [seen], [fence(key, lease, n, FINAL)], batch)

        assert len(await log_of(store, key[0])) == 1
        assert await store.holds(WORKER, key, 5)
        assert (await store.heads([key[0]]))[key[0]] == there

    async def test_a_log_that_is_not_there_is_otherwise(self, store: SharedStore) -> None:
        key, seen = await begun(store)
        nobody = Head(id=key[0] + 99, head=1, tag=7, status=RUNNING)

        with pytest.raises(Unforeseen):
            await foreseen(store, [seen, nobody], [fence(key, 5, 1, FINAL)], Batch())

        assert await store.holds(WORKER, key, 5)

    async def test_the_next_transaction_is_not_hurt(self, store: SharedStore) -> None:
        key, seen = await begun(store)
        transaction = await store.transaction()

        with pytest.raises(Unforeseen):
            await transaction.commit_foreseen([seen], [fence(key, 4, 1, FINAL)], Batch(), 9, QueueChanges())
        batch = Batch(appends=[append(key[0], 2, [done(key, 5)])])
        await transaction.commit_foreseen([seen], [fence(key, 5, 1, FINAL)], batch, 9, QueueChanges())
        await transaction.close()

        assert len(await log_of(store, key[0])) == 2

    async def test_of_two_that_foresaw_the_same_one_stands(self, store: SharedStore) -> None:
        execution_id, keys = await start(store, *((run, {"lease": run, "worker": WORKER}) for run in (1, 2)))
        seen = (await store.heads([execution_id]))[execution_id]

        found = await asyncio.gather(
            *(
                foreseen(
                    store,
                    [seen],
                    [fence(key, key[1], 1, FINAL)],
                    Batch(appends=[append(execution_id, 2, [done(key, key[1])])]),
                )
                for key in keys
            ),
            return_exceptions=True,
        )

        assert sorted(type(one).__name__ for one in found) == ["Unforeseen", "list"]
        assert len(await log_of(store, execution_id)) == 2
        assert len(await store.jobs(execution_id)) == 1

    async def test_a_start_whose_key_is_taken_is_told_as_such(self, store: SharedStore) -> None:
        key, seen = await begun(store)
        await start(store, request_key="request")
        row = Execution(id=await store.reserve_ids(1), sha="5ha", path="orders", version=1, request_key="request")

        with pytest.raises(HeadMoved):
            await foreseen(store, [seen], [fence(key, 5, 1, FINAL)], Batch(executions=[row]))

        assert await store.holds(WORKER, key, 5)

    async def test_a_job_that_goes_on_the_way_is_told_to_its_worker_and_the_reported_one_is_not(
        self, store: SharedStore
    ) -> None:
        execution_id, (key, other) = await start(
            store, (1, {"lease": 5, "worker": WORKER}), (2, {"lease": 6, "worker": OTHER})
        )
        seen = (await store.heads([execution_id]))[execution_id]
        batch = Batch(appends=[append(execution_id, 2, [done(key, 5)])])

        revoked = await foreseen(store, [seen], [fence(key, 5, 1, FINAL)], batch, QueueChanges(gone=[key, other]))

        assert revoked == [Revoked(key=other, lease=6, worker=OTHER)]
        assert await store.jobs(execution_id) == []

    async def test_with_crossing_executions_nobody_waits_for_ever(self, store: SharedStore) -> None:
        ids = [(await start(store))[0] for _ in range(4)]

        async def add_to(order: list[int], rounds: int) -> None:
            for _ in range(rounds):
                heads = await store.heads(order)
                appends = [append(one, heads[one].head + 1, [started(1)]) for one in order]
                try:
                    await foreseen(store, [heads[one] for one in order], [], Batch(appends=appends))
                except Unforeseen:
                    await committed(store)

        async with asyncio.timeout(30):
            await asyncio.gather(add_to(ids, ROUNDS), add_to(ids[::-1], ROUNDS), add_to(ids[2:] + ids[:2], ROUNDS))

        logs = [len(await log_of(store, one)) for one in ids]
        assert [(await store.heads(ids))[one].head for one in ids] == logs
        assert len(set(logs)) == 1
        assert logs[0] > ROUNDS  # each round somebody came first
