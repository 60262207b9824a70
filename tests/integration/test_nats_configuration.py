"""deploy/nats/nats.conf with a real NATS: each of its users can do its work, and a worker not that of a server."""

import asyncio
import re
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from noetl.errors import ResultStoreRefused
from noetl.results.blobs import Place
from noetl.results.nats import NatsResults
from noetl.testing.services import running_nats

CONFIGURATION = Path(__file__).parent.parent.parent / "deploy" / "nats" / "nats.conf"
ANSWER_SECONDS_MAX = 5.0
PLACE = Place(type="nats", prefix="nats:noetl-results/sha256:")
PASSWORDS = {"NOETL_SERVER_PASSWORD": "server-password-of-this-test", "NOETL_WORKER_PASSWORD": "worker-password-of-it"}


@pytest.fixture(scope="module")
def place():
    """host:port of a NATS with that file, but for the parts that are of the machine: TLS, port, folder, include."""
    text = CONFIGURATION.read_text("utf-8")
    for own in (r"^include .*$", r"^port:.*$", r"^tls \{.*?^\}$", r"^  store_dir:.*$"):
        text, count = re.subn(own, "", text, flags=re.MULTILINE | re.DOTALL if "tls" in own else re.MULTILINE)
        assert count == 1
    users = "\n".join(f'{name}: "{password}"' for name, password in PASSWORDS.items())
    with running_nats(f"{users}\n{text}") as url:
        yield url.removeprefix("nats://")


async def connected(place: str, user: str, refusals: asyncio.Queue[str]) -> Client:
    async def refused(error: Exception) -> None:
        refusals.put_nowait(str(error))

    client = Client()
    password = PASSWORDS[f"NOETL_{user.upper()}_PASSWORD"]
    await client.connect(
        f"nats://{place}",
        user=f"noetl-{user}",
        password=password,
        error_cb=refused,
        inbox_prefix=b"noetl.reply.default",
    )
    return client


async def test_a_worker_asks_and_a_server_answers(place):
    refusals: asyncio.Queue[str] = asyncio.Queue()
    server, worker = await connected(place, "server", refusals), await connected(place, "worker", refusals)

    async def answer_to(asked: Msg) -> None:
        await asked.respond(asked.data)

    try:
        await server.subscribe("noetl.srv.any.*", "servers", cb=answer_to)
        await server.flush()

        answer = await worker.request("noetl.srv.any.poll", b"hello", timeout=5)
    finally:
        await asyncio.gather(server.close(), worker.close())

    assert (answer.data, refusals.empty()) == (b"hello", True)


@pytest.mark.parametrize("subject", ["noetl.srv.>", "noetl.>", ">", "noetl.reply.gpu.>", "noetl.reply.@servers.>"])
async def test_a_worker_does_not_hear_what_is_said_to_others(place, subject):
    refusals: asyncio.Queue[str] = asyncio.Queue()
    worker = await connected(place, "worker", refusals)
    try:
        await worker.subscribe(subject)
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            refusal = await refusals.get()
    finally:
        await worker.close()

    assert "permissions violation" in refusal


@pytest.mark.parametrize(
    "subject",
    ["noetl.reply.default.1", "noetl.ready.default", "noetl.revoked.a", "$JS.API.STREAM.DELETE.OBJ_noetl-results"],
)
async def test_a_worker_does_not_say_what_is_a_servers_to_say(place, subject):
    refusals: asyncio.Queue[str] = asyncio.Queue()
    worker = await connected(place, "worker", refusals)
    try:
        await worker.publish(subject, b"{}")
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            refusal = await refusals.get()
    finally:
        await worker.close()

    assert "permissions violation" in refusal


@pytest.mark.parametrize("user", ["server", "worker"])
async def test_both_keep_and_read_large_results(place, user):
    fields = {
        "url": f"nats://{place}",
        "user": f"noetl-{user}",
        "password": PASSWORDS[f"NOETL_{user.upper()}_PASSWORD"],
    }
    results = NatsResults(fields, "noetl-results", PLACE)
    data = user.encode() * 200_000
    try:
        found = await results.fetch(await results.store(data))
    finally:
        await results.close()

    assert found == data


async def test_nobody_else_gets_in(place):
    results = NatsResults({"url": f"nats://{place}"}, "noetl-results", PLACE)
    try:
        with pytest.raises(ResultStoreRefused, match="refused its credential"):
            await results.store(b"[1]")
    finally:
        await results.close()
