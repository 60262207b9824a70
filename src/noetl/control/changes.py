"""One bell for all pages: that something of a subject has changed, told to those whom it concerns and nobody else.

    commit ─→ StatusFeed ─→ the row that changed ─┐
                                                  ├─→ bounded buffer of each listener ─→ its stream
    probes, each LOOK_SECONDS ─→ marks that differ┘

A probe gives marks: whatever tells how a subject stands, by the path of the playbooks that it is about. Where a mark is
not the one of the last look, the bell rings for those who see that path; what has no path (None) is for everybody, and
what is about all paths ("") for those who see all. A bell says no more than that. It rings once however often it was
struck meanwhile, so a listener's buffer holds a few bells and the rows that changed. Rests while nobody listens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping

from noetl.clock import Clock
from noetl.control.listening import Item, Listener, Listeners, drained
from noetl.control.status_feed import StatusFeed
from noetl.errors import OperatorError

LOOK_SECONDS = 2.0
LISTENING, EXECUTIONS, OVERVIEW, SCHEDULES = "listening", "executions", "overview", "schedules"
NOTHING = b"{}"
BROKEN = "changes cannot be seen: connect again"
log = logging.getLogger("noetl.control.changes")

Place = str | None
Marks = Mapping[Place, object]
Probe = Callable[[], Awaitable[Marks]]
Probes = Mapping[str, Probe]  # by subject
Sees = Callable[[str], bool]


class Bells(Listener):
    """A listener of bells: one that has not been heard yet does not ring twice."""

    def __init__(self, sees: Sees) -> None:
        super().__init__()
        self._sees = sees
        self._rung: set[str] = set()
        self._is_greeted = False

    def greet(self) -> None:
        if not self._is_greeted:
            self._is_greeted = True
            self.put(Item(0, LISTENING, NOTHING))

    def ring(self, subject: str, places: Iterable[Place]) -> None:
        if subject not in self._rung and any(place is None or self._sees(place) for place in places):
            self._rung.add(subject)
            self.put(Item(0, subject, NOTHING))

    def tell(self, row: Item) -> None:
        if self._sees(row.path):
            self.put(row)

    async def take(self) -> list[Item]:
        found = await super().take()
        self._rung.clear()
        return found


class Changes:
    """The bell of one process."""

    def __init__(self, clock: Clock, listeners: Listeners, statuses: StatusFeed) -> None:
        self._clock = clock
        self._all = listeners
        self._statuses = statuses
        self._bells: dict[Bells, None] = {}  # in the order they came
        self._marks: dict[str, Marks] = {}
        self._moved: set[Place] = set()  # paths of executions that changed since the last look
        self._is_following = False
        self._has_looked = False
        self._task: asyncio.Task[None] | None = None

    async def rung(self, sees: Sees, probes: Probes) -> AsyncIterator[Item | str]:
        """First `listening`: what changes from then on is told. A text at last: why no more comes."""
        bells = Bells(sees)
        with self._all.joined(bells):
            self._join(bells, probes)
            try:
                async for told in drained(bells):
                    yield told
            finally:
                self._leave(bells)

    def _join(self, bells: Bells, probes: Probes) -> None:
        self._bells[bells] = None
        if self._task is None:
            self._marks.clear()
            self._moved.clear()
            self._is_following = self._has_looked = False
            self._task = asyncio.get_running_loop().create_task(self._run(probes))
            self._task.add_done_callback(self._ended)
        self._greet()

    def _greet(self) -> None:
        """Nothing that changes from now on is missed."""
        if self._is_following and self._has_looked:
            for bells in self._bells:
                bells.greet()

    def _leave(self, bells: Bells) -> None:
        del self._bells[bells]
        if not self._bells and self._task is not None:
            self._task.cancel()
            self._task = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        """It has stopped. If nobody stopped it, those who listen must not wait for what never comes."""
        if task.cancelled():
            return
        log.error("the bell broke", exc_info=task.exception(), extra={"action": "changes_broke"})
        self._task = None
        for bells in self._bells:
            bells.close(BROKEN)

    async def _run(self, probes: Probes) -> None:
        """Both halves, one task: where one of them breaks, the other ends."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._follow())
            both.create_task(self._look_on(probes))

    async def _follow(self) -> None:
        """Tell each execution whose status changes."""
        while True:
            try:
                async with self._statuses.heard() as listener:
                    self._is_following = True
                    self._greet()
                    async for told in drained(listener):
                        if isinstance(told, Item):
                            self._tell(told)
            except OperatorError as error:
                wait(error)
            await self._clock.sleep(LOOK_SECONDS)

    def _tell(self, told: Item) -> None:
        self._moved.add(told.path)
        row = Item(0, EXECUTIONS, told.data, path=told.path)
        for bells in self._bells:
            bells.tell(row)

    async def _look_on(self, probes: Probes) -> None:
        while True:
            try:
                await self._look(probes)
                self._has_looked = True
                self._greet()
            except OperatorError as error:
                wait(error)
            await self._clock.sleep(LOOK_SECONDS)

    async def _look(self, probes: Probes) -> None:
        moved, self._moved = self._moved, set()
        for subject, probe in probes.items():
            marks, known = await probe(), self._marks.get(subject)
            self._marks[subject] = marks
            if known is not None and marks != known:
                places = {place for place in {*marks, *known} if marks.get(place) != known.get(place)}
                self._ring(subject, places)
                moved |= places if subject == SCHEDULES else set()
        self._ring(OVERVIEW, moved)

    def _ring(self, subject: str, places: set[Place]) -> None:
        for bells in self._bells:
            bells.ring(subject, places)


def wait(error: OperatorError) -> None:
    """The store is away: those who listen hear nothing new meanwhile."""
    log.warning("cannot look for changes", extra={"action": "changes_wait", "why": str(error)})
