"""Execution ids, reserved in the store: no clock, no chance, and never the same twice."""

from __future__ import annotations

import asyncio

from noetl.buggify import buggify
from noetl.stores.contract import Store

IDS_PER_BLOCK_MAX = 1024


class Numbering:
    """Ids from blocks that grow, so that one run takes one id and a thousand children take few trips to the store."""

    def __init__(self, store: Store, first_block: int = 1) -> None:
        self._store = store
        self._block = first_block
        self._ids: list[int] = []
        self._turn = asyncio.Lock()

    async def new_id(self) -> int:
        async with self._turn:
            if not self._ids:
                count = 1 if buggify("ids.few") else self._block
                first = await self._store.reserve_ids(count)
                self._ids = list(range(first, first + count))[::-1]
                self._block = min(self._block * 2, IDS_PER_BLOCK_MAX)
            return self._ids.pop()

    def forget(self) -> None:
        """One of them was taken: a failover lost that they were given. Those that are left may be taken, too."""
        self._ids.clear()


class PromptNumbering:
    """Ids reserved when they are asked for, for all who ask at that moment: where several servers start executions,
    a later start has a higher id, so that the newest one is the one with the highest.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting = 0
        self._ids: list[int] = []
        self._turn = asyncio.Lock()

    async def new_id(self) -> int:
        self._waiting += 1
        try:
            async with self._turn:
                if not self._ids:
                    count = min(self._waiting, IDS_PER_BLOCK_MAX)
                    first = await self._store.reserve_ids(count)
                    self._ids = list(range(first, first + count))[::-1]
                return self._ids.pop()
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._ids.clear()  # whoever gave up meanwhile leaves none behind that is older than its day
