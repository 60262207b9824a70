"""Large payloads outside the log (RS-01): stored before the event that names them, checked whenever they are read.

A key is the sha256 of the content, so the same payload is stored once and a crash between storing and recording
leaves at most an orphan. The suite in `noetl.testing.results_suite` holds for every implementation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Protocol

from noetl.references import JSON, Reference

RESULT_BYTES_MAX = 64 * 1024 * 1024


class Results(Protocol):
    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        """Keep a payload; durable when this returns. Storing the same bytes again changes nothing."""
        ...

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        """Keep a payload of any size that comes in pieces, in bounded memory."""
        ...

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        """The payload, its size and sha256 checked.

        Raises ReferenceMissing, ReferenceCorrupt, or ResultTooLarge before reading more than bytes_max.
        """
        ...

    def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        """The payload in pieces; the check comes with the last piece (ReferenceCorrupt)."""
        ...

    async def close(self) -> None: ...
