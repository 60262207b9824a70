"""Looking things up in a store for all who ask at the same time: one look for each name, and no memory of it.

A hundred starts of one playbook in the same moment ask a hundred times which version is the newest. Whoever asks while
a look is under way waits for the next one, with all others who do: each is answered by a look that began after they
asked, so nobody is told what somebody else has changed before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Found = TypeVar("Found")


class Together(Generic[Found]):
    """See above."""

    def __init__(self, look: Callable[[str], Awaitable[Found]]) -> None:
        self._look = look
        self._under_way: dict[str, asyncio.Future[Found]] = {}
        self._next: dict[str, asyncio.Future[Found]] = {}  # have not begun

    async def look(self, name: str) -> Found:
        """What the store has under a name now. Raises what the store does."""
        if name not in self._next:
            looking = asyncio.get_running_loop().create_task(self._in_turn(name, self._under_way.get(name)))
            looking.add_done_callback(_seen)
            self._next[name] = looking
        return await asyncio.shield(self._next[name])  # whoever gives up leaves the others their answer

    async def _in_turn(self, name: str, before: asyncio.Future[Found] | None) -> Found:
        if before is not None:
            await asyncio.wait({before})
        ours = self._under_way[name] = self._next.pop(name)
        try:
            return await self._look(name)
        finally:
            if self._under_way.get(name) is ours:
                del self._under_way[name]


def _seen(looking: asyncio.Future[Found]) -> None:
    """Whoever waits gets its fault; nobody has to."""
    if not looking.cancelled():
        looking.exception()
