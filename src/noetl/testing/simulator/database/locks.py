"""The row locks of a simulated database: of executions and of jobs. Whoever comes to a locked row waits for it.

What is to be done under the locks is done by the database, the moment that the last one is had, whatever became of
whoever asked meanwhile: a client that stands still holds nobody up but by its locks. Those who wait for a row get it in
the order in which they came. Nothing here knows time: who waits too long is for `database.py` to say.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from noetl.clock import Timer
from noetl.engine.commands import Key
from noetl.testing.simulator.database.tables import Job

Row = int | Key  # an execution or a job
Rows = Callable[[], Sequence[Row]]  # found when their turn has come


class Session:
    """One transaction of a node, from its first lock to its end."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.jobs: dict[Key, Job | None] = {}  # its own rows, not committed yet; None: it deleted that one
        self.is_over = False
        self.ended_by = ""  # why, if it did not end by itself
        self.idle_since: float | None = None  # when its client was last answered; None: something is under way
        self.gives_up_at = 0.0  # it waits for a lock until then
        self.timer: Timer | None = None
        self.waiter: asyncio.Future[None] | None = None
        self.held: dict[Row, None] = {}
        self.wanted: list[Row] = []  # the next one last
        self.when_locked: Callable[[], None] | None = None  # it has not all that it wants yet


class Locks:
    """See above."""

    def __init__(self) -> None:
        self._holders: dict[Row, Session] = {}
        self._queues: dict[Row, deque[Session]] = {}

    def is_locked(self, row: Row) -> bool:
        return row in self._holders

    def in_the_way_of(self, session: Session) -> Session:
        """Who has the row that this one waits for."""
        return self._holders[session.wanted[-1]]

    def lock(self, session: Session, rows: Sequence[Row], when_locked: Callable[[], None]) -> None:
        """Lock these rows one after the other, and then do that: at once, if nobody has one of them."""
        session.wanted = [row for row in reversed(rows) if row not in session.held]
        session.when_locked = when_locked
        self._go_on(session)

    def free(self, session: Session) -> None:
        """Give back all its locks, and its place in a queue; whoever is next goes on."""
        session.is_over = True
        self.withdraw(session)
        held, session.held = session.held, {}
        for following in [one for row in held if (one := self._handed_on(row)) is not None]:
            self._go_on(following)

    def withdraw(self, session: Session) -> None:
        """It waits no more; what it has it keeps."""
        if session.when_locked is not None:
            self._queues[session.wanted[-1]].remove(session)
            session.when_locked = None

    def _handed_on(self, row: Row) -> Session | None:
        queue = self._queues.get(row)
        if not queue:
            del self._holders[row]
            return None
        following = self._holders[row] = queue.popleft()
        following.held[following.wanted.pop()] = None
        return following

    def _go_on(self, session: Session) -> None:
        while session.wanted:
            row = session.wanted[-1]
            if row in self._holders:
                self._queues.setdefault(row, deque()).append(session)
                return
            self._holders[row] = session
            session.held[session.wanted.pop()] = None
        when_locked, session.when_locked = session.when_locked, None
        if when_locked is not None:
            when_locked()
