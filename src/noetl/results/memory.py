"""Results kept as long as their process: for tests, simulation, and runs that nobody wants to keep."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from noetl.errors import ReferenceMissing
from noetl.references import JSON, Reference
from noetl.results.blobs import CHUNK_BYTES, check_sha, check_size, each, reference_to, sha_named_by, sha_of
from noetl.results.contract import RESULT_BYTES_MAX


class MemoryResults:
    """Results in a dictionary; see `noetl.results.contract.Results`."""

    def __init__(self) -> None:
        self._payloads: dict[str, bytes] = {}

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        sha = sha_of(data)
        self._payloads[sha] = data
        return reference_to(sha, len(data), content_type)

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

    async def close(self) -> None:
        """Nothing is kept anywhere, so nothing is let go."""

    def _checked(self, reference: Reference, bytes_max: int | None = None) -> bytes:
        sha = sha_named_by(reference)
        data = self._payloads.get(sha)
        if data is None:
            raise ReferenceMissing(reference.locator)
        check_size(reference, len(data), bytes_max)
        check_sha(reference, sha, sha_of(data))
        return data
