"""The one database of a simulated world, which all its servers share: `SharedStore` in memory, with real transactions.

    servers ─→ DatabaseClient ─→ line ─→ locks ─→ tables ─→ line ─→ the answer

Every call of a client passes `line` twice: before it is applied, and after. There the world delays it, or breaks it:
before, nothing happened, and an open transaction is gone; after, it stands and the answer is lost. Each call is one
statement, and counted. Between the two it is applied in one go, by the database's own clock, so no one ever sees half
of a transaction; a call that needs a locked row waits for it, and gives up after LOCK_SECONDS_MAX. A transaction whose
client is silent for IDLE_SECONDS_MAX is ended, as by PostgreSQL with our settings (protocol §10).

`rewind` is a failover to a replica that was behind: history is shorter then, ids that were given included. The contract
says that nobody else ever gets an id; PostgreSQL cannot keep that either when the very transaction that gave it is
lost, so what the servers make of an id that comes twice is for them to prove.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from noetl.clock import Clock
from noetl.config import LEASE_SECONDS
from noetl.engine.commands import Key
from noetl.errors import Unreachable
from noetl.stores.contract import Batch
from noetl.stores.shared import Expiry, Fence, QueueChanges, Revoked
from noetl.testing.simulator.database.calls import BEFORE
from noetl.testing.simulator.database.client import DatabaseClient
from noetl.testing.simulator.database.locks import Locks, Rows, Session
from noetl.testing.simulator.database.tables import Tables

LOCK_SECONDS_MAX = 5.0
IDLE_SECONDS_MAX = 10.0
MOMENT_SECONDS = 1e-6  # a timer may be so early
FIRST_TAG = 1 << 62  # of commits outside a pump, which bring none: each has the next, and none comes twice
T = TypeVar("T")

Line = Callable[[str, str, str], Awaitable[None]]  # node, call, "before" or "after"


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that stands, and what led to it. A process with a store of its own has but the first two."""

    node: str
    batch: Batch
    number: int = 0  # of the transaction, as `rewind` tells it
    tag: int = 0
    words: dict[tuple[Key, int], str] = {}
    changes: QueueChanges = msgspec.field(default_factory=QueueChanges)
    fences: Sequence[Fence] = ()
    expiries: Sequence[Expiry] = ()
    revoked: Sequence[Revoked] = ()


async def _at_once(node: str, call: str, phase: str) -> None:
    """A line without delays and faults."""


class Database:
    """See above. `tables` may be read at any time; `context` is whose timers run, as a process of its own."""

    def __init__(self, clock: Clock, *, context: contextvars.Context | None = None) -> None:
        self.name = "postgresql://simulated"
        self.clock = clock
        self.tables = Tables()
        self.locks = Locks()
        self.line: Line = _at_once
        self.on_commit: Callable[[Committed], None] | None = None  # it looks, and raises nothing
        self.on_lease: Callable[[Key, int, str], None] | None = None  # likewise: a job was claimed, by which worker
        self.on_extend: Callable[[Key, int], None] | None = None  # likewise: its lease was made longer
        self.on_release: Callable[[Key], None] | None = None  # likewise: it was given back
        self.calls = 0  # so many statements were sent
        self._context = context.copy() if context is not None else contextvars.copy_context()
        self._sessions: dict[Session, None] = {}
        self._tag = FIRST_TAG

    def client(
        self, node_name: str, *, clock: Clock | None = None, lease_seconds: float = LEASE_SECONDS
    ) -> DatabaseClient:
        """What a server calls its store; `clock` is that server's own, which need not agree."""
        return DatabaseClient(self, node_name, clock or self.clock, lease_seconds)

    # --- what happens to a database ----------------------------------------------------------------------------------

    def drop(self, node_name: str) -> None:
        """That process is gone: what it had open is rolled back."""
        self._end_all([one for one in self._sessions if one.node == node_name], "its process is gone")

    def stop(self) -> None:
        """It stops, as for a restart: what was open is rolled back."""
        self._end_all(list(self._sessions), "it was stopped")

    def rewind(self, transactions: int) -> int:
        """Go on with a replica that lacks the last transactions, at most `TRANSACTIONS_KEPT`; all that is open is lost.

        Whatever committed under a higher number than this gives stands no more.
        """
        self._end_all(list(self._sessions), "another database took over")
        return self.tables.rewind(transactions)

    def _end_all(self, sessions: Sequence[Session], why: str) -> None:
        for session in sessions:  # first of all: none of them may come to its turn by the end of another
            self.locks.withdraw(session)
        for session in sessions:
            self.end(session, why)

    # --- calls, for clients ------------------------------------------------------------------------------------------

    async def trip(self, node_name: str, call: str, phase: str) -> None:
        if phase == BEFORE:
            self.calls += 1
        await self.line(node_name, call, phase)

    def tell(self, **facts: Any) -> None:
        """A pump's commit was applied, and nothing since."""
        if self.on_commit is not None:
            self.on_commit(Committed(number=self.tables.number, **facts))

    def tell_lease(self, key: Key, lease: int, worker: str) -> None:
        if self.on_lease is not None:
            self.on_lease(key, lease, worker)

    def tell_extended(self, key: Key, lease: int) -> None:
        if self.on_extend is not None:
            self.on_extend(key, lease)

    def tell_released(self, key: Key) -> None:
        if self.on_release is not None:
            self.on_release(key)

    def new_tag(self) -> int:
        self._tag += 1
        return self._tag

    def open(self, node_name: str) -> Session:
        session = Session(node_name)
        self._sessions[session] = None
        return session

    def end(self, session: Session, why: str = "") -> None:
        """Free its locks; what it had not committed is forgotten. One that has ended stays so."""
        if session.is_over:
            return
        session.ended_by = why
        self._sessions.pop(session, None)
        self._settle(session)
        self.locks.free(session)

    def end_idle(self) -> None:
        """End the transactions of which nothing was heard for too long."""
        heard_after = self.clock.monotonic() - IDLE_SECONDS_MAX + MOMENT_SECONDS
        for session in list(self._sessions):
            if session.idle_since is not None and session.idle_since < heard_after:
                self.end(session, "nothing was heard of it for too long")

    async def locked(self, session: Session, stages: Sequence[Rows], work: Callable[[], T]) -> T:
        """Lock the rows of each stage, which are found when those of the one before are locked, and do that.

        Raises Unreachable, and what the work raises.
        """
        answer: list[T | Exception] = []
        session.idle_since = None
        self.end_idle()
        self._lock(session, stages, work, answer)
        if not answer:
            await self._answered(session)
        if not answer:
            raise Unreachable(f"the transaction with {self.name} was ended: {session.ended_by}")
        if isinstance(answer[0], Exception):
            raise answer[0]
        return answer[0]

    def _lock(self, session: Session, stages: Sequence[Rows], work: Callable[[], Any], answer: list[Any]) -> None:
        if stages:
            self.locks.lock(session, stages[0](), partial(self._lock, session, stages[1:], work, answer))
        else:
            self._work(session, work, answer)

    def _work(self, session: Session, work: Callable[[], Any], answer: list[Any]) -> None:
        try:
            answer.append(work())
        except Exception as error:  # whoever asked gets it, wherever this is called from
            answer.append(error)
        session.idle_since = self.clock.monotonic()
        self._settle(session)

    # --- waiting -----------------------------------------------------------------------------------------------------

    async def _answered(self, session: Session) -> None:
        session.waiter = asyncio.get_running_loop().create_future()
        session.gives_up_at = self.clock.monotonic() + LOCK_SECONDS_MAX
        self._watch(session)
        await session.waiter

    def _watch(self, session: Session) -> None:
        """Look again when its time is over, or that of whoever is in the way."""
        look_at = session.gives_up_at
        idle_since = self.locks.in_the_way_of(session).idle_since
        if idle_since is not None:
            look_at = min(look_at, idle_since + IDLE_SECONDS_MAX)
        delay_seconds = max(look_at - self.clock.monotonic(), 0.0)
        session.timer = self._context.run(self.clock.call_later, delay_seconds, partial(self._look, session))

    def _look(self, session: Session) -> None:
        self.end_idle()
        if session.is_over or session.when_locked is None:
            return
        if self.clock.monotonic() >= session.gives_up_at - MOMENT_SECONDS:
            self.end(session, "a lock was not to be had in time")
        else:
            self._watch(session)

    def _settle(self, session: Session) -> None:
        if session.timer is not None:
            session.timer.cancel()
            session.timer = None
        if session.waiter is not None and not session.waiter.done():
            session.waiter.set_result(None)
