"""Events on the stream: all of them, once, in the order of the log, also after an outage; and whose turn it is."""

import asyncio
import json
import random

import nats as client_library
import pytest
import pytest_asyncio

from noetl.clock import SystemClock
from noetl.engine.events import StepStarted, TaskDone
from noetl.errors import Unreachable
from noetl.queues.nats_export import EVENTS_AT_ONCE_MAX, EventExport
from noetl.stores.contract import Append, Batch, Execution
from noetl.stores.memory import MemoryStore
from noetl.stores.postgres import PostgresStore
from noetl.stores.turns import LIFE_SECONDS, Turn
from noetl.testing.clocks import ClockByHand
from noetl.testing.nats_stage import on_nats
from noetl.testing.services import restarting_nats


@pytest_asyncio.fixture
async def store(database_url):
    opened = await PostgresStore.open(database_url)
    yield opened
    await opened.close()


def export_of(stage, link, store):
    async def always():
        return True

    return EventExport(link, store, prefix=stage.prefix, clock=SystemClock(), chance=random.random, is_mine=always)


async def started(store):
    execution_id = await store.reserve_ids(1)
    await store.commit(Batch(executions=[Execution(id=execution_id, sha="5ha", path="a", version=1)]))
    return execution_id


async def append(store, execution_id, first, count, size=10):
    events = [
        StepStarted(ts=1.0 + seq, run=seq, step="load")
        if seq % 2
        else TaskDone(ts=1.0 + seq, run=seq, do="continue", output={"data": "x" * size})
        for seq in range(first, first + count)
    ]
    await store.commit(
        Batch(appends=[Append(execution_id=execution_id, first_seq=first, events=events, status="running")])
    )


async def stream_of(url, export):
    """(subject, id, name) of all that the stream has."""
    client = await client_library.connect(url)
    try:
        jetstream = client.jetstream()
        last = (await jetstream.stream_info(export.stream)).state.last_seq
        found = [await jetstream.get_msg(export.stream, seq) for seq in range(1, last + 1)]
    finally:
        await client.close()
    bodies = [json.loads(message.data) for message in found]
    return [(message.subject, body["event_id"], body) for message, body in zip(found, bodies, strict=True)]


async def test_every_event_is_exported_once_and_in_order(stage, store, nats_url):
    export = export_of(stage, await stage.link(), store)
    first, second = await started(store), await started(store)
    await append(store, first, 1, EVENTS_AT_ONCE_MAX + 50)
    await append(store, second, 1, 3)
    counts = [await export.export() for _ in range(3)]
    await append(store, second, 4, 2)

    counts.append(await export.export())
    found = await stream_of(nats_url, export)

    assert counts == [EVENTS_AT_ONCE_MAX + 3, 50, 0, 2]
    for execution_id, last in ((first, EVENTS_AT_ONCE_MAX + 50), (second, 5)):
        ids = [name for subject, name, _ in found if subject == f"{stage.prefix}.events.{execution_id}"]
        assert ids == [f"{execution_id}-{seq}" for seq in range(1, last + 1)]


async def test_what_was_sent_without_its_cursor_being_kept_is_in_the_stream_once(stage, store, nats_url):
    export = export_of(stage, await stage.link(), store)
    execution_id = await started(store)
    await append(store, execution_id, 1, 5)
    advance, store.advance = store.advance, failing
    with pytest.raises(Unreachable):
        await export.export()

    store.advance = advance
    await export.export()

    assert [name for _, name, _ in await stream_of(nats_url, export)] == [f"{execution_id}-{n}" for n in range(1, 6)]


async def failing(cursors):
    raise Unreachable("no database")


async def test_an_event_that_is_too_large_for_a_message_goes_without_its_payload(stage, store, nats_url):
    export = export_of(stage, await stage.link(), store)
    execution_id = await started(store)
    await append(store, execution_id, 1, 2, size=2_000_000)

    await export.export()
    large = (await stream_of(nats_url, export))[1][2]

    assert (large["payload"], large["is_payload_too_large"], large["name"]) == (None, True, "task.done")


async def test_a_stream_that_the_operator_made_is_left_as_it_is(stage, store, nats_url):
    export = export_of(stage, await stage.link(), store)
    client = await client_library.connect(nats_url)
    await client.jetstream().add_stream(name=export.stream, subjects=[f"{stage.prefix}.events.>"], max_msgs=7)
    await append(store, await started(store), 1, 9)

    await export.export()
    info = await client.jetstream().stream_info(export.stream)
    await client.close()

    assert (info.config.max_msgs, info.state.messages) == (7, 7)


async def test_an_outage_of_nats_is_caught_up_with(store):
    with restarting_nats() as server:
        async with on_nats(server.url) as stage:
            export = export_of(stage, await stage.link(), store)
            execution_id = await started(store)
            await append(store, execution_id, 1, 3)
            running = asyncio.create_task(export.run())
            while await store.behind(1):
                await asyncio.sleep(0.01)
            server.stop()
            await append(store, execution_id, 4, 3)
            await asyncio.to_thread(server.start)
            while await store.behind(1):
                await asyncio.sleep(0.01)
            running.cancel()
            found = await stream_of(server.url, export)

    assert [name for _, name, _ in found] == [f"{execution_id}-{seq}" for seq in range(1, 7)]


async def test_a_cursor_never_goes_back(store):
    execution_id = await started(store)
    await append(store, execution_id, 1, 5)
    await store.advance([(execution_id, 4)])

    await store.advance([(execution_id, 2)])

    assert (execution_id, 4) in await store.behind(100)
    await store.advance([(execution_id, 5)])


async def test_one_server_has_the_turn_until_it_stops_renewing():
    records, clock = MemoryStore(), ClockByHand()
    one, two = (Turn(records, name="export", holder=name, clock=clock) for name in ("one", "two"))
    begun = [await one.is_mine(), await two.is_mine()]
    for _ in range(3):
        clock.seconds += LIFE_SECONDS * 0.7
        begun += [await one.is_mine(), await two.is_mine()]

    clock.seconds += LIFE_SECONDS * 1.1

    assert begun == [True, False] * 4
    assert [await two.is_mine(), await one.is_mine()] == [True, False]
