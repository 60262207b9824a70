"""kind: nats on streams: messages are published once, fetched at least once, and remembered until acknowledged."""

from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from tests.integration.nats.outputs import error_of, helper

pytestmark = pytest.mark.spec("UP-09")


@pytest_asyncio.fixture
async def stream(other, place):
    await other.jetstream().add_stream(name=place, subjects=[f"{place}.>"])
    return place


async def test_a_message_published_twice_by_one_attempt_is_in_the_stream_once(ask, stream):
    fields = {"subject": f"{stream}.orders", "value": {"id": 1}}

    first = await ask("publish", **fields, attempt="1/1")
    again = await ask("publish", **fields, attempt="1/1")
    next_one = await ask("publish", **fields, attempt="1/2")

    assert first.data == again.data == {"stream": stream, "sequence": 1}
    assert (helper(first, "duplicate"), helper(again, "duplicate")) == (False, True)
    assert helper(next_one, "sequence") == 2
    assert (await ask("stream_info", stream=stream)).data["messages"] == 2


async def test_a_message_goes_to_the_named_stream_or_nowhere(ask, stream):
    output = await ask("publish", subject=f"{stream}.orders", value=1, stream="another")

    assert error_of(output)[0] == "client_error"
    assert (await ask("stream_info", stream=stream)).data["messages"] == 0


async def test_what_is_fetched_and_not_acknowledged_comes_again(ask, stream):
    for number in range(5):
        await ask("publish", subject=f"{stream}.orders", value={"id": number}, headers={"Source": "test"})
    fields = {"stream": stream, "consumer": "loader", "limit": 3, "wait_seconds": 0.1}

    first = await ask("fetch", **fields)
    given_back = await ask("nak", messages=first.data[2:])
    acknowledged = await ask("ack", messages=first.data[:2])
    rest = await ask("fetch", **{**fields, "limit": 10, "wait_seconds": 5})
    await ask("ack", messages=rest.data)

    assert [(row["value"]["id"], row["sequence"], row["deliveries"]) for row in first.data] == [
        (0, 1, 1),
        (1, 2, 1),
        (2, 3, 1),
    ]
    assert first.data[0]["subject"] == f"{stream}.orders"
    assert first.data[0]["headers"]["Source"] == "test"
    assert datetime.fromisoformat(first.data[0]["time"]) > datetime.now(UTC) - timedelta(minutes=5)
    assert (given_back.data, acknowledged.data) == ({"messages": 1}, {"messages": 2})
    assert sorted((row["value"]["id"], row["deliveries"]) for row in rest.data) == [(2, 2), (3, 1), (4, 1)]
    assert (await ask("fetch", **fields)).data == []


async def test_a_worker_that_dies_before_the_acknowledgement_loses_nothing(ask, stream):
    await ask("publish", subject=f"{stream}.orders", value=1)
    fields = {"stream": stream, "consumer": "loader", "ack_wait_seconds": 1, "wait_seconds": 5}

    first = await ask("fetch", **fields)
    again = await ask("fetch", **fields)

    assert [row["value"] for row in first.data] == [row["value"] for row in again.data] == [1]
    assert again.data[0]["deliveries"] == 2


async def test_without_a_consumer_a_stream_is_read_from_a_sequence_and_nothing_is_remembered(ask, stream):
    for number in range(1, 151):
        await ask("publish", subject=f"{stream}.{'odd' if number % 2 else 'even'}", value=number)
    fields = {"stream": stream, "wait_seconds": 0.1}

    first = await ask("fetch", **fields)
    rest = await ask("fetch", **fields, start=helper(first, "sequence") + 1)
    even = await ask("fetch", **fields, subject=f"{stream}.even", limit=2)
    beyond = await ask("fetch", **fields, start=1000)

    assert [row["value"] for row in first.data] == list(range(1, 101))
    assert [row["value"] for row in rest.data] == list(range(101, 151))
    assert [row["value"] for row in even.data] == [2, 4]
    assert set(even.data[0]) == {"subject", "sequence", "time", "headers", "value"}
    assert (beyond.data, helper(beyond, "sequence")) == ([], None)
    assert (await ask("stream_info", stream=stream)).data["consumers"] == 0


async def test_a_fetch_stops_before_it_holds_more_than_a_result_may_have(ask, other, stream):
    for _ in range(100):
        await other.jetstream().publish(f"{stream}.big", b"x" * 20_000)

    output = await ask("fetch", stream=stream, limit=100)

    assert len(output.data) == 64


async def test_a_question_gets_the_answer_of_a_service(ask, other, place):
    async def double(message):
        await message.respond(str(2 * int(message.data)).encode())

    await other.subscribe(f"{place}.double", cb=double)
    await other.flush()

    assert (await ask("request", subject=f"{place}.double", value=21)).data == 42


async def test_a_question_that_nobody_hears_may_be_asked_again(ask, place):
    output = await ask("request", subject=f"{place}.nobody", value=1)

    assert error_of(output) == ("not_found", f"request of {place}.nobody: nobody answers that subject now")
    assert output.error.retryable is True


async def test_core_delivery_reaches_whoever_listens_now(ask, other, place):
    listening = await other.subscribe(place)
    await other.flush()

    output = await ask("publish", subject=place, value={"a": 1}, delivery="core", headers={"X": 1})

    message = await listening.next_msg(timeout=5)
    assert output.error is None
    assert (message.data, message.headers["X"]) == (b'{"a":1}', "1")
