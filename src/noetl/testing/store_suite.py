"""What holds for every store. An implementation proves it with one class in its tests:

    class TestMyStore(StoreSuite):
        async def make(self, folder: Path) -> Store:
            return await MyStore.open(folder / "my.store")

        async def reopen(self, store: Store, folder: Path) -> Store:
            await store.close()
            return await self.make(folder)

`make` gives a new, empty store for each test; `folder` is empty and belongs to the test. `reopen` closes the store and
opens the same one again, as the next process would; leave it out where nothing outlives the process, and those tests
are skipped. Needs pytest and pytest-asyncio in auto mode; `pytest.register_assert_rewrite("noetl.testing.store_suite")`
in a conftest.py gives full messages.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from noetl.engine.events import (
    EVENTS,
    Emitted,
    Event,
    LoopIterationDone,
    LoopIterationFailed,
)
from noetl.stores.contract import (
    RUNNING,
    SUCCESS,
    WAITING,
    Batch,
    Execution,
    HeadMoved,
    Snapshot,
    Store,
)
from noetl.stores.wanted import Wanted
from noetl.testing.listing_suite import ListingSuite
from noetl.testing.logs import append, begin, iteration, log_of, playbook, started
from noetl.testing.records_suite import RecordsSuite, token
from noetl.testing.samples import sample

MANY_EVENTS = 5000  # more than any store writes in one go without help
RIVALS = 10
ITERATIONS = 1700  # more than a page of them


class StoreSuite(ListingSuite, RecordsSuite):
    """The behaviour of a store; see the module for how to use it."""

    async def make(self, folder: Path) -> Store:
        raise NotImplementedError

    async def reopen(self, store: Store, folder: Path) -> Store:
        pytest.skip("nothing of this store outlives its process")

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        made = await self.make(tmp_path)
        yield made
        await made.close()

    # --- ids and executions ------------------------------------------------------------------------------------------

    async def test_ids_start_at_one_and_are_never_given_twice(self, store: Store) -> None:
        blocks = [(await store.reserve_ids(count), count) for count in (1, 1024, 3)]

        assert [number for first, count in blocks for number in range(first, first + count)] == list(range(1, 1029))

    async def test_ids_that_are_asked_for_at_once_are_different(self, store: Store) -> None:
        firsts = await asyncio.gather(*(store.reserve_ids(3) for _ in range(RIVALS)))

        assert sorted(firsts) == list(range(1, 3 * RIVALS, 3))

    async def test_an_execution_comes_back_as_it_was_recorded(self, store: Store) -> None:
        wanted = Execution(
            id=await store.reserve_ids(1),
            sha="abc",
            path="a/b",
            version=7,
            status=WAITING,
            folder="/srv/playbooks",
            request_key="request",
            parent_id=99,
            parent_key="99:1:-1:call:1",
            created_at=1763270000.25,
            ended_at=1763270001.5,
            digest="d1gest",
        )

        await store.commit(Batch(executions=[wanted]))

        assert await store.execution(wanted.id) == wanted
        assert await store.execution_by_request("request") == wanted
        assert await store.execution_by_parent("99:1:-1:call:1") == wanted

    async def test_what_is_not_there_is_none(self, store: Store) -> None:
        assert await store.execution(1) is None
        assert await store.execution_by_request("request") is None
        assert await store.execution_by_parent("parent") is None
        assert await store.snapshot(1) is None
        assert await store.events(1) == []
        assert [output async for output in store.iteration_outputs(1, 1)] == []

    @pytest.mark.parametrize("key", ["request_key", "parent_key", "id"])
    async def test_a_key_is_taken_once_and_for_all(self, store: Store, key: str) -> None:
        first = await begin(store, [started(1)], request_key="request", parent_key="parent")
        second = await store.reserve_ids(1)
        taken: dict[str, Any] = {"request_key": "request", "parent_key": "parent", "id": first}
        row = {"id": second, "sha": "5ha", "path": "orders", "version": 1, key: taken[key]}

        with pytest.raises(HeadMoved):
            await store.commit(Batch(executions=[Execution(**row)]))

        assert [execution.id for execution in await store.executions()] == [first]

    async def test_executions_without_keys_do_not_get_in_each_others_way(self, store: Store) -> None:
        ids = [await begin(store, []), await begin(store, [])]

        assert [execution.id for execution in await store.executions()] == ids[::-1]

    async def test_children_are_listed_oldest_first(self, store: Store) -> None:
        parent, stranger = await begin(store, []), await begin(store, [])
        children = [await begin(store, [], parent_id=parent, parent_key=f"call {number}") for number in range(3)]

        found = await store.children(parent)

        assert [execution.id for execution in found] == children
        assert await store.children(stranger) == []

    # --- logs --------------------------------------------------------------------------------------------------------

    @pytest.mark.spec("EV-06")
    async def test_a_log_is_gapless_and_in_order(self, store: Store) -> None:
        execution_id = await begin(store, [started(1), started(2)])

        await store.commit(
            Batch(appends=[append(execution_id, 3, [started(3)]), append(execution_id, 4, [started(4)])])
        )

        assert await log_of(store, execution_id) == [(number, started(number)) for number in range(1, 5)]

    async def test_the_row_of_an_execution_follows_its_log(self, store: Store) -> None:
        execution_id = await begin(store, [started(1)])

        await store.commit(Batch(appends=[append(execution_id, 2, [started(2), started(3)], status=WAITING)]))
        meanwhile = await store.execution(execution_id)
        end = append(execution_id, 4, [started(4)], status=SUCCESS, ended_at=1763270000.5, digest="d1gest")
        await store.commit(Batch(appends=[end]))
        ended = await store.execution(execution_id)

        assert meanwhile is not None
        assert (meanwhile.head, meanwhile.status, meanwhile.ended_at, meanwhile.digest) == (3, WAITING, None, "")
        assert ended is not None
        assert (ended.head, ended.status, ended.ended_at, ended.digest) == (4, SUCCESS, end.ended_at, "d1gest")
        assert await store.executions(wanted=Wanted(statuses=(SUCCESS,))) == [ended]
        assert await store.executions(wanted=Wanted(statuses=(RUNNING,))) == []

    async def test_a_log_is_read_from_any_place(self, store: Store) -> None:
        execution_id = await begin(store, [started(number) for number in range(1, 8)])

        middle = await store.events(execution_id, after=2, limit=3)
        end = await store.events(execution_id, after=6)

        assert middle == [(number, started(number)) for number in (3, 4, 5)]
        assert end == [(7, started(7))]
        assert await store.events(execution_id, after=7) == []

    async def test_logs_do_not_mix(self, store: Store) -> None:
        one, other = await begin(store, [started(1)]), await begin(store, [started(2)])

        await store.commit(Batch(appends=[append(other, 2, [started(3)]), append(one, 2, [started(4)])]))

        assert await log_of(store, one) == [(1, started(1)), (2, started(4))]
        assert await log_of(store, other) == [(1, started(2)), (2, started(3))]

    async def test_a_refused_batch_does_not_stop_the_next_one(self, store: Store) -> None:
        execution_id = await begin(store, [started(1)])

        with pytest.raises(HeadMoved):
            await store.commit(Batch(appends=[append(execution_id, 1, [started(2)])]))
        await store.commit(Batch(appends=[append(execution_id, 2, [started(3)])]))

        assert await log_of(store, execution_id) == [(1, started(1)), (2, started(3))]

    @pytest.mark.spec("EV-06")
    @pytest.mark.parametrize("first_seq", [1, 2, 4, 0], ids=["again", "overlap", "gap", "zero"])
    async def test_a_batch_with_one_wrong_place_leaves_nothing(self, store: Store, first_seq: int) -> None:
        one, other = await begin(store, [started(1)]), await begin(store, [started(1), started(2)])
        new = Execution(id=await store.reserve_ids(1), sha="5ha", path="orders", version=1)
        good = [append(one, 2, [started(2)], status=SUCCESS), append(new.id, 1, [started(1)])]
        wrong = append(other, first_seq, [started(3)])
        snapshots = [Snapshot(execution_id=one, seq=2, engine=1, body=b"state")]

        with pytest.raises(HeadMoved):
            await store.commit(Batch(executions=[new], appends=[*good, wrong], snapshots=snapshots))

        assert await store.execution(new.id) is None
        assert await store.snapshot(one) is None
        assert await log_of(store, one) == [(1, started(1))]
        assert await log_of(store, other) == [(1, started(1)), (2, started(2))]
        rows = [row for row in await store.executions() if row.id in (one, other)]
        assert {(row.id, row.head, row.status) for row in rows} == {(one, 1, RUNNING), (other, 2, RUNNING)}

    async def test_a_log_that_nobody_began_takes_no_events(self, store: Store) -> None:
        with pytest.raises(HeadMoved):
            await store.commit(Batch(appends=[append(5, 1, [started(1)])]))

        assert await store.events(5) == []

    async def test_a_batch_with_an_event_that_cannot_be_encoded_leaves_nothing(self, store: Store) -> None:
        execution_id = await begin(store, [started(1)])
        impossible = LoopIterationDone(ts=1.0, run=1, iter=0, output={"data": object()})

        with pytest.raises(TypeError):
            await store.commit(Batch(appends=[append(execution_id, 2, [started(2), impossible])]))
        await store.commit(Batch(appends=[append(execution_id, 2, [started(3)])]))

        assert await log_of(store, execution_id) == [(1, started(1)), (2, started(3))]

    async def test_an_empty_batch_changes_nothing(self, store: Store) -> None:
        execution_id = await begin(store, [started(1)])

        await store.commit(Batch())

        assert await log_of(store, execution_id) == [(1, started(1))]

    async def test_a_large_batch_is_one_batch_too(self, store: Store) -> None:
        events = [started(number) for number in range(1, MANY_EVENTS + 1)]
        execution_id = await begin(store, [])

        await store.commit(Batch(appends=[append(execution_id, 1, events)]))
        with pytest.raises(HeadMoved):
            await store.commit(Batch(appends=[append(execution_id, 1, events)]))

        assert await log_of(store, execution_id) == list(enumerate(events, 1))

    @pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__struct_config__.tag)
    async def test_every_event_comes_back_as_it_was(self, store: Store, kind: type[Event]) -> None:
        event = sample(kind)

        execution_id = await begin(store, [event])

        assert await log_of(store, execution_id) == [(1, event)]

    async def test_any_text_comes_back_as_it_was(self, store: Store) -> None:
        text = "\x00 \x1f \u2028 \U0001f680 ' \" \\ \\u0000 %s $1 {} --"
        event = LoopIterationDone(
            ts=1.0, run=1, iter=0, output={"status": "ok", "data": {text: [text, 2**53 + 1, 1e300]}}
        )

        execution_id = await begin(store, [event])

        assert await log_of(store, execution_id) == [(1, event)]

    # --- loops and snapshots -----------------------------------------------------------------------------------------

    async def test_outputs_of_iterations_come_in_the_order_of_their_indexes(self, store: Store) -> None:
        finished = [(index * 7) % ITERATIONS for index in range(ITERATIONS)]
        execution_id = await begin(store, [iteration(index) for index in finished])

        found = [output async for output in store.iteration_outputs(execution_id, 1)]

        assert found == [(index, {"status": "ok", "data": index}) for index in range(ITERATIONS)]

    async def test_only_the_done_iterations_of_that_run_give_outputs(self, store: Store) -> None:
        failed = LoopIterationFailed(ts=1.0, run=1, iter=1, error={"kind": "python"})
        named_alike = Emitted(ts=1.0, run=1, iter=2, event="loop.iteration.done", step="a", on="step.done")
        execution_id = await begin(store, [iteration(3), iteration(0, run=2), failed, named_alike, iteration(0)])
        await begin(store, [iteration(4)])

        found = [index async for index, _ in store.iteration_outputs(execution_id, 1)]

        assert found == [0, 3]

    async def test_the_newest_snapshot_wins(self, store: Store) -> None:
        execution_id = await begin(store, [started(number) for number in range(1, 30)])
        snapshots = [
            Snapshot(execution_id=execution_id, seq=seq, engine=1, body=f"state {seq}".encode()) for seq in (10, 20, 15)
        ]

        for snapshot in snapshots:
            await store.commit(Batch(snapshots=[snapshot]))

        assert await store.snapshot(execution_id) == snapshots[1]

    # --- the catalog -------------------------------------------------------------------------------------------------

    @pytest.mark.spec("PB-07")
    async def test_versions_are_numbered_by_content(self, store: Store) -> None:
        first = await store.register(playbook("a1", label="9.9", is_legacy=True, name="orders.yaml", created_at=12.5))
        second = await store.register(playbook("b2", text=b"kind: Playbook # changed\n", label="9.9"))
        again = await store.register(playbook("a1", name="renamed.yaml"))
        elsewhere = await store.register(playbook("a1", path="other"))

        assert (first.version, second.version, elsewhere.version) == (1, 2, 1)
        assert (first.name, first.label, first.is_legacy, first.created_at) == ("orders.yaml", "9.9", True, 12.5)
        assert again == first

    @pytest.mark.spec("PB-07", "PB-08")
    async def test_a_version_is_found_by_number_by_content_or_as_the_newest(self, store: Store) -> None:
        first, second = await store.register(playbook("a1")), await store.register(playbook("b2"))

        assert await store.entry("orders") == second
        assert await store.entry("orders", 1) == first
        assert await store.entry_by_sha("a1") == first
        assert await store.entry("orders", 3) is None
        assert await store.entry("orders", 0) is None
        assert await store.entry("unknown") is None
        assert await store.entry_by_sha("c3") is None

    async def test_the_catalog_lists_paths_in_order_and_newest_versions_first(self, store: Store) -> None:
        for path, sha in (("b", "1"), ("a", "2"), ("b", "3"), ("a/b", "4")):
            await store.register(playbook(sha, path=path))

        found = [(entry.path, entry.version) for entry in await store.entries()]

        assert found == [("a", 1), ("a/b", 1), ("b", 2), ("b", 1)]

    async def test_versions_that_are_registered_at_once_each_get_a_number(self, store: Store) -> None:
        texts = [playbook(str(number % RIVALS)) for number in range(2 * RIVALS)]

        entries = await asyncio.gather(*map(store.register, texts))

        assert sorted({entry.version for entry in entries}) == list(range(1, RIVALS + 1))
        assert len({(entry.sha, entry.version) for entry in entries}) == RIVALS

    # --- across processes --------------------------------------------------------------------------------------------

    async def test_everything_is_there_after_reopening(self, store: Store, tmp_path: Path) -> None:
        execution_id = await begin(store, [started(1), iteration(0)], request_key="request")
        entry = await store.register(playbook("a1", is_upstream=True))
        snapshot = Snapshot(execution_id=execution_id, seq=2, engine=3, body=b"\x00state")
        await store.commit(Batch(snapshots=[snapshot]))
        await store.put_record(token("ci", b"1"))
        row = await store.execution(execution_id)

        again = await self.reopen(store, tmp_path)

        try:
            assert await again.execution_by_request("request") == row
            assert await log_of(again, execution_id) == [(1, started(1)), (2, iteration(0))]
            assert await again.entry("orders") == entry
            assert await again.snapshot(execution_id) == snapshot
            assert await again.record("token", "ci") == token("ci", b"1", version=1)
            assert await again.reserve_ids(1) > execution_id
        finally:
            await again.close()

    async def test_closing_twice_is_harmless(self, store: Store) -> None:
        await store.close()

        await store.close()
