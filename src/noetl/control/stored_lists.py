"""Long lists outside the state: those that loops run over, and those that loops give (LP-02, LP-08, LP-10).

A list is read forwards, once, as its iterations are handed out; a step back (after a restart) begins anew. The list of
what iterations gave is made from the log, by index, when the loop has ended. Memory holds a chunk, never a list.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from noetl.errors import ReferenceMissing
from noetl.references import JSON, LINES, Reference, reference_of
from noetl.results.arrays import array_chunks, elements
from noetl.results.contract import Results
from noetl.stores.contract import Store

READERS_MAX = 64
encode = msgspec.json.Encoder().encode
Owner = tuple[int, int]  # execution and run


class Reader:
    """A list being read, by one at a time."""

    def __init__(self, read: Callable[[], AsyncIterator[Any]]) -> None:
        self.read = read
        self.items = read()
        self.next = 0
        self._turn = asyncio.Lock()

    async def element(self, index: int) -> Any:
        async with self._turn:
            if self.next > index:
                self.items, self.next = self.read(), 0
            while True:
                found = await anext(self.items)
                self.next += 1
                if self.next > index:
                    return found


class StoredLists:
    """The lists of one store."""

    def __init__(self, results: Results, store: Store) -> None:
        self.results = results
        self.store = store
        self._counts: dict[str, int] = {}
        self._readers: OrderedDict[Owner, Reader] = OrderedDict()

    def _read(self, reference: Reference | None) -> AsyncIterator[Any]:
        if reference is None:
            raise ReferenceMissing("of the loop's collection")
        return elements(self.results.stream(reference), reference.content_type)

    async def count(self, reference: Reference | None) -> int:
        """How many elements a stored list has."""
        key = reference.locator if reference else ""
        if key not in self._counts:
            total = 0
            async for _ in self._read(reference):
                total += 1
            self._counts[key] = total
        return self._counts[key]

    async def element(self, owner: Owner, reference: Reference | None, index: int) -> Any:
        """One element; cheap when asked for in order."""
        reader = self._readers.pop(owner, None)
        if reader is None:
            reader = Reader(lambda: self._read(reference))
        self._readers[owner] = reader
        while len(self._readers) > READERS_MAX:
            self._readers.popitem(last=False)
        try:
            return await reader.element(index)
        except StopAsyncIteration:
            raise ValueError(f"the stored list has no element {index} any more") from None

    async def collect(self, execution_id: int, run: int, count: int) -> Reference:
        """Store the list of what a loop's iterations gave; a place without data is null."""
        return await self.results.store_stream(array_chunks(self._parts(execution_id, run, count)), JSON)

    async def _parts(self, execution_id: int, run: int, count: int) -> AsyncIterator[bytes]:
        following = 0
        async for index, output in self.store.iteration_outputs(execution_id, run):
            for _ in range(following, index):
                yield b"null"
            yield await self._encoded(output)
            following = index + 1
        for _ in range(following, count):
            yield b"null"

    async def _encoded(self, output: dict[str, Any]) -> bytes:
        if "data" in output:
            return encode(output["data"])
        reference = reference_of(output.get("ref"))
        if reference is None:
            return b"null"
        data = await self.results.fetch(reference)
        if reference.content_type == JSON:
            return data
        if reference.content_type == LINES:
            return b"[" + b",".join(line for line in data.splitlines() if line.strip()) + b"]"
        return encode(data.decode())
