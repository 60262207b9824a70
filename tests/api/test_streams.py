"""Live views: server-sent events of one execution, and of all."""

import asyncio

import msgspec
import pytest

from noetl.api import events
from noetl.api.app import make_app
from noetl.control import listening
from noetl.testing.clocks import ShiftedClock
from tests.api.site import HELLO, WAITING, site

EXECUTIONS = "/api/v1/executions"


def stream_of(execution_id: str) -> str:
    return f"{EXECUTIONS}/{execution_id}/events/stream"


async def log_of(api, execution_id: str) -> list[dict]:
    _, page = await api.ask("GET", f"{EXECUTIONS}/{execution_id}/events")
    return page["events"]


async def test_a_stream_is_the_log_with_its_numbers_and_ends_with_it(api):
    execution_id = await api.run(HELLO)

    told = await (await api.stream(stream_of(execution_id))).all()

    log = await log_of(api, execution_id)
    assert [event["data"] for event in told] == log
    assert [event["id"] for event in told] == [str(number) for number in range(1, len(log) + 1)]
    assert told[-1]["event"] == "playbook.processed"


async def test_what_is_committed_meanwhile_arrives_at_once_and_in_order(api):
    execution_id = await api.run(WAITING)
    stream = await api.stream(stream_of(execution_id))
    arriving = asyncio.create_task(stream.all())
    before = len(await log_of(api, execution_id))

    for number in range(5):
        await api.ask("POST", f"{EXECUTIONS}/{execution_id}/signal", {"set": {"ctx.n": number}})
    await api.ask("POST", f"{EXECUTIONS}/{execution_id}/signal", {"set": {"ctx.go": True}})

    told = await asyncio.wait_for(arriving, 10)
    assert [event["data"] for event in told] == await log_of(api, execution_id)
    assert len(told) > before


@pytest.mark.parametrize("lost", [1, 4, 10])
async def test_a_client_that_comes_back_misses_nothing_and_gets_nothing_twice(api, lost):
    execution_id = await api.run(HELLO)
    whole = await (await api.stream(stream_of(execution_id))).all()

    rest = await (await api.stream(stream_of(execution_id), **{"Last-Event-ID": str(lost)})).all()
    by_query = await (await api.stream(f"{stream_of(execution_id)}?after={lost}")).all()

    assert [event["data"] for event in rest] == [event["data"] for event in whole[lost:]]
    assert by_query == rest


async def test_a_client_that_has_all_of_what_ended_is_told_not_to_come_back(api):
    execution_id = await api.run(HELLO)
    last = len(await log_of(api, execution_id))

    stream = await api.stream(stream_of(execution_id), **{"Last-Event-ID": str(last)})

    assert stream.answer.status == 204


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 30])
async def test_a_last_event_id_of_no_event_is_refused(api, given):
    execution_id = await api.run(HELLO)

    stream = await api.stream(stream_of(execution_id), **{"Last-Event-ID": given})

    assert stream.answer.status == 400


async def test_the_list_begins_with_the_newest_and_tells_each_change(api):
    first = await api.run(HELLO)
    stream = await api.stream(f"{EXECUTIONS}/stream")
    events = aiter(stream)

    begun = await anext(events)
    second = await api.start(WAITING)
    changes = [await anext(events) for _ in range(1)]
    while changes[-1]["data"]["status"] != "waiting":
        changes.append(await anext(events))
    await api.ask("POST", f"{EXECUTIONS}/{second}/cancel", {})
    ended = await anext(events)

    assert (begun["event"], begun["data"]["execution_id"], begun["data"]["status"]) == ("execution", first, "success")
    assert {change["data"]["execution_id"] for change in changes} == {second}
    assert (ended["data"]["execution_id"], ended["data"]["status"]) == (second, "cancelled")


async def test_the_list_of_a_token_for_a_path_tells_nothing_of_others(api):
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")
    await api.run(HELLO, "others")
    stream = await api.stream(f"{EXECUTIONS}/stream", role="team")
    events = aiter(stream)

    await api.run(HELLO, "others")
    mine = await api.run(HELLO, "team/a")

    assert (await anext(events))["data"]["execution_id"] == mine


async def test_a_server_that_ends_ends_its_streams_with_a_word(tmp_path):
    async with site(tmp_path) as api:
        stream = await api.stream(stream_of(await api.run(WAITING)))
        arriving = asyncio.create_task(stream.all())
        await api.ask("GET", "/healthz")
        api.parts.watching.close()
        told = await asyncio.wait_for(arriving, 10)

    assert told[-1]["event"] != "playbook.processed"
    assert stream.comments == [listening.ENDING]


async def test_streams_beyond_the_bound_are_refused_and_closed_ones_give_their_place_back(tmp_path, monkeypatch):
    monkeypatch.setattr("noetl.api.allowance.STREAMS_MAX", 2)
    async with site(tmp_path) as api:
        path = stream_of(await api.run(WAITING))
        open_ones = [await api.stream(path) for _ in range(2)]
        third = await api.stream(path)
        open_ones[0].close()
        again = await api.stream(path)
        while again.answer.status == 429:  # the server notices the closing a moment later
            again = await api.stream(path)

        assert (third.answer.status, again.answer.status) == (429, 200)


async def test_a_stream_ends_with_its_token(api, monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.05)
    execution_id = await api.run(WAITING)
    _, made = await api.ask("POST", "/api/v1/tokens", {"role": "viewer"})
    api.tokens["short"] = made["token"]
    streams = [await api.stream(path, role="short") for path in (stream_of(execution_id), f"{EXECUTIONS}/stream")]
    arriving = [asyncio.create_task(stream.all()) for stream in streams]

    await api.ask("DELETE", f"/api/v1/tokens/{made['id']}")
    await asyncio.wait_for(asyncio.gather(*arriving), 5)

    assert ["not known any more" in stream.comments[-1] for stream in streams] == [True, True]


async def test_what_is_measured_of_a_request_ends_with_the_head_of_its_answer(api):
    clock = ShiftedClock()
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {api.tokens['viewer']}".encode())]
    path = stream_of(await api.run(HELLO))
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}

    async def send(message):
        if message["type"] == "http.response.body":
            clock.shift_seconds += 3600

    app = make_app(msgspec.structs.replace(api.parts, clock=clock))
    await app({**scope, "headers": headers, "server": ("127.0.0.1", 80), "client": None}, asyncio.Event().wait, send)

    _, _, text = await api.raw("GET", "/metrics")
    (line,) = [one for one in text.decode().splitlines() if "request_seconds_sum" in one and "events/stream" in one]
    assert float(line.rpartition(" ")[2]) < 3600
