"""What a tool stores and reads: without secrets, where its task says, with credentials of its own playbook only."""

import base64
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.dsl.model import Task, Timeout
from noetl.dsl.source import Place
from noetl.errors import ResultStoreRefused
from noetl.keychain.known import KnownSecrets
from noetl.references import LINES, Reference
from noetl.results.stores import Stores
from noetl.runner.shelf import Shelf

SECRET = "CANARY-s3cr3t-99887766"
PLACE = Place("t.yaml", 1, 1, 1, 1)


class Keychain:
    """One that has handed a secret out."""

    def __init__(self, *secrets: str) -> None:
        self._known = KnownSecrets()
        for secret in secrets:
            self._known.remember(secret)

    def redactor(self) -> Any:
        return self._known.redactor()


class Wallet:
    async def resolve(self, name: str) -> Mapping[str, Any]:
        raise LookupError(f'this playbook declares no credential "{name}" under keychain')


def shelf(folder: Path, *secrets: str, **result: Any) -> Shelf:
    task = Task(
        place=PLACE, label="t", kind="noop", input={}, set=(), policy=None, spec={"result": result}, timeout=Timeout()
    )
    return Shelf(Stores(folder), Keychain(*secrets), Wallet(), task)  # type: ignore[arg-type]


async def pieces(payload: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(payload), size):
        yield payload[start : start + size]


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("size", [1, 5, 21, 22, 23, 1000])
async def test_no_secret_is_stored_in_one_piece_or_in_many(tmp_path: Path, size: int) -> None:
    payload = f"a {SECRET} b {base64.b64encode(SECRET.encode()).decode()} c".encode()
    results = shelf(tmp_path, SECRET)

    whole = await results.store(payload)
    streamed = await results.store_stream(pieces(payload, size))
    listed = await results.store_stream([payload[:10], payload[10:]])

    assert whole == streamed == listed
    assert await results.fetch(whole) == b"a *** b *** c"


async def test_without_secrets_a_stream_passes_as_it_is(tmp_path: Path) -> None:
    payload = bytes(range(256)) * 1000
    results = shelf(tmp_path)

    reference = await results.store_stream(pieces(payload, 4096), LINES)

    assert await results.fetch(reference) == payload
    assert b"".join([piece async for piece in results.stream(reference)]) == payload


@pytest.mark.spec("RS-08")
@pytest.mark.parametrize("ttl", [60, 0.5])
async def test_references_have_the_ttl_of_their_task(tmp_path: Path, ttl: float) -> None:
    results = shelf(tmp_path, ttl=ttl)

    stored, streamed = await results.store(b"1"), await results.store_stream([b"2"])

    assert (stored.ttl, streamed.ttl) == (ttl, ttl)
    assert (await shelf(tmp_path).store(b"1")).ttl is None


@pytest.mark.spec("RS-06")
async def test_a_task_chooses_its_store_and_others_read_it(tmp_path: Path) -> None:
    chosen = shelf(tmp_path / "results", store="sqlite")

    reference = await chosen.store(b"[1]")

    assert reference.type == "relational"
    assert await shelf(tmp_path / "results").fetch(reference) == b"[1]"


async def test_a_reference_opens_nothing_without_a_declared_credential(tmp_path: Path) -> None:
    """Security 23: the reading playbook must declare what the reference names."""
    sha = "a" * 64
    foreign = Reference(type="object_store", locator=f"s3://acme/x/sha256/{sha}", auth_reference="theirs")
    results = shelf(tmp_path)

    with pytest.raises(ResultStoreRefused, match="theirs"):
        await results.fetch(foreign)
    with pytest.raises(ResultStoreRefused, match="theirs"):
        await anext(results.stream(msgspec.structs.replace(foreign, bytes=1)))
