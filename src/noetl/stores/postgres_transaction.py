"""The transactions of one pump, on a connection of its own.

    begin   one round trip: begin, lock, fence                         (postgres_fences.py)
    commit  one for a common batch: write and COMMIT                   (postgres_writes.py)
    commit_foreseen  both in one, where nobody needs to know what the first would say

Whatever goes wrong leaves nothing behind: the connection is rolled back, or closed and made anew by the next `begin`.
If COMMIT itself is not answered, nobody knows whether it stands; that is told as Unreachable, and asking again is safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from psycopg import errors

from noetl.engine.commands import Key
from noetl.errors import Unreachable
from noetl.stores import postgres_fences, postgres_writes
from noetl.stores.contract import Batch, HeadMoved, Unforeseen
from noetl.stores.postgres_database import Database, faults, reconnected
from noetl.stores.postgres_line import Line
from noetl.stores.shared import ACCEPTED, Expiry, Fence, Head, QueueChanges, Revoked


class PostgresTransaction:
    """See `noetl.stores.shared.Transaction`."""

    def __init__(self, database: Database, lease_seconds: float) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._line: Line | None = None
        self._own: set[tuple[Key, int]] = set()  # what the reports of this batch are about
        self._is_begun = False

    async def begin(
        self, ids: Sequence[int], fences: Sequence[Fence], expiries: Sequence[Expiry] = ()
    ) -> tuple[dict[int, Head], dict[tuple[Key, int], str]]:
        line = await self._idle_line()
        self._is_begun = bool(ids or fences or expiries)
        if not self._is_begun:  # nothing is locked, so that it begins with what it writes
            self._own = set()
            return {}, {}
        try:
            with faults(self._database.name):
                heads, words = await postgres_fences.begin(line, ids, fences, expiries, self._lease_seconds)
        except BaseException:
            await self._drop()
            raise
        self._own = {place for place, word in words.items() if word == ACCEPTED}
        return heads, words

    async def commit(self, batch: Batch, tag: int, changes: QueueChanges) -> list[Revoked]:
        line = self._line
        if line is None:
            raise Unreachable(f"the transaction with {self._database.name} was lost before its commit")
        try:
            with faults(self._database.name):
                first = () if self._is_begun else ((postgres_writes.BEGIN, ()),)
                revoked = await postgres_writes.write(line, batch, tag, changes, self._lease_seconds, first)
        except Exception:
            await self.rollback()
            raise
        except BaseException:
            await self._drop()
            raise
        return [one for one in revoked if (one.key, one.lease) not in self._own]

    async def commit_foreseen(
        self, seen: Sequence[Head], fences: Sequence[Fence], batch: Batch, tag: int, changes: QueueChanges
    ) -> list[Revoked]:
        line = await self._idle_line()
        self._own = {(fence.key, fence.lease) for fence in fences}
        first = postgres_fences.foreseen(seen, fences, self._lease_seconds)
        try:
            with faults(self._database.name):
                revoked = await postgres_writes.write(line, batch, tag, changes, self._lease_seconds, first)
        except HeadMoved as moved:
            await self.rollback()
            if isinstance(moved.__cause__, errors.DivisionByZero):
                raise Unforeseen from moved
            raise
        except Exception:
            await self.rollback()
            raise
        except BaseException:
            await self._drop()
            raise
        return [one for one in revoked if (one.key, one.lease) not in self._own]

    async def rollback(self) -> None:
        """End what is under way, if anything is; what cannot be rolled back is dropped, and the server forgets it."""
        line = self._line
        if line is None or line.is_idle:
            return
        try:
            with suppress(Unreachable):
                with faults(self._database.name):
                    await line.ask((b"ROLLBACK", ()))
                return
        except BaseException:
            await self._drop()
            raise
        await self._drop()

    async def close(self) -> None:
        await self._drop()

    async def _idle_line(self) -> Line:
        await self.rollback()
        if self._line is not None and self._line.has_ended:
            await self._drop()
        if self._line is None:
            self._line = Line(await reconnected(self._database))
        return self._line

    async def _drop(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            await line.close()
