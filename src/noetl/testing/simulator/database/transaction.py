"""The transactions of one pump on a simulated database, one after the other (`noetl.stores.shared.Transaction`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from noetl.errors import Unreachable
from noetl.stores.contract import Batch, Unforeseen
from noetl.stores.shared import ACCEPTED, Expiry, Fence, Head, QueueChanges, Revoked
from noetl.testing.simulator.database.calls import Caller
from noetl.testing.simulator.database.fences import Fencing, Words, existing, fenced_rows, head_of
from noetl.testing.simulator.database.locks import Rows, Session
from noetl.testing.simulator.database.writes import Writing, written_rows

if TYPE_CHECKING:
    from noetl.testing.simulator.database.database import Database


class DatabaseTransaction(Caller):
    """See above. Whatever goes wrong leaves nothing open."""

    def __init__(self, database: Database, node_name: str, lease_seconds: float) -> None:
        super().__init__(database, node_name)
        self._lease_seconds = lease_seconds
        self._session: Session | None = None
        self._fences: Sequence[Fence] = ()
        self._expiries: Sequence[Expiry] = ()
        self._words: Words = {}

    async def begin(
        self, ids: Sequence[int], fences: Sequence[Fence], expiries: Sequence[Expiry] = ()
    ) -> tuple[dict[int, Head], Words]:
        self._end()
        await self._sent("begin")
        session = self._session = self._database.open(self._node_name)
        found = existing(self._tables, ids)
        stages: list[Rows] = [lambda: found, partial(fenced_rows, self._tables, fences, expiries)]
        fence = partial(self._fenced, session, found, fences, expiries)
        try:
            heads, self._words = await self._database.locked(session, stages, fence)
            await self._answered("begin")
        except BaseException:
            self._end()
            raise
        self._fences, self._expiries = fences, expiries
        return heads, self._words

    def _fenced(
        self, session: Session, found: Sequence[int], fences: Sequence[Fence], expiries: Sequence[Expiry]
    ) -> tuple[dict[int, Head], Words]:
        heads = {execution_id: head_of(self._tables.executions[execution_id]) for execution_id in found}
        words = Fencing(self._tables, session, self._now(), self._lease_seconds).words(fences, expiries)
        return heads, words

    async def commit(self, batch: Batch, tag: int, changes: QueueChanges) -> list[Revoked]:
        session = self._session
        if session is None:
            raise Unreachable(f"the transaction with {self.name} was lost before its commit")
        try:
            await self._sent("commit")
            self._database.end_idle()
            if session.is_over:
                raise Unreachable(f"the transaction with {self.name} was ended: {session.ended_by}")
            stage = partial(written_rows, self._tables, batch, changes)
            apply = partial(self._applied, session, batch, tag, changes)
            revoked = await self._database.locked(session, [stage], apply)
            await self._answered("commit")
        finally:
            self._end()
        return revoked

    async def commit_foreseen(
        self, seen: Sequence[Head], fences: Sequence[Fence], batch: Batch, tag: int, changes: QueueChanges
    ) -> list[Revoked]:
        self._end()
        await self._sent("commit")
        session = self._session = self._database.open(self._node_name)
        found = existing(self._tables, [head.id for head in seen])
        stages: list[Rows] = [
            lambda: found,
            partial(fenced_rows, self._tables, fences, ()),
            partial(written_rows, self._tables, batch, changes),
        ]

        def judged_and_applied() -> list[Revoked]:
            heads, self._words = self._fenced(session, found, fences, ())
            self._fences, self._expiries = fences, ()
            is_so = all(one.id in heads and _place(heads[one.id]) == _place(one) for one in seen)
            if not is_so or any(word != ACCEPTED for word in self._words.values()):
                raise Unforeseen
            return self._applied(session, batch, tag, changes)

        try:
            revoked = await self._database.locked(session, stages, judged_and_applied)
            await self._answered("commit")
        finally:
            self._end()
        return revoked

    def _applied(self, session: Session, batch: Batch, tag: int, changes: QueueChanges) -> list[Revoked]:
        writing = Writing(self._tables, tag, self._now(), self._lease_seconds)
        try:
            taken = self._tables.transact(partial(writing.write, session, batch, changes))
            revoked = [one for one in taken if self._words.get((one.key, one.lease)) != ACCEPTED]
            self._database.tell(
                node=session.node,
                batch=batch,
                tag=tag,
                words=self._words,
                changes=changes,
                fences=self._fences,
                expiries=self._expiries,
                revoked=revoked,
            )
        finally:
            self._database.end(session)
        return revoked

    async def rollback(self) -> None:
        """End what is under way, if anything is. What cannot be told to the database it finds out by itself."""
        if self._session is None:
            return
        try:
            with suppress(Unreachable):
                await self._sent("rollback")
                self._end()
                await self._answered("rollback")
        finally:
            self._end()

    async def close(self) -> None:
        self._end()

    def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._database.end(session)


def _place(head: Head) -> tuple[int, int]:
    return head.head, head.tag
