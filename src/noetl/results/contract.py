"""Large payloads outside the log (RS-01): stored before the event that names them, checked whenever they are read.

A key is the sha256 of the content, so the same payload is stored once and a crash between storing and recording
leaves at most an orphan, which the sweep takes away (RS-08). The suite in `noetl.testing.results_suite` holds for every
implementation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Protocol

import msgspec

from noetl.references import JSON, Reference

RESULT_BYTES_MAX = 64 * 1024 * 1024


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a store keeps."""

    locator: str
    bytes: int
    stored_at: float  # seconds since 1970, by the store's own clock: when it was last stored


class Readable(Protocol):
    """The reading side of a store."""

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes: ...

    def stream(self, reference: Reference) -> AsyncIterator[bytes]: ...


class Results(Protocol):
    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        """Keep a payload; durable when this returns. Storing the same bytes again only renews their `stored_at`."""
        ...

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        """Keep a payload of any size that comes in pieces, in bounded memory; one that breaks off leaves nothing."""
        ...

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        """The payload, its size and sha256 checked.

        Raises ReferenceMissing, ReferenceCorrupt, or ResultTooLarge before reading more than bytes_max.
        """
        ...

    def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        """The payload in pieces; the check comes with the last piece (ReferenceCorrupt)."""
        ...

    def walk(self) -> AsyncIterator[Kept]:
        """Everything kept, in no order and in bounded memory; what comes or goes meanwhile may be left out.

        What a crash left half-written is in it too, under a locator that no reference can have.
        """
        ...

    async def remove(self, locator: str, *, stored_before: float) -> bool:
        """Remove what was last stored before that time; False: it was stored again since, or is not there."""
        ...

    async def close(self) -> None: ...
