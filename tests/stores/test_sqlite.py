"""What only the SQLite store has: readers beside the writer, large batches, checkpoints, room on the disk."""

import asyncio
import random

import pytest

from noetl.engine.events import StepStarted
from noetl.errors import DiskFull, StoreUnusable
from noetl.stores.contract import Batch, Execution
from noetl.stores.sqlite import CHECKPOINT_BYTES, EVENTS_ON_LOOP_MAX, SqliteStore
from noetl.stores.sqlite_blocks import ITERATIONS
from noetl.testing.logs import append, begin, log_of, playbook, started
from tests.stores.processes import run

CHANCE = random.Random(7)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "noetl.db"


@pytest.fixture
async def store(path):
    opened = await SqliteStore.open(path)
    yield opened
    await opened.close()


def noise(characters):
    """Text that compression makes no shorter than half."""
    return CHANCE.randbytes(characters // 2).hex()


def new_execution(execution_id):
    return Execution(id=execution_id, sha="5ha", path="orders", version=1)


async def test_a_commit_is_on_disk_when_it_returns(store):
    settings = ("journal_mode", "synchronous", "wal_autocheckpoint", "busy_timeout")

    found = [store._writer.execute(f"PRAGMA {setting}").fetchone()[0] for setting in settings]

    assert found == ["wal", 2, 0, 5000]


# --- readers ----------------------------------------------------------------------------------------------------------


async def test_a_reader_sees_what_is_written_while_it_is_open(path, store):
    execution_id = await begin(store, [started(1)])
    reader = await SqliteStore.open(path, is_read_only=True)
    before = await log_of(reader, execution_id)

    await store.commit(Batch(appends=[append(execution_id, 2, [started(2)])]))

    assert (before, await log_of(reader, execution_id)) == (
        [(1, started(1))],
        [(1, started(1)), (2, started(2))],
    )
    await reader.close()


async def test_a_reader_cannot_write(path, store):
    reader = await SqliteStore.open(path, is_read_only=True)

    for write in (reader.reserve_ids(1), reader.commit(Batch()), reader.register(playbook("a1"))):
        with pytest.raises(StoreUnusable, match="reading only"):
            await write

    await reader.close()


async def test_a_store_that_is_not_there_is_not_made_by_reading(path):
    with pytest.raises(StoreUnusable, match="nothing has run there yet"):
        await SqliteStore.open(path, is_read_only=True)

    assert list(path.parent.iterdir()) == []


# --- large batches, checkpoints ---------------------------------------------------------------------------------------


async def test_a_read_during_a_large_commit_sees_nothing_of_it(store):
    execution_id = await begin(store, [])
    events = [started(number) for number in range(1, 5 * EVENTS_ON_LOOP_MAX)]
    seen = set()

    commit = asyncio.ensure_future(store.commit(Batch(appends=[append(execution_id, 1, events)])))
    while not commit.done():
        seen.add((await store.execution(execution_id)).head)
        await asyncio.sleep(0)

    assert seen <= {0, len(events)}
    assert 0 in seen
    assert (await store.execution(execution_id)).head == len(events)


async def test_commits_wait_for_a_large_one_that_nobody_waits_for_any_more(store):
    one, other = await begin(store, []), await begin(store, [])
    events = [started(number) for number in range(1, 5 * EVENTS_ON_LOOP_MAX)]

    large = asyncio.ensure_future(store.commit(Batch(appends=[append(one, 1, events)])))
    await asyncio.sleep(0)
    large.cancel()
    await store.commit(Batch(appends=[append(other, 1, [started(1)])]))

    assert large.cancelled()
    assert (await store.execution(one)).head == len(events)
    assert (await store.execution(other)).head == 1


@pytest.mark.slow
@pytest.mark.parametrize(("count", "characters"), [(20, 50_000), (2 * EVENTS_ON_LOOP_MAX, 250)], ids=["small", "large"])
async def test_the_write_ahead_log_does_not_grow_with_the_writing(path, store, count, characters):
    execution_id = await begin(store, [])
    events = [StepStarted(ts=1.0, run=1, step=noise(characters)) for _ in range(count)]
    written_bytes = 120 * count * characters // 2  # as text that says half of what it could

    for number in range(120):
        await store.commit(Batch(appends=[append(execution_id, 1 + number * count, events)]))

    wal_bytes = path.with_name("noetl.db-wal").stat().st_size
    assert wal_bytes < 2 * CHECKPOINT_BYTES < written_bytes / 1.5


# --- room on the disk -------------------------------------------------------------------------------------------------


async def test_nothing_new_is_started_on_a_disk_that_is_nearly_full(path):
    room = [1000]
    store = await SqliteStore.open(path, free_bytes_min=500, measure_free_bytes=lambda folder: room[0])
    execution_id = await begin(store, [started(1)])
    room[0] = 499

    with pytest.raises(DiskFull):
        await store.commit(Batch(executions=[new_execution(await store.reserve_ids(1))]))
    await store.commit(Batch(appends=[append(execution_id, 2, [started(2)])]))

    assert store.free_bytes() == 499
    assert [execution.id for execution in await store.executions()] == [execution_id]
    assert (await store.execution(execution_id)).head == 2
    await store.close()


async def test_the_free_space_of_the_real_disk_is_measured(store):
    assert store.free_bytes() > 0


async def test_a_full_disk_leaves_the_log_whole_and_the_store_usable(store):
    execution_id = await begin(store, [started(1)])
    (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
    store._writer.execute(f"PRAGMA max_page_count={pages + 2}").fetchone()
    large = StepStarted(ts=1.0, run=2, step=noise(100_000))

    with pytest.raises(DiskFull):
        await store.commit(Batch(appends=[append(execution_id, 2, [large])]))
    await store.commit(Batch(appends=[append(execution_id, 2, [started(2)])]))

    assert await log_of(store, execution_id) == [(1, started(1)), (2, started(2))]


def test_a_file_that_may_not_grow_is_a_full_disk_too(path):
    body = """
        store = await SqliteStore.open(path)
        first = await store.reserve_ids(1)
        await store.commit(Batch(executions=[execution(first)]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name("noetl.db-wal").stat().st_size + 20_000, -1))
        try:
            await store.commit(batch(first, 1, count=1000))
        except NoetlError as fault:
            say(type(fault).__name__)
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        await store.commit(batch(first, 1))
        say((await store.execution(first)).head, len(await store.events(first)))
        await store.close()
    """

    assert run(body, path) == "DiskFull\n1 1\n"


# --- loops ------------------------------------------------------------------------------------------------------------


async def test_outputs_of_iterations_are_found_by_index_and_not_by_reading_the_log(store):
    plan = store._reader.execute(f"EXPLAIN QUERY PLAN {ITERATIONS}", (1, 1, -1, 0, 10)).fetchall()

    steps = [row["detail"] for row in plan]
    assert len(steps) == 1
    assert steps[0].startswith("SEARCH iteration_done USING PRIMARY KEY (execution_id=? AND run=?")


@pytest.mark.slow
def test_outputs_of_many_iterations_are_read_in_little_memory(path):
    body = """
        store = await SqliteStore.open(path)
        first = await store.reserve_ids(1)
        await store.commit(Batch(executions=[execution(first)]))
        for start in range(0, 200_000, 2000):
            events = [
                LoopIterationDone(ts=1.0, run=1, iter=199_999 - index, output={"status": "ok", "data": "a" * 200})
                for index in range(start, start + 2000)
            ]
            await store.commit(
                Batch(appends=[Append(execution_id=first, first_seq=start + 1, events=events, status=RUNNING)])
            )
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        expected = 0
        async for index, output in store.iteration_outputs(first, 1):
            assert index == expected and len(output["data"]) == 200
            expected += 1
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        await store.close()
        say(expected, grown // (1024 if sys.platform == "linux" else 1024**2))
    """

    count, grown_mebibytes = map(int, run(body, path).split())

    assert count == 200_000
    assert grown_mebibytes < 16
