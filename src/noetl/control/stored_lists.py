"""Long lists outside the state: those that loops run over, and those that loops give (LP-02, LP-08, LP-10).

A list is read forwards, once, as its iterations are handed out; a step back (after a restart) begins anew. The list of
what iterations gave is made from the log, by index, when the loop has ended, and goes where its last task's results go.
Memory holds a chunk, never a list.

In such a list stands the data that NoETL itself stored for an iteration. A reference that a task gave stays one: it may
come from a stranger (an answer of that shape is enough), who must not have it read by the server; whoever wants what it
stands for resolves it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from noetl.errors import NoetlError, ReferenceMissing
from noetl.references import JSON, Reference, reference_of
from noetl.results.contract import Readable, Results
from noetl.stores.contract import Store

if TYPE_CHECKING:
    from noetl.results.arrays import Element

READERS_MAX = 64
COUNTS_KEPT_MAX = 1024
encode = msgspec.json.Encoder().encode
Owner = tuple[int, int]  # execution and run
Page = list[tuple[int, bytes | dict[str, Any]]]
ReadBy = Callable[[int, Reference], Awaitable[Readable]]  # the store of a reference, as an execution may read it
WriteBy = Callable[[int, object], Awaitable[Results]]  # the store that a spec.result.store means, as it may write there


@runtime_checkable
class PagedReading(Protocol):
    """What a store has that keeps small data beside the index of an iteration."""

    def iteration_pages(self, execution_id: int, run: int) -> AsyncIterator[Page]:
        """As `iteration_outputs`, some at a time, each as its output or, where it is small, its data as JSON."""
        ...


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

    def __init__(self, store: Store, read_by: ReadBy, write_by: WriteBy) -> None:
        self.store = store
        self.read_by = read_by
        self.write_by = write_by
        self._counts: dict[tuple[int, str], int] = {}
        self._readers: OrderedDict[Owner, Reader] = OrderedDict()

    async def _read(self, execution_id: int, reference: Reference | None) -> AsyncIterator[Any]:
        if reference is None:
            raise ReferenceMissing("of the loop's collection")
        from noetl.results.arrays import elements  # most runs have no stored list, and json is slow to import

        results = await self.read_by(execution_id, reference)
        async for element in elements(results.stream(reference), reference.content_type):
            yield element

    async def count(self, execution_id: int, reference: Reference | None) -> int:
        """How many elements a stored list has."""
        is_shared = reference is None or reference.auth_reference is None  # else it is not for everyone to know
        key = (0 if is_shared else execution_id, reference.locator if reference else "")
        if key not in self._counts:
            total = 0
            async for _ in self._read(execution_id, reference):
                total += 1
            self._counts[key] = total
            if len(self._counts) > COUNTS_KEPT_MAX:
                del self._counts[next(iter(self._counts))]
        return self._counts[key]

    async def element(self, owner: Owner, reference: Reference | None, index: int) -> Any:
        """One element; cheap when asked for in order."""
        reader = self._readers.pop(owner, None)
        if reader is None:
            reader = Reader(lambda: self._read(owner[0], reference))
        self._readers[owner] = reader
        while len(self._readers) > READERS_MAX:
            self._readers.popitem(last=False)
        try:
            return await reader.element(index)
        except StopAsyncIteration:
            raise ValueError(f"the stored list has no element {index} any more") from None
        except NoetlError:
            self._readers.pop(owner, None)  # it broke off: whoever asks again begins anew
            raise

    async def collect(self, execution_id: int, run: int, count: int, chosen: object = None) -> Reference:
        """Store the list of what a loop's iterations gave, in the chosen store; a place without data is null."""
        from noetl.results.arrays import array_chunks

        results = await self.write_by(execution_id, chosen)
        return await results.store_stream(array_chunks(self._parts(execution_id, run, count)), JSON)

    async def _parts(self, execution_id: int, run: int, count: int) -> AsyncIterator[Element]:
        following = 0
        async for page in self._pages(execution_id, run):
            if texts := _texts_from(following, page):
                yield b",".join(texts)  # one part for all of them
                following += len(texts)
                continue
            for index, found in page:
                for _ in range(following, index):
                    yield b"null"
                yield found if isinstance(found, bytes) else await self._encoded(execution_id, found)
                following = index + 1
        for _ in range(following, count):
            yield b"null"

    async def _pages(self, execution_id: int, run: int) -> AsyncIterator[Page]:
        if isinstance(self.store, PagedReading):
            async for page in self.store.iteration_pages(execution_id, run):
                yield page
            return
        async for index, output in self.store.iteration_outputs(execution_id, run):
            yield [(index, output)]

    async def _encoded(self, execution_id: int, output: dict[str, Any]) -> Element:
        """What an iteration gave: its data as JSON, in pieces where it is stored; or the reference that it gave."""
        if "data" in output:
            return encode(output["data"])
        reference = reference_of(output.get("ref"))
        if reference is None or not output["meta"].get("is_stored"):
            return encode(output.get("ref"))
        return (await self.read_by(execution_id, reference)).stream(reference)


def _texts_from(following: int, page: Page) -> list[bytes]:
    """A page's elements if all of them are texts, and none is missing; else nothing."""
    texts = [found for _, found in page if isinstance(found, bytes)]
    is_whole = len(texts) == len(page) and (page[0][0], page[-1][0]) == (following, following + len(page) - 1)
    return texts if is_whole else []
