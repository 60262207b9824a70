"""The result stores of a simulated world: one bucket in memory, and each process's way to it.

What the product does with a store (choosing, naming by content, checking size and sha256 on every read) is the
product's own code. Only the bytes are here, and what goes wrong with them: a put or a get that fails, a put whose
answer is lost though it was done, bytes that come back as others. Nothing is ever written to a disk.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from noetl.control import retention
from noetl.control.retention import Rule, Swept
from noetl.errors import ResultStoreUnreachable
from noetl.results.blobs import CHUNK_BYTES, Place
from noetl.results.by_content import ByContent, Found
from noetl.results.choices import FILES, Spot
from noetl.results.contract import Kept, Results
from noetl.results.spool import Payload, read_pieces
from noetl.results.stores import TYPES, Stores
from noetl.stores.contract import Store
from noetl.testing.simulator.node_clocks import BEGINNING

PUT, GET = "put", "get"
FAIL, LOST_ANSWER, WRONG_BYTES = "fail", "lost_answer", "wrong_bytes"
Faults = Callable[[str, str], str | None]  # a node and what it does: what goes wrong, None if nothing does
IN_A_STRING = re.compile(rb'"[a-z]+([0-9])[^"]*"')  # a digit of a result's signature, say
NOWHERE = Path("/nonexistent")  # a place on disk, for those who want one: nothing is ever written there


def no_faults(_node: str, _what: str) -> str | None:
    return None


def loop_now() -> float:
    """The time of a simulated world, as a right clock would show it."""
    return BEGINNING + asyncio.get_running_loop().time()


class Stored(NamedTuple):
    data: bytes
    at: float  # when it was last stored


class Bucket:
    """What all processes of a world share: payloads by their locators."""

    def __init__(self, now: Callable[[], float] = loop_now) -> None:
        self.now = now
        self._stored: dict[str, Stored] = {}

    def put(self, locator: str, data: bytes) -> None:
        """Keep it; one that is there, and has the right size, is only marked anew."""
        found = self._stored.get(locator)
        is_there = found is not None and len(found.data) == len(data)
        self._stored[locator] = Stored(found.data if found is not None and is_there else data, self.now())

    def get(self, locator: str) -> bytes | None:
        found = self._stored.get(locator)
        return None if found is None else found.data

    def remove(self, locator: str, stored_before: float = math.inf) -> bool:
        found = self._stored.get(locator)
        if found is None or found.at >= stored_before:
            return False
        del self._stored[locator]
        return True

    def damage(self, locator: str, data: bytes) -> None:
        """Other bytes, behind everybody's back."""
        self._stored[locator] = Stored(data, self._stored[locator].at)

    def kept(self, prefix: str) -> Iterator[Kept]:
        """What a place has; what comes or goes meanwhile may be left out."""
        for locator, stored in list(self._stored.items()):
            if locator.startswith(prefix) and locator in self._stored:
                yield Kept(locator=locator, bytes=len(stored.data), stored_at=stored.at)

    def texts(self) -> Iterator[tuple[str, bytes]]:
        """All that is kept, with the name of where."""
        for locator, stored in self._stored.items():
            yield f"result {locator}", stored.data

    async def sweep(self, store: Store, *, older_than_seconds: float, keep_seconds: float = math.inf) -> Swept:
        """The product's own sweep: what no log names any more goes, if it is older than that.

        `older_than_seconds` must be more than the time a worker may take from storing something to recording it, its
        pauses included: the product gives it a day. `keep_seconds`: so long an ended execution keeps its results.
        """
        rule = Rule(keep_seconds=keep_seconds, grace_seconds=older_than_seconds)
        return await retention.sweep(store, SimResults(self, "sweep"), rule, self.now())


class SimResults(Stores):
    """The stores of results of one process; whatever place is chosen, its payloads are in the bucket."""

    def __init__(self, bucket: Bucket, node_name: str, faults: Faults = no_faults) -> None:
        super().__init__(NOWHERE)
        self._bucket = bucket
        self._node_name = node_name
        self._faults = faults

    def _made(self, spot: Spot, auth: str | None, fields: dict[str, Any], is_operators: bool) -> Results:
        kind = "blob" if spot.kind == FILES else TYPES.get(spot.kind, "object_store")
        place = Place(type=kind, prefix=spot.locator_prefix, auth_reference=auth)
        return BucketResults(self._bucket, place, lambda what: self._faults(self._node_name, what))


class BucketResults(ByContent):
    """One place, as one process reaches it."""

    def __init__(self, bucket: Bucket, place: Place, fault_of: Callable[[str], str | None]) -> None:
        super().__init__(place)
        self._bucket = bucket
        self._fault_of = fault_of

    async def put(self, payload: Payload) -> None:
        await asyncio.sleep(0)  # others have their turn meanwhile, as while a request is under way
        fault = self._fault_of(PUT)
        if fault == FAIL:
            raise self._unreachable("a put failed")
        self._bucket.put(self.place.prefix + payload.sha, b"".join(read_pieces(payload)))
        if fault == LOST_ANSWER:
            raise self._unreachable("a put was not answered")

    async def find(self, sha: str) -> Found | None:
        await asyncio.sleep(0)
        fault = self._fault_of(GET)
        if fault in (FAIL, LOST_ANSWER):
            raise self._unreachable("a get failed")
        data = self._bucket.get(self.place.prefix + sha)
        if data is None:
            return None
        return Found(len(data), pieces_of(others(data) if fault == WRONG_BYTES else data))

    async def discard(self, sha: str, stored_before: float) -> bool:
        return self._bucket.remove(self.place.prefix + sha, stored_before)

    async def walk(self) -> AsyncIterator[Kept]:
        for kept in self._bucket.kept(self.place.prefix):
            yield kept

    async def close(self) -> None:
        """Nothing is open."""

    def _unreachable(self, why: str) -> ResultStoreUnreachable:
        return ResultStoreUnreachable(self.place.prefix, why)


def others(data: bytes) -> bytes:
    """As many bytes, but not these; of nothing there is no other.

    If it can be, what they say changes and not that they can be read: then it is the checksum alone that finds it.
    """
    found = IN_A_STRING.search(data)
    place = found.start(1) if found else 0
    return data[:place] + bytes((data[place] ^ 1,)) + data[place + 1 :] if data else data


async def pieces_of(data: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(data), CHUNK_BYTES):
        yield data[start : start + CHUNK_BYTES]
