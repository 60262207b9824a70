"""What only buckets have: whose keys open them, and what is told when they do not."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from noetl.errors import ResultStoreRefused, ResultStoreUnreachable, UnknownResultStore
from noetl.results.blobs import Place
from noetl.results.choices import Spot
from noetl.results.s3 import BucketResults

SECRET = "hunter2-of-the-playbook"
KEYS = {"access_key_id": "AKIAPLAYBOOK", "secret_access_key": SECRET}
MACHINE = {
    "AWS_ACCESS_KEY_ID": "AKIAMACHINE",
    "AWS_SECRET_ACCESS_KEY": "of-the-machine",
    "AWS_SESSION_TOKEN": "token-of-the-machine",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AZURE_STORAGE_SAS_KEY": "sig=of-the-machine",
}


def results_in(kind: str, **fields: str) -> BucketResults:
    spot = Spot(kind=kind, name="acme/etl")
    place = Place(type="object_store", prefix=spot.locator_prefix)
    return BucketResults(spot, fields, place, is_operators=False)


@asynccontextmanager
async def refusing(status: str) -> AsyncIterator[tuple[str, list[str]]]:
    """A server that refuses every request, and what it was sent."""
    heard: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server:
        yield f"http://{host}:{port}", heard


@pytest.mark.spec("KC-07")
async def test_the_keys_of_the_machine_never_open_a_playbooks_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in MACHINE.items():
        monkeypatch.setenv(name, value)

    async with refusing("403 Forbidden") as (endpoint, heard):
        with pytest.raises(ResultStoreRefused):
            await results_in("s3", **KEYS, endpoint=endpoint).store(b"payload")

    assert "AKIAPLAYBOOK" in heard[0]
    assert "of-the-machine" not in heard[0]
    assert "AKIAMACHINE" not in heard[0]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("403 Forbidden", ResultStoreRefused),
        ("401 Unauthorized", ResultStoreRefused),
        ("404 Not Found", UnknownResultStore),
        ("400 Bad Request", ResultStoreUnreachable),
    ],
)
async def test_a_refusal_shows_no_secret(status: str, expected: type[Exception]) -> None:
    async with refusing(status) as (endpoint, _):
        with pytest.raises(expected) as refused:
            await results_in("s3", **KEYS, endpoint=endpoint).store(b"payload")

    assert SECRET not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("s3", {"access_key_id": "A"}, "needs access_key_id, secret_access_key; it has: access_key_id"),
        ("gcs", {}, "needs service_account_key; it has: nothing"),
        ("gcs", {"service_account_key": SECRET}, "cannot be used"),
        ("azure", {"account": "acme"}, "needs account_key; it has: account"),
    ],
)
def test_a_credential_that_cannot_be_used_says_why(kind: str, fields: dict[str, str], said: str) -> None:
    with pytest.raises(ResultStoreRefused, match=said) as refused:
        results_in(kind, **fields)

    assert SECRET not in str(refused.value)


async def test_azure_is_asked_with_the_playbooks_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in MACHINE.items():
        monkeypatch.setenv(name, value)
    key = base64.b64encode(SECRET.encode()).decode()

    async with refusing("403 Forbidden") as (endpoint, heard):
        with pytest.raises(ResultStoreRefused):
            await results_in("azure", account="acme", account_key=key, endpoint=endpoint).store(b"payload")

    assert "SharedKey acme:" in heard[0]
    assert "of-the-machine" not in heard[0]
