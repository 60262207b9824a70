"""Logs as blocks in a SQLite file: every event is found again, however they were packed, and they take little room."""

import random
import sqlite3
import zlib
from contextlib import closing

import pytest

from noetl.engine.events import LoopIterationDone, LoopIterationStarted, StepStarted, TaskDone, TaskStarted
from noetl.errors import StoreUnusable
from noetl.stores.contract import Batch
from noetl.stores.sqlite import SqliteStore
from noetl.stores.sqlite_blocks import BLOCK_BYTES_MAX, EVENTS_PER_BLOCK_MAX, events_in, of_blocks
from noetl.testing.logs import append, begin, started

TASK_BYTES_MAX = 400  # of a no-op task with all its events, on disk
IN_FLIGHT = 100


@pytest.fixture
def path(tmp_path):
    return tmp_path / "noetl.db"


@pytest.fixture
async def store(path):
    opened = await SqliteStore.open(path)
    yield opened
    await opened.close()


def unpacked(rows):
    return [event for execution_id, last_seq, body in rows for event in events_in(body, execution_id, last_seq)]


def no_op(index):
    """The events of one iteration, as a worker reports them."""
    ids = {"run": 1, "iter": index}
    said = {**ids, "lease": 8087987974639239990 + index, "ts": 1794852819.6237962 + index / 12_000}
    meta = {"attempt": 1, "duration_ms": 0.002, "ts": said["ts"], "trace": "4ce13bafb468aaacf045ca72007d9bdf"}
    output = {"status": "ok", "data": None, "ref": None, "error": None, "meta": meta}
    task = {"task": "each_task", "visit": 1, "attempt": 1}
    return [
        LoopIterationStarted(ts=said["ts"], **ids),
        TaskStarted(**said, **task, kind="noop"),
        TaskDone(**said, **task, do="continue", output=output),
        LoopIterationDone(**said, output=output),
    ]


@pytest.mark.parametrize("count", [0, 1, 2, EVENTS_PER_BLOCK_MAX, EVENTS_PER_BLOCK_MAX + 1, 3 * EVENTS_PER_BLOCK_MAX])
def test_events_come_out_of_their_blocks_as_they_went_in(count):
    events = [started(number) for number in range(count)]

    rows = of_blocks([append(7, 11, events)])

    assert unpacked(rows) == events
    assert [last_seq for _, last_seq, _ in rows][-1:] == ([10 + count] if count else [])


def test_large_events_are_packed_into_several_blocks():
    chance = random.Random(3)
    events = [StepStarted(ts=1.0, run=number, step=chance.randbytes(20_000).hex()) for number in range(40)]

    rows = of_blocks([append(7, 1, events)])

    assert unpacked(rows) == events
    assert len(rows) > 40 * 40_000 // BLOCK_BYTES_MAX
    assert all(len(zlib.decompress(body)) <= BLOCK_BYTES_MAX for _, _, body in rows)


@pytest.mark.parametrize("sizes", [[1] * 40, [300, 1, 1, 700], [5, 600, 3]], ids=["single", "mixed", "long"])
async def test_any_page_of_a_log_is_found_whatever_was_written_together(store, sizes):
    events = [started(number) for number in range(1, sum(sizes) + 1)]
    execution_id, seq = await begin(store, []), 1
    for size in sizes:
        await store.commit(Batch(appends=[append(execution_id, seq, events[seq - 1 : seq - 1 + size])]))
        seq += size

    whole = list(enumerate(events, 1))
    for after in (0, 1, 4, 5, 17, 299, 300, 301, len(events) - 1, len(events)):
        for limit in (1, 2, 256, 5000):
            assert await store.events(execution_id, after, limit) == whole[after : after + limit]


async def test_an_event_within_a_block_that_cannot_be_read_is_named(path, store):
    execution_id = await begin(store, [started(number) for number in range(1, 51)])
    with closing(sqlite3.connect(path)) as database, database:
        ((body,),) = database.execute("SELECT body FROM event_block").fetchall()
        text = zlib.decompress(body).replace(b'"run":17,', b'"run":"x",')
        database.execute("UPDATE event_block SET body = ?", (zlib.compress(text),))

    with pytest.raises(StoreUnusable, match=rf"^event {execution_id}-17 cannot be read"):
        await store.events(execution_id)


@pytest.mark.parametrize("body", [b"x\x9cdamaged", b"[1,", b""], ids=["no stream", "cut off", "empty"])
async def test_a_block_that_cannot_be_read_at_all_is_named_by_its_last_event(path, store, body):
    execution_id = await begin(store, [started(1), started(2)])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE event_block SET body = ?", (body,))

    with pytest.raises(StoreUnusable, match=rf"the block that ends with event {execution_id}-2 cannot be read"):
        await store.events(execution_id)


async def test_an_output_whose_event_is_lost_is_an_error_and_not_left_out(path, store):
    execution_id = await begin(store, no_op(0))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM event_block")

    with pytest.raises(StoreUnusable, match=rf"lost event {execution_id}-4"):
        [one async for one in store.iteration_outputs(execution_id, 1)]


async def test_what_iterations_gave_is_read_without_the_log_where_it_is_little(path, store):
    little = [LoopIterationDone(ts=1.0, run=1, iter=index, output={"data": index}) for index in range(3)]
    large = LoopIterationDone(ts=1.0, run=1, iter=3, output={"data": "x" * 1000})
    execution_id = await begin(store, [large, *little])

    (page,) = [page async for page in store.iteration_pages(execution_id, 1)]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM event_block")

    assert page == [(0, b"0"), (1, b"1"), (2, b"2"), (3, large.output)]
    assert [page async for page in store.iteration_pages(execution_id, 2)] == []
    with pytest.raises(StoreUnusable, match=rf"lost event {execution_id}-1"):
        [page async for page in store.iteration_pages(execution_id, 1)]


async def test_a_no_op_task_takes_little_room_on_disk(path):
    store = await SqliteStore.open(path)
    execution_id, seq = await begin(store, []), 1
    for start in range(0, 2000, IN_FLIGHT):
        events = [event for index in range(start, start + IN_FLIGHT) for event in no_op(index)]
        await store.commit(Batch(appends=[append(execution_id, seq, events)]))
        seq += len(events)
    await store.close()

    assert path.stat().st_size / 2000 < TASK_BYTES_MAX
