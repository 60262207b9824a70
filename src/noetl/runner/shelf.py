"""The result stores as one call may use them (RS-06, security 13, 23).

What a task stores goes where its `spec.result` says, with the `ttl` it says, and without any secret that is known when
it passes. What it reads is read with the credentials that its own playbook declares: a reference opens nothing by
itself. Nothing is held: a payload in pieces stays one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import msgspec

from noetl.dsl.model import Task
from noetl.keychain.contract import Keychain
from noetl.keychain.stream_redaction import cleaned
from noetl.references import JSON, Reference
from noetl.results.contract import RESULT_BYTES_MAX
from noetl.results.stores import Stores
from noetl.runner.wallet import Wallet

NOTHING: Mapping[str, Any] = {}


class Shelf:
    """Stores and reads payloads for one task. Without a task: reads, and stores where the operator does."""

    __slots__ = ("_keychain", "_said", "_stores", "_wallet")

    def __init__(self, stores: Stores, keychain: Keychain, wallet: Wallet, task: Task | None = None) -> None:
        said: Any = task.spec.get("result") if task is not None else None
        self._stores = stores
        self._keychain = keychain
        self._wallet = wallet
        self._said: Mapping[str, Any] = said if isinstance(said, dict) else NOTHING

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        return await (await self._stores.for_reading(reference, self._wallet)).fetch(reference, bytes_max)

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        async for piece in (await self._stores.for_reading(reference, self._wallet)).stream(reference):
            yield piece

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        store = await self._stores.for_writing(self._said.get("store"), self._wallet)
        redactor = self._keychain.redactor()
        clean = redactor.clean_json(data) if content_type == JSON else redactor.clean(data)
        return self._lasting(await store.store(clean, content_type))

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        store = await self._stores.for_writing(self._said.get("store"), self._wallet)
        return self._lasting(await store.store_stream(cleaned(chunks, self._keychain.redactor), content_type))

    def _lasting(self, reference: Reference) -> Reference:
        ttl = self._said.get("ttl")
        return msgspec.structs.replace(reference, ttl=float(ttl)) if isinstance(ttl, int | float) else reference
