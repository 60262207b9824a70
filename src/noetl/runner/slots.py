"""How many tools of a worker run at once. A slot is held only while one runs."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """A counter that can be waited for, in order."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.free = total
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._changed = asyncio.Event()

    def seat(self) -> Seat:
        """A slot for one job, if one is free; else the job takes one before it runs anything. It was asked for when one
        was, but whoever goes on after a wait comes before new jobs."""
        is_taken = self.free > 0
        self.free -= is_taken
        return Seat(self, is_taken=is_taken)

    async def take(self) -> None:
        """Take a slot, waiting for one. A pipeline that goes on after a wait comes before new jobs."""
        if self.free > 0:
            self.free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was given to somebody who has just gone
                self.release()
            raise

    def release(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1
        self.wake()

    async def changed(self) -> None:
        """Wait until a slot is free again, or somebody is to look again for another reason."""
        self._changed.clear()
        await self._changed.wait()

    def wake(self) -> None:
        """Let whoever waits for a change look again."""
        self._changed.set()


class Seat:
    """The slot of one job: given back while it waits, taken again, and left for good at its end."""

    __slots__ = ("_slots", "is_taken")

    def __init__(self, slots: Slots, *, is_taken: bool = True) -> None:
        self._slots = slots
        self.is_taken = is_taken

    async def take(self) -> None:
        await self._slots.take()
        self.is_taken = True

    def leave(self) -> None:
        if self.is_taken:
            self.is_taken = False
            self._slots.release()
