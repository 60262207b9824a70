"""One client that asks for all it can get, and a thousand polls that wait, hold nobody else up (security 21)."""

import asyncio
import random
import time

import aiohttp
import pytest

from noetl.clock import SystemClock
from noetl.messaging.link import Link
from noetl.messaging.server import server_of
from noetl.queues import wire
from noetl.queues.contract import POLL_SECONDS_MAX, Profile
from noetl.queues.nats import NatsTransport
from noetl.testing.services import Restartable
from tests.cluster.cluster import Cluster, start_all
from tests.control.parts import text_of

WORKERS, POLLS_EACH = 70, 15  # a worker has 16 places
STARTS, STARTS_AT_ONCE = 1000, 250  # a token has 256 places
LOOKS_MIN, ROUNDS_MAX = 20, 20
SECONDS_MAX = 1.0  # for one request of somebody else, at the 99th percentile
PAUSE_SECONDS = 0.02
QUIET = "workflow: [{step: only, spec: {pool: nobody}, tool: {kind: noop}}]"


@pytest.fixture
def cluster(tmp_path, database_url, nats_url):
    """One server, as a process of its own; its workers are in this one."""
    services = [Restartable(url=url, stop=lambda: None, start=lambda: None) for url in (database_url, nats_url)]
    found = Cluster(tmp_path, *services, lease_seconds=15.0)
    found.environ |= {"NOETL_QUEUE_PREFIX": "load", "NOETL_LOG_LEVEL": "warning"}
    try:
        start_all(found, servers=1, workers=0)
        yield found
    finally:
        for program in found.servers:
            program.discard()


async def waiting_polls(cluster, link, over: asyncio.Event) -> int:
    """Poll as many workers would, each more often than any does; how many polls were answered with none."""
    token, subjects, answered = (cluster.home / "worker.token").read_text().strip(), wire.Subjects("load"), 0

    async def poll(session):
        nonlocal answered
        asked = wire.encode(wire.Polling(session=session, free=1, wait_seconds=POLL_SECONDS_MAX))
        while not over.is_set():
            answer = await link.request(subjects.verb(wire.ANY, wire.POLL), asked, POLL_SECONDS_MAX + 10)
            answered += wire.decode_answer(answer).status == wire.OK

    transports = [
        NatsTransport(
            link,
            prefix="load",
            token=lambda: token,
            profile=Profile(worker=f"w{number}", pool="idle", slots=1, host="h", pid=1, version="0"),
            clock=SystemClock(),
            chance=random.random,
        )
        for number in range(WORKERS)
    ]
    await asyncio.gather(*(transport.enrol() for transport in transports))
    await asyncio.gather(*(poll(one._enrolment.held) for one in transports for _ in range(POLLS_EACH)))
    return answered


async def many_starts(session, url, headers) -> list[int]:
    """As many starts as one client can have under way."""
    places, body = asyncio.Semaphore(STARTS_AT_ONCE), {"text": text_of(QUIET, "load").decode()}

    async def start():
        async with places, session.post(f"{url}/api/v1/executions", json=body, headers=headers) as answer:
            return answer.status

    return await asyncio.gather(*(start() for _ in range(STARTS)))


async def looks(session, url, headers, over: asyncio.Event, found: list[float]) -> None:
    """How long somebody else waits for each page, in seconds."""
    while not over.is_set():
        began = time.monotonic()
        async with session.get(f"{url}/api/v1/executions?limit=20", headers=headers) as answer:
            assert answer.status == 200
            await answer.read()
        found.append(time.monotonic() - began)
        await asyncio.sleep(PAUSE_SECONDS)


@pytest.mark.slow
@pytest.mark.spec("RO-02")
async def test_others_are_served_while_one_client_starts_all_it_can_and_a_thousand_polls_wait(cluster, nats_url):
    url = cluster.urls[0]
    admin = {"Authorization": f"Bearer {cluster.token}"}
    other = cluster.ask_any("POST", "/api/v1/tokens", {"role": "viewer"}).body["token"]
    link = Link(
        server_of("queue", {"url": nats_url}),
        inbox=wire.Subjects("load").inbox("idle"),
        clock=SystemClock(),
        chance=random.random,
    )
    link.start()
    await link.until_up(10)
    over = asyncio.Event()
    polling = asyncio.create_task(waiting_polls(cluster, link, over))
    greedy = aiohttp.TCPConnector(limit=STARTS_AT_ONCE)
    async with aiohttp.ClientSession(connector=greedy) as starting, aiohttp.ClientSession() as session:
        waits: list[float] = []
        looking = asyncio.create_task(looks(session, url, {"Authorization": f"Bearer {other}"}, over, waits))

        statuses = []
        for _ in range(ROUNDS_MAX):  # a fast server is through before anybody has looked often enough
            statuses += await many_starts(starting, url, admin)
            if len(waits) > LOOKS_MIN:
                break

        over.set()
        await looking
        waits.sort()
        answered = await polling
    await link.close()

    assert set(statuses) <= {201, 429, 503}
    assert statuses.count(201) > len(statuses) / 2
    assert answered >= WORKERS * POLLS_EACH
    assert len(waits) > LOOKS_MIN
    assert waits[int(len(waits) * 0.99)] < SECONDS_MAX
