"""Polls that wait for work on one server.

A poll ends with the first work it gets, or when its time is over. What is under way for it by then (a transaction that
leases it a job, a claim, an element being read) is waited for: a lease must not go to nobody. A worker that reports may
offer room, too: that is a poll for as long as its reports are under way.
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
    is_idle: bool = False  # of an offer: the worker has nothing else to do

    @property
    def room(self) -> int:
        return self.free - self.pending - len(self.works)


class Polls:
    """Those of a server, by pool."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_closing = False
        self._waiting: dict[str, deque[Poll]] = {}
        self._offers: dict[str, list[Poll]] = {}

    def __len__(self) -> int:
        return sum(len(polls) for polls in self._waiting.values())

    def pools(self) -> list[str]:
        """Those that somebody waits for."""
        return [pool for pool, polls in self._waiting.items() if polls]

    def of(self, pool: str) -> Iterator[Poll]:
        """Those that wait for jobs of a pool and have room, while they do."""
        for poll in list(self._waiting.get(pool, ())):
            if poll.room > 0 and self.waits(poll):
                yield poll

    def has_room(self, pool: str) -> bool:
        """Whether one of them could get a job now: those that something is under way for may be full."""
        return next(self.of(pool), None) is not None

    def next(self, pool: str, *, has_offers: bool = True) -> Poll | None:
        """The one whose turn it is to get a job; offers count only if nobody else waits."""
        polls = self._waiting.get(pool)
        for _ in range(len(polls) if polls else 0):
            poll = polls[0]  # type: ignore[index]  # there is one
            polls.rotate(-1)  # type: ignore[union-attr]  # as above
            if poll.room > 0:
                return poll
        offers = self._offers.get(pool, ()) if has_offers else ()
        return next((offer for offer in offers if offer.room > 0), None)

    def begin(self, member: Member, free: int) -> Poll | None:
        """A poll for up to `free` jobs of the member's pool, which may get some from now on; None: it gets none."""
        if free <= 0 or self.is_closing:
            return None
        poll = Poll(member, free, asyncio.get_running_loop().create_future(), [])
        self._waiting.setdefault(member.pool, deque()).append(poll)
        return poll

    def offer(self, member: Member, free: int, *, is_idle: bool) -> Poll | None:
        """Room of a worker that reports, until it is answered; None: it gets nothing along."""
        if free <= 0 or self.is_closing:
            return None
        offer = Poll(member, free, asyncio.get_running_loop().create_future(), [], is_idle=is_idle)
        self._offers.setdefault(member.pool, []).append(offer)
        return offer

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
        if poll.works or not self.waits(poll):
            self.end(poll)

    def end(self, poll: Poll) -> None:
        """Answer with what there is, as soon as nothing is under way for it."""
        self.remove(poll)
        if not poll.pending and not poll.answer.done():
            poll.answer.set_result(poll.works)

    def remove(self, poll: Poll) -> None:
        """It takes nothing more."""
        pool = poll.member.pool
        if poll in self._waiting.get(pool, ()):
            self._waiting[pool].remove(poll)
        elif poll in self._offers.get(pool, ()):
            self._offers[pool].remove(poll)

    def waits(self, poll: Poll) -> bool:
        """Whether it may still get something."""
        pool = poll.member.pool
        return poll in self._waiting.get(pool, ()) or poll in self._offers.get(pool, ())

    def close(self) -> None:
        """Take no more, and let those that wait go."""
        self.is_closing = True
        for polls in list(self._waiting.values()):
            for poll in list(polls):
                self.end(poll)
