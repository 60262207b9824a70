"""A payload that is named by its sha256 alone: `sha256:…`, whichever store the operator has chosen.

The engine is pure and knows no store, so what it has stored (a workload, a list) it names by content only. Such a
payload is in the store that results go to, or in one that they went to before: all of the operator's are asked in turn,
and each is opened only when it is its turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from noetl.errors import ReferenceMissing
from noetl.references import Reference
from noetl.results.blobs import BLOB
from noetl.results.contract import RESULT_BYTES_MAX, Readable


class Candidate(msgspec.Struct, frozen=True):
    """A store that may have it."""

    locator_prefix: str
    open: Callable[[], Awaitable[Readable]]


class BySha:
    """Reads from the first of the stores that has it."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        async for store, there in self._places(reference):
            try:
                return await store.fetch(there, bytes_max)
            except ReferenceMissing:
                continue
        raise ReferenceMissing(reference.locator)

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        async for store, there in self._places(reference):
            try:
                async for piece in store.stream(there):
                    yield piece
            except ReferenceMissing:  # before the first piece: what is there is there to its end
                continue
            return
        raise ReferenceMissing(reference.locator)

    async def _places(self, reference: Reference) -> AsyncIterator[tuple[Readable, Reference]]:
        sha = BLOB.sha_named_by(reference)
        for candidate in self._candidates:
            there = msgspec.structs.replace(reference, locator=candidate.locator_prefix + sha)
            yield await candidate.open(), there
