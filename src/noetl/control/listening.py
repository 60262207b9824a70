"""Listeners of the live view: a bounded buffer between what is committed and a client that reads as fast as it can.

Whoever tells never waits. A listener that falls too far behind is let go, with a word; it comes back by itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import msgspec

LOOK_SECONDS = 0.5  # between two looks for what other servers wrote
BUFFER_ITEMS_MAX = 1000
BUFFER_BYTES_MAX = 4 * 1024 * 1024
SLOW = "too slow: connect again, with the last id that arrived"
ENDING = "the server is ending: connect again"
encode = msgspec.json.Encoder().encode


class Item(msgspec.Struct, frozen=True):
    """One thing that listeners are told."""

    seq: int  # 0: it has no place in an order
    name: str
    data: bytes  # JSON
    is_last: bool = False
    path: str = ""  # of the playbook it is about, where that is not known otherwise


class Listener:
    """A buffer that one side fills without waiting and the other empties."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._bytes = 0
        self._bell = asyncio.Event()
        self.why_closed = ""  # "": it is open

    def put(self, item: Item) -> None:
        if self.why_closed:
            return
        self._items.append(item)
        self._bytes += len(item.data)
        if len(self._items) > BUFFER_ITEMS_MAX or self._bytes > BUFFER_BYTES_MAX:
            self.close(SLOW)
        self._bell.set()

    def close(self, why: str) -> None:
        """No more comes; what is in the buffer is still given out, unless there is too much of it."""
        self.why_closed = self.why_closed or why
        self._bell.set()

    def forget(self) -> None:
        """What is in the buffer is of no interest."""
        self._items.clear()
        self._bytes = 0

    async def take(self) -> list[Item]:
        """All that is there, when there is something; an empty list: it is closed."""
        if not self._items and not self.why_closed:
            self._bell.clear()
            await self._bell.wait()
        found = list(self._items)
        self.forget()
        return found


class Listeners:
    """All listeners of a process, so that all can be let go when it ends."""

    def __init__(self) -> None:
        self._all: dict[Listener, None] = {}  # in the order they came
        self._is_closed = False

    @contextmanager
    def joined(self, given: Listener | None = None) -> Iterator[Listener]:
        """A listener, as long as this lasts."""
        listener = given or Listener()
        self._all[listener] = None
        if self._is_closed:
            listener.close(ENDING)
        try:
            yield listener
        finally:
            del self._all[listener]

    def close(self) -> None:
        self._is_closed = True
        for listener in self._all:
            listener.close(ENDING)


async def drained(listener: Listener) -> AsyncIterator[Item | str]:
    """All that a listener is told; at last why it ends."""
    while True:
        items = await listener.take()
        for item in items:
            yield item
        if not items:
            yield listener.why_closed
            return
