"""Bytes that come in pieces → rows in batches, in bounded memory: JSON lines, a JSON array, CSV."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Collection, Sequence

from noetl.tools.row_batches import AnyBatch, Batch
from noetl.tools.row_csv import Table
from noetl.tools.row_json import Array, Lines

BATCH_BYTES = 256 * 1024  # the processor's caches hold it; larger ones are slower
FORMATS = ("ndjson", "json", "csv")
CONTENT_TYPES = {
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/json": "json",
    "text/csv": "csv",
}
SUFFIXES = {".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "json", ".csv": "csv"}


async def batches(
    chunks: AsyncIterable[bytes], row_format: str, names: Sequence[str] | None = None
) -> AsyncIterator[Batch]:
    """The rows of a stream. `names`: the columns to take, else those of the first row."""
    async for batch in batches_to_copy(chunks, row_format, names, None):
        assert isinstance(batch, Batch)  # noqa: S101 - flat ones are made only for those who say where booleans go
        yield batch


async def batches_to_copy(
    chunks: AsyncIterable[bytes], row_format: str, names: Sequence[str] | None, booleans: Collection[str] | None
) -> AsyncIterator[AnyBatch]:
    """The same, for a table whose columns `booleans` take true and false: flat where no value needs a look."""
    readers: dict[str, type[Lines | Array | Table]] = {"ndjson": Lines, "json": Array, "csv": Table}
    reader = readers[row_format](names, booleans)
    async for piece in _gathered(chunks):
        for batch in reader.read(piece):
            yield batch
    for batch in reader.finish():
        yield batch


async def _gathered(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Pieces of about BATCH_BYTES: a server may send many small ones, a store few large ones."""
    held: list[bytes] = []
    size = 0
    async for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= BATCH_BYTES:
            whole = b"".join(held)
            held, size = [], 0
            for start in range(0, len(whole), BATCH_BYTES):
                yield whole[start : start + BATCH_BYTES]
    if held:
        yield b"".join(held)
