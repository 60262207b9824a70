"""NATS triggers against a real server: one message, one start, from a stream or as it flies by."""

import asyncio
import json
from contextlib import asynccontextmanager
from uuid import uuid4

import msgspec
import nats
import pytest

from noetl.clock import SystemClock
from noetl.control.requests import RunRequest
from noetl.dsl.trigger_documents import triggers_of
from noetl.errors import RequestError
from noetl.queues.subjects import LATER, Delivered
from noetl.starts import Starts, refuse_own_subjects
from noetl.testing.waiting import until
from tests.control.parts import opened, state_of, text_of

pytestmark = pytest.mark.slow

PLAYBOOK = "workflow: [{step: only, tool: {kind: noop}}]"
HEAD = "apiVersion: noetl.io/v2\nkind: Trigger\nmetadata: {name: messages}\nspec:\n  playbook: {path: trial}\n"


class Stage:
    """Servers of one store that listen, and somebody who publishes."""

    def __init__(self, parts, client, subject):
        self.parts = parts
        self.client = client
        self.subject = subject
        self.servers = []
        self.tasks = []

    def server(self):
        """One more server; gives it."""
        starts = Starts(self.parts.settings, self.parts.desk, self.parts.store, SystemClock())
        self.servers.append(starts)
        return starts

    async def listen(self, more="", servers=1, **nats_words):
        words = {"subject": self.subject, "credential": "events", **nats_words}
        spec = ", ".join(f"{name}: {value}" for name, value in words.items())
        (document,) = triggers_of(f"{HEAD}  nats: {{{spec}}}\n{more}", "t.yaml")
        for _ in range(servers):
            starts = self.server()
            await starts.triggers.apply(document)
            self.tasks.append(asyncio.create_task(starts.subscriptions.run()))
        return document

    async def publish(self, data, **headers):
        await self.client.publish(self.subject, data, headers=headers or None)
        await self.client.flush()

    async def executions(self):
        return (await self.parts.store.executions(limit=1000))[::-1]

    async def started(self, count):
        async def are_there():
            found = await self.executions()
            return found if len(found) >= count else None

        return await until(are_there)

    async def numbers(self):
        """What was started, without the messages that only found out whether somebody listens."""
        return sorted(event["body"]["n"] for event in await self.events() if "n" in event["body"])

    async def events(self):
        states = [await state_of(self.parts, row.id) for row in await self.executions()]
        return [state.workload["event"] for state in states]

    async def said(self):
        """What people see of the trigger."""
        for starts in self.servers:
            await starts.trigger_starts.flush()
        return await self.servers[0].triggers.shown("messages")

    async def stop(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks.clear()


@pytest.fixture
async def stage(nats_url, tmp_path, monkeypatch):
    monkeypatch.setenv("NOETL_SECRET_EVENTS", json.dumps({"url": nats_url}))
    client = await nats.connect(nats_url)
    async with opened(tmp_path, is_working=False) as parts:
        await parts.desk.register(RunRequest(data=text_of(PLAYBOOK), name="trial.yaml"))
        found = Stage(parts, client, f"orders_{uuid4().hex[:8]}.new")
        try:
            yield found
        finally:
            await found.stop()
            await client.close()


@asynccontextmanager
async def stream(stage, name):
    jetstream = stage.client.jetstream()
    await jetstream.add_stream(name=name, subjects=[f"{stage.subject.partition('.')[0]}.>"])
    try:
        yield jetstream
    finally:
        await jetstream.delete_stream(name)


async def subscribed(stage):
    """Until somebody listens: a message that flies by before that is gone."""

    async def hears():
        await stage.publish(b'{"probe": true}')
        return await stage.executions()

    await until(hears)


async def test_a_message_that_flies_by_starts_on_one_of_the_servers(stage):
    await stage.listen(servers=3)
    await subscribed(stage)
    for number in range(20):
        await stage.publish(json.dumps({"n": number}).encode())

    async def are_all_there():
        return len(await stage.numbers()) >= 20

    await until(are_all_there)
    assert await stage.numbers() == list(range(20))
    assert {event["subject"] for event in await stage.events()} == {stage.subject}


async def test_messages_of_a_stream_start_once_each_whoever_fetches_them(stage):
    async with stream(stage, "ORDERS_SHARED") as jetstream:
        await stage.listen(servers=2)
        await until(lambda: consumer(jetstream, "ORDERS_SHARED"))
        for number in range(30):
            await jetstream.publish(stage.subject, json.dumps({"n": number}).encode())
        await stage.started(30)
        await until(lambda: all_acknowledged(jetstream, "ORDERS_SHARED"))

        assert sorted(event["body"]["n"] for event in await stage.events()) == list(range(30))


async def consumer(jetstream, name):
    found = await jetstream.consumers_info(name)
    return found[0] if found else None


async def all_acknowledged(jetstream, name):
    found = await consumer(jetstream, name)
    return found is not None and found.num_pending == 0 and found.num_ack_pending == 0


async def test_a_stream_keeps_what_comes_while_no_server_runs(stage):
    async with stream(stage, "ORDERS_KEPT") as jetstream:
        await stage.listen(stream="ORDERS_KEPT")
        await until(lambda: consumer(jetstream, "ORDERS_KEPT"))
        await stage.stop()
        await jetstream.publish(stage.subject, b'{"n": 1}')
        meanwhile = await stage.executions()
        await stage.listen(stream="ORDERS_KEPT")
        await stage.started(1)

        assert meanwhile == []
        assert [event["body"] for event in await stage.events()] == [{"n": 1}]


async def test_the_same_message_id_starts_once_also_where_the_stream_forgot_it(stage):
    await stage.listen()
    await subscribed(stage)
    for _ in range(3):
        await stage.publish(b'{"n": 1}', **{"Nats-Msg-Id": "order-1"})
    await stage.publish(b'{"n": 2}', **{"Nats-Msg-Id": "order-2"})

    async def are_all_heard():
        return (await stage.said())["counts"]["repeated"] == 2 and len(await stage.numbers()) == 2

    await until(are_all_heard)
    assert await stage.numbers() == [1, 2]


async def test_a_message_that_no_start_can_be_made_of_is_dropped_and_said(stage):
    async with stream(stage, "ORDERS_BAD") as jetstream:
        await stage.listen()
        await until(lambda: consumer(jetstream, "ORDERS_BAD"))
        await jetstream.publish(stage.subject, b"{no json")
        await jetstream.publish(stage.subject, b'{"n": 1}')
        await stage.started(1)
        await until(lambda: all_acknowledged(jetstream, "ORDERS_BAD"))
        said = await stage.said()

        assert (said["counts"]["started"], said["counts"]["refused"]) == (1, 1)
        assert "must be JSON" in said["last_error"]


async def test_a_start_that_is_refused_stays_in_the_stream(stage):
    document = msgspec.structs.replace(await stage.listen(), path="nowhere")
    message = Delivered(subject=stage.subject, data=b"{}", id="1", is_kept=True)
    verdict = await stage.servers[0].subscriptions._handle(document, message)

    assert verdict == LATER
    assert "nowhere" in (await stage.said())["last_error"]
    assert await stage.executions() == []


async def test_a_trigger_that_is_removed_is_not_listened_to_any_more(stage):
    await stage.listen()
    await subscribed(stage)
    starts = stage.servers[0]
    await starts.triggers.remove("messages")
    await starts.subscriptions.read()
    await stage.publish(b'{"n": 1}')

    assert starts.subscriptions._listening == {}
    assert await stage.numbers() == []


async def test_a_server_that_is_not_there_is_said_and_tried_again(stage, monkeypatch):
    monkeypatch.setenv("NOETL_SECRET_EVENTS", json.dumps({"url": "nats://127.0.0.1:1"}))
    await stage.listen()

    async def is_said():
        return "cannot connect to NATS at 127.0.0.1:1" in (await stage.said())["last_error"]

    await until(is_said)


@pytest.mark.parametrize("subject", [">", "*.new", "noetl.>", "noetl.srv.report", "$JS.API.>", "_INBOX.>"])
def test_nobody_listens_in_on_the_cluster_over_its_own_connection(subject):
    with pytest.raises(RequestError, match="says to itself"):
        refuse_own_subjects(subject, "noetl")
