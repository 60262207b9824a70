"""Polls that wait for work on one server.

A poll ends with the first work it gets, or when its time is over. What is under way for it by then (a transaction that
leases it a job, a claim, an element being read) is waited for: a lease must not go to nobody.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from noetl.clock import Clock
from noetl.engine.commands import Work
from noetl.queues.contract import Member


class Poll(msgspec.Struct, eq=False):
    """One that waits."""

    member: Member
    free: int
    answer: asyncio.Future[list[Work]]
    works: list[Work]
    pending: int = 0  # what is under way for it

    @property
    def room(self) -> int:
        return self.free - self.pending - len(self.works)


class Polls:
    """Those of a server, by pool."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_closing = False
        self._waiting: dict[str, deque[Poll]] = {}

    def __len__(self) -> int:
        return sum(len(polls) for polls in self._waiting.values())

    def pools(self) -> list[str]:
        """Those that somebody waits for."""
        return [pool for pool, polls in self._waiting.items() if polls]

    def of(self, pool: str) -> Iterator[Poll]:
        """Those that wait for jobs of a pool and have room, while they do."""
        for poll in list(self._waiting.get(pool, ())):
            if poll.room > 0 and self._waits(poll):
                yield poll

    def next(self, pool: str) -> Poll | None:
        """The one whose turn it is to get a job."""
        polls = self._waiting.get(pool)
        for _ in range(len(polls) if polls else 0):
            poll = polls[0]  # type: ignore[index]  # there is one
            polls.rotate(-1)  # type: ignore[union-attr]  # as above
            if poll.room > 0:
                return poll
        return None

    def begin(self, member: Member, free: int) -> Poll | None:
        """A poll for up to `free` jobs of the member's pool, which may get some from now on; None: it gets none."""
        if free <= 0 or self.is_closing:
            return None
        poll = Poll(member, free, asyncio.get_running_loop().create_future(), [])
        self._waiting.setdefault(member.pool, deque()).append(poll)
        return poll

    async def answered(self, poll: Poll, wait_seconds: float) -> list[Work]:
        """What it got; nothing, if nothing came in time."""
        timer = asyncio.ensure_future(self.clock.sleep(wait_seconds))
        timer.add_done_callback(lambda _: self.end(poll))
        try:
            return await poll.answer
        finally:
            timer.cancel()
            self.remove(poll)

    def settle(self, poll: Poll, works: Iterable[Work] = ()) -> None:
        """Something that was under way for it has ended. With work in hand it waits for nothing new."""
        poll.pending -= 1
        poll.works.extend(works)
        if poll.works or not self._waits(poll):
            self.end(poll)

    def end(self, poll: Poll) -> None:
        """Answer with what there is, as soon as nothing is under way for it."""
        self.remove(poll)
        if not poll.pending and not poll.answer.done():
            poll.answer.set_result(poll.works)

    def remove(self, poll: Poll) -> None:
        """It takes nothing more."""
        if self._waits(poll):
            self._waiting[poll.member.pool].remove(poll)

    def _waits(self, poll: Poll) -> bool:
        return poll in self._waiting.get(poll.member.pool, ())

    def close(self) -> None:
        """Take no more, and let those that wait go."""
        self.is_closing = True
        for polls in list(self._waiting.values()):
            for poll in list(polls):
                self.end(poll)
