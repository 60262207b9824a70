"""The contract of results over the few deeds that differ between stores: put, find, walk, remove.

What is checked is checked here, once: locators before anything is asked for, size before anything is read, sha256
before the last piece is given away.
"""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from typing import NamedTuple

from noetl.errors import ReferenceCorrupt, ReferenceMissing
from noetl.references import JSON, Reference
from noetl.results.blobs import CHUNK_BYTES, Place, check_sha, check_size, each
from noetl.results.contract import RESULT_BYTES_MAX, Kept
from noetl.results.spool import Payload, Whole, spooled


class Found(NamedTuple):
    """A payload that is there."""

    size: int
    pieces: AsyncGenerator[bytes, None]


class ByContent(ABC):
    """Results in a store that keeps bytes under the sha256 that they have."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @abstractmethod
    async def put(self, payload: Payload) -> None:
        """Keep a payload, whole or not at all; one that is there, and has the right size, is only marked anew."""

    @abstractmethod
    async def find(self, sha: str) -> Found | None:
        """The payload of that name, not read yet."""

    @abstractmethod
    async def discard(self, sha: str, stored_before: float) -> bool:
        """Remove a payload if it was last stored before that time."""

    @abstractmethod
    def walk(self) -> AsyncIterator[Kept]: ...

    @abstractmethod
    async def close(self) -> None: ...

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        payload = Whole(data) if len(data) <= CHUNK_BYTES else await asyncio.to_thread(Whole, data)
        await self.put(payload)
        return self.place.reference_to(payload.sha, payload.size, content_type)

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        async with spooled(each(chunks)) as payload:
            await self.put(payload)
            return self.place.reference_to(payload.sha, payload.size, content_type)

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        data = bytearray()
        async with aclosing(self._checked(reference, bytes_max)) as pieces:
            async for piece in pieces:
                data += piece
        return bytes(data)

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        async with aclosing(self._checked(reference, None)) as pieces:
            async for piece in pieces:
                yield piece

    async def _checked(self, reference: Reference, bytes_max: int | None) -> AsyncGenerator[bytes, None]:
        """The pieces of a payload; the last one is given away only when the whole is right."""
        sha = self.place.sha_named_by(reference)
        found = await self.find(sha)
        if found is None:
            raise ReferenceMissing(reference.locator)
        digest, size, held = hashlib.sha256(), 0, b""
        async with aclosing(found.pieces) as pieces:
            check_size(reference, found.size, bytes_max)
            async for piece in pieces:
                digest.update(piece)
                size += len(piece)
                if size > found.size:  # it grows while it is read: never read on without a bound
                    raise ReferenceCorrupt(reference.locator, f"it should have {found.size} bytes, but has more")
                if held:
                    yield held
                held = piece
        check_sha(reference, sha, digest.hexdigest())
        if held:
            yield held

    async def remove(self, locator: str, *, stored_before: float) -> bool:
        sha = self.place.sha_in(locator)
        return sha is not None and await self.discard(sha, stored_before)
