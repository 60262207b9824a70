"""References from strangers: what they name is given only if it is stored and whole; nothing else is ever read."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from noetl.errors import ResultError
from noetl.references import Reference, is_reference, reference_of
from noetl.results.contract import Readable
from noetl.results.files import FileResults
from noetl.results.memory import MemoryResults
from noetl.results.stores import NoCredentials, Stores
from tests.fuzz.growing import changed, grown

SECRET = b"a file that is none of the store's"
PAYLOADS = (b"", b"{}", b"[1, 2, 3]", b"x" * 5000)
BYTES_MAX = 1000
LOCATORS = (
    "../secret",
    "sha256:../../secret",
    "sha256:" + "0" * 64,
    "file:///etc/passwd",
    "sha256:" + "g" * 64,
    "s3://x/y",
)


class ForgedReferences:
    """See the module."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._stored: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        (self._folder / "secret").write_bytes(SECRET)
        self._loop.run_until_complete(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._stores.close())
        self._loop.close()

    async def _open(self) -> None:
        self._files, self._memory = FileResults(self._folder / "files"), MemoryResults()
        self._stores = Stores(self._folder / "stores")
        chosen = await self._stores.for_writing(None, NoCredentials())
        for store in (self._files, self._memory, chosen):
            self._stored = [(await store.store(payload)).as_data() for payload in PAYLOADS]

    def make(self, chance: random.Random) -> bytes:
        value = changed(chance, chance.choice(self._stored))
        if isinstance(value, dict) and chance.random() < 0.3:
            value = {**value, "locator": locator_of(chance, self._stored)}
        if chance.random() < 0.15:
            value = grown(chance, msgspec.inspect.type_info(Reference))
        if isinstance(value, dict) and chance.random() < 0.15:
            old = {
                "store": "blob",
                "key": value.get("locator"),
                "checksum": chance.choice((None, "sha256:1", "0" * 64)),
            }
            value = old | {"size": chance.choice((None, 3, -1, 2**63)), "range": chance.choice((None, [0, 1]))}
        return msgspec.json.encode(value if not isinstance(value, int) or abs(value) < 2**63 else None)

    def attempt(self, data: bytes) -> None:
        value = msgspec.json.decode(data)
        reference = reference_of(value)
        if reference is None:
            return
        assert is_reference(value)
        assert reference_of(reference.as_data()) == reference, "it does not come back as it went"
        self._loop.run_until_complete(self._read_everywhere(reference))

    async def _read_everywhere(self, reference: Reference) -> None:
        stores: list[Readable] = [self._files, self._memory]
        with suppress(ResultError):
            stores.append(await self._stores.for_reading(reference, NoCredentials()))
        for store in stores:
            await self._read(store, reference)

    async def _read(self, store: Readable, reference: Reference) -> None:
        try:
            found = await store.fetch(reference, BYTES_MAX)
        except ResultError:
            return
        assert found in PAYLOADS, "something was read that is not stored"
        assert len(found) <= BYTES_MAX
        assert reference.bytes in (None, len(found))


def locator_of(chance: random.Random, stored: list[dict[str, Any]]) -> str:
    known = chance.choice(stored)["locator"]
    return chance.choice(
        (*LOCATORS, known, known.upper(), known + "/..", f" {known}", known.removeprefix("sha256:"), known[:-1])
    )
