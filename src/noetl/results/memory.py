"""Results kept as long as their process: for tests, simulation, and runs that nobody wants to keep."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from noetl.clock import Clock, SystemClock
from noetl.errors import ReferenceMissing
from noetl.references import JSON, Reference
from noetl.results.blobs import BLOB, CHUNK_BYTES, check_sha, check_size, each, sha_of
from noetl.results.contract import RESULT_BYTES_MAX, Kept


class MemoryResults:
    """Results in a dictionary; see `noetl.results.contract.Results`."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._payloads: dict[str, bytes] = {}
        self._stored_at: dict[str, float] = {}

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        sha = sha_of(data)
        self._payloads[sha] = data
        self._stored_at[sha] = self._clock.now()
        return BLOB.reference_to(sha, len(data), content_type)

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        data = bytearray()
        async for chunk in each(chunks):
            data += chunk
        return await self.store(bytes(data), content_type)

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        return self._checked(reference, bytes_max)

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        data = self._checked(reference)
        for start in range(0, len(data), CHUNK_BYTES):
            yield data[start : start + CHUNK_BYTES]

    async def walk(self) -> AsyncIterator[Kept]:
        for sha, data in list(self._payloads.items()):
            if sha in self._payloads:
                yield Kept(locator=BLOB.prefix + sha, bytes=len(data), stored_at=self._stored_at[sha])

    async def remove(self, locator: str, *, stored_before: float) -> bool:
        sha = BLOB.sha_in(locator)
        if sha is None or self._stored_at.get(sha, stored_before) >= stored_before:
            return False
        del self._payloads[sha], self._stored_at[sha]
        return True

    async def close(self) -> None:
        """Nothing is kept anywhere, so nothing is let go."""

    def _checked(self, reference: Reference, bytes_max: int | None = None) -> bytes:
        sha = BLOB.sha_named_by(reference)
        data = self._payloads.get(sha)
        if data is None:
            raise ReferenceMissing(reference.locator)
        check_size(reference, len(data), bytes_max)
        check_sha(reference, sha, sha_of(data))
        return data
