"""A payload that is named by its content must be known whole before it has a name: here it waits.

Pieces come in, and go to a private temporary file once they are more than memory should hold; out come the sha256, the
size, and the pieces again. So a store that is far away sees a payload only when it is complete: a stream that breaks
off leaves nothing there, no connection and no transaction stays open while a slow sender sends, and nothing is ever
uploaded under one name to be copied to another. It costs one writing and one reading of a local disk.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from noetl.results.blobs import CHUNK_BYTES, each, sha_of
from noetl.results.files import write_faults

MEMORY_BYTES_MAX = 4 * CHUNK_BYTES


class Payload(Protocol):
    """A payload that is known whole, to be read in pieces."""

    @property
    def sha(self) -> str: ...

    @property
    def size(self) -> int: ...

    def read(self, position: int, bytes_max: int) -> bytes:
        """The bytes from a position on; blocks a little, so it is for threads."""
        ...


class Whole:
    """A payload in memory."""

    def __init__(self, data: bytes) -> None:
        self.sha = sha_of(data)
        self.size = len(data)
        self._data = memoryview(data)

    def read(self, position: int, bytes_max: int) -> bytes:
        return bytes(self._data[position : position + bytes_max])


class Spool:
    """A payload that came in pieces."""

    def __init__(self) -> None:
        self.size = 0
        self._digest = hashlib.sha256()
        self._file = tempfile.SpooledTemporaryFile(MEMORY_BYTES_MAX)  # noqa: SIM115 - `spooled` closes it

    @property
    def sha(self) -> str:
        return self._digest.hexdigest()

    async def add(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self.size += len(chunk)
        with write_faults(Path(tempfile.gettempdir())):
            if self.size <= MEMORY_BYTES_MAX:
                self._file.write(chunk)
            else:
                await asyncio.to_thread(self._file.write, chunk)

    def read(self, position: int, bytes_max: int) -> bytes:
        self._file.seek(position)
        return self._file.read(bytes_max)

    def close(self) -> None:
        self._file.close()


def read_pieces(payload: Payload, bytes_max: int = CHUNK_BYTES) -> Iterator[bytes]:
    """All of a payload, in a thread; every piece but the last has bytes_max."""
    for position in range(0, payload.size, bytes_max):
        yield payload.read(position, bytes_max)


async def pieces_of(payload: Payload, bytes_max: int = CHUNK_BYTES) -> AsyncIterator[bytes]:
    """All of a payload, beside the event loop."""
    for position in range(0, payload.size, bytes_max):
        yield await asyncio.to_thread(payload.read, position, bytes_max)


@asynccontextmanager
async def spooled(chunks: AsyncIterable[bytes] | Iterable[bytes]) -> AsyncIterator[Spool]:
    """All pieces of a stream, as long as this lasts."""
    spool = Spool()
    try:
        async for chunk in each(chunks):
            await spool.add(chunk)
        yield spool
    finally:
        spool.close()
