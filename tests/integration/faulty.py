"""A PostgreSQL store of which chosen calls fail: before they are done, after they were done (so that nobody knows
whether they stand), late, or with the whole process standing still afterwards. For tests of what servers make of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from noetl.errors import Unreachable
from noetl.stores.postgres import PostgresStore
from noetl.stores.shared import Transaction

BEFORE, AFTER, LATE, FROZEN, WELL = "before", "after", "late", "frozen", ""
LATE_SECONDS = 0.1
FROZEN_SECONDS = 2.0
Answer = TypeVar("Answer")


class Faults:
    """Which calls go wrong: a word for each, by its number. None before it has begun, none once enough went wrong."""

    def __init__(self, plan: Callable[[int], str], made_max: int) -> None:
        self.plan = plan
        self.made_max = made_max
        self.calls = 0
        self.made = 0
        self.has_begun = False

    @property
    def is_over(self) -> bool:
        return self.made >= self.made_max

    async def around(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        word = self._next()
        if word == BEFORE:
            raise Unreachable("a fault of the test, before the call")
        if word == LATE:
            await asyncio.sleep(LATE_SECONDS)
        answer = await call()
        if word == FROZEN:
            time.sleep(FROZEN_SECONDS)  # nothing of its event loop runs, as when a process is stopped
        if word == AFTER:
            raise Unreachable("a fault of the test, after the call")
        return answer

    def _next(self) -> str:
        if not self.has_begun or self.is_over:
            return WELL
        self.calls += 1
        word = self.plan(self.calls)
        self.made += word != WELL
        return word


class FaultyTransaction:
    """The transactions of a pump."""

    def __init__(self, transaction: Transaction, faults: Faults) -> None:
        self._transaction = transaction
        self._faults = faults

    async def begin(self, *asked: Any) -> Any:
        return await self._faults.around(lambda: self._transaction.begin(*asked))

    async def commit(self, *asked: Any) -> Any:
        return await self._faults.around(lambda: self._transaction.commit(*asked))

    async def commit_foreseen(self, *asked: Any) -> Any:
        return await self._faults.around(lambda: self._transaction.commit_foreseen(*asked))

    async def rollback(self) -> None:
        await self._transaction.rollback()

    async def close(self) -> None:
        await self._transaction.close()


class FaultyConnections:
    """The connections that a store asks with."""

    def __init__(self, connections: Any, faults: Faults) -> None:
        self.database = connections.database
        self._connections = connections
        self._faults = faults

    async def rows(self, statement: bytes, values: Any = ()) -> Sequence[Any]:
        return await self._faults.around(lambda: self._connections.rows(statement, values))

    async def change(self, statement: bytes, values: Any = ()) -> int:
        return await self._faults.around(lambda: self._connections.change(statement, values))

    @asynccontextmanager
    async def line(self):
        async with self._connections.line() as line:
            yield line

    async def close(self) -> None:
        await self._connections.close()


class FaultyStore(PostgresStore):
    """A store over faulty connections, whose transactions are faulty too."""

    @classmethod
    async def over(cls, url: str, lease_seconds: float, faults: Faults) -> "FaultyStore":
        store = await cls.open(url, lease_seconds=lease_seconds)
        store._connections = FaultyConnections(store._connections, faults)  # type: ignore[assignment]
        store.faults = faults
        return store

    faults: Faults

    async def transaction(self) -> Any:
        return FaultyTransaction(await super().transaction(), self.faults)
