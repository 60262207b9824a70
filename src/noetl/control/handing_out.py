"""Handing out on a server of a cluster: jobs written for polls that wait, and jobs claimed for them.

Two ways to a worker. A job that is made while a poll waits here is written as leased to that worker already, in the
transaction that makes it: `reserve`, then `hand_over` once it stands, or `take_back`. A worker that reports is such a
poll, too, if it has room (`along`): it gets the job with the answer. All else is written as ready,
and claimed by whichever server has a poll waiting (`run`): when the doorbell rings, and now and then without it, for a
doorbell may be lost (protocol §6).

A job goes out as work made from the execution's state as its log has it: never older than the lease it goes out under.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.config import LEASE_SECONDS
from noetl.control.live import Live
from noetl.control.metrics import NOTHING, Meters
from noetl.control.polls import Poll, Polls
from noetl.control.stored_lists import StoredLists
from noetl.engine.commands import Expire, Incident, Key, Operation, Report, Work
from noetl.engine.work import work_of
from noetl.errors import PASSING, NoetlError
from noetl.queues.contract import Member, Room, Told
from noetl.references import reference_of
from noetl.stores.shared import Claimed, SharedStore

LOOK_SECONDS_MIN, LOOK_SECONDS_MAX = 0.25, 2.0
CLAIM_MAX = 256  # jobs of one claim
LEASE_BITS = 32
GIVEN_MAX = 100_000  # leases that are remembered; of older ones the store is asked
log = logging.getLogger("noetl.control.handing_out")

Post = Callable[[Operation], None]
Made = tuple[Live, Work]
Settled = Callable[[Sequence[int], Callable[[Live], None]], Awaitable[None]]


class Reserved(msgspec.Struct, frozen=True):
    """A job that a transaction under way leases to a poll."""

    key: Key
    lease: int
    poll: Poll

    @property
    def worker(self) -> str:
        return self.poll.member.worker


class HandingOut:
    """See above. `settled` runs a function on executions as their logs have them, between two batches."""

    def __init__(
        self,
        *,
        store: SharedStore,
        lists: StoredLists,
        clock: Clock,
        nonce: int,
        post: Post,
        settled: Settled,
        lease_seconds: float = LEASE_SECONDS,
        meters: Meters = NOTHING,
    ) -> None:
        self.store = store
        self.lists = lists
        self.clock = clock
        self.post = post
        self.settled = settled
        self.lease_seconds = lease_seconds
        self.meters = meters
        self.polls = Polls(clock)
        self.tell_others: Callable[[str], None] = lambda _pool: None
        self._leases = count((nonce << LEASE_BITS) + 1)
        self._given: OrderedDict[int, str] = OrderedDict()  # lease → the worker that got it
        self._guests: dict[int, Poll] = {}  # lease of a job that is being reported → what its idle worker offers
        self._bell = asyncio.Event()
        self._may_have: set[str] = set()  # pools that may have ready jobs
        self._looked_at: dict[str, float] = {}
        self._deliveries: set[asyncio.Task[None]] = set()

    async def poll(self, member: Member, free: int, wait_seconds: float) -> list[Work]:
        """Up to `free` jobs of the member's pool; none if none came in time."""
        poll = self.polls.begin(member, free)  # before anybody looks: whoever looks must see it
        if poll is None:
            return []
        seconds = self.clock.monotonic() - self._looked_at.get(member.pool, -LOOK_SECONDS_MAX)
        if member.pool in self._may_have or seconds > LOOK_SECONDS_MIN:
            self.hear(member.pool)  # while nobody waited here, nobody looked
        return await self.polls.answered(poll, 0.0 if buggify("poll.short") else wait_seconds)

    # --- hand-off ----------------------------------------------------------------------------------------------------

    async def along(self, member: Member, reports: Sequence[Report], room: Room, words: Awaitable[list[str]]) -> Told:
        """The words for reports, and jobs that were leased to their worker while these were under way.

        Without words there is no answer, and what was leased meanwhile goes to others at once.
        """
        offer = self.polls.offer(member, room.free, is_idle=room.is_idle)
        if offer is None:
            return Told(words=await words)
        leases = [report.lease for report in reports] if room.is_idle else []
        self._guests.update(dict.fromkeys(leases, offer))
        try:
            found = await words
        except Exception:
            self._later(self._given_back(offer))
            raise
        finally:
            for lease in leases:
                self._guests.pop(lease, None)
            self.polls.end(offer)
        return Told(words=found, works=await offer.answer)

    async def _given_back(self, offer: Poll) -> None:
        held = [(work.key, work.lease) for work in await offer.answer]
        with suppress(*PASSING):  # else the leases run out
            if held and await self.store.release(offer.member.worker, held):
                self.ring(offer.member.pool)

    def guests(self, leases: Iterable[int]) -> list[Poll]:
        """Of jobs that have ended: their workers, once for each, if they have nothing else to do and room for more."""
        return [offer for lease in leases if (offer := self._guests.get(lease)) is not None] if self._guests else []

    def reserve(self, key: Key, pool: str, guests: list[Poll] | None = None) -> Reserved | None:
        """A poll for a job that is about to be written. Guests come first: who brings back a job gets the next one in
        its place, with the answer. All others take turns.

        Where jobs may wait already, this one waits behind them: whoever brings one back then polls, and gets what has
        waited longest. Else a long chain would keep its worker from all that is not its own.
        """
        is_next = pool not in self._may_have
        guest = self._guest(pool, guests) if is_next else None
        poll = None if buggify("handout.none") else guest or self.polls.next(pool, has_offers=is_next)
        if poll is None:
            return None
        poll.pending += 1
        reserved = Reserved(key, next(self._leases), poll)
        self._remember(reserved.lease, reserved.worker)
        return reserved

    def _guest(self, pool: str, guests: list[Poll] | None) -> Poll | None:
        while guests:
            guest = guests.pop()
            if guest.member.pool == pool and guest.room > 0 and self.polls.waits(guest):
                return guest
        return None

    def _remember(self, lease: int, worker: str) -> None:
        self._given[lease] = worker
        if len(self._given) > GIVEN_MAX:
            self._given.popitem(last=False)

    def has_given(self, lease: int) -> bool:
        """Whether it was given here, as far as is remembered."""
        return lease in self._given

    async def are_of(self, member: Member, leases: Sequence[tuple[Key, int]]) -> list[bool]:
        """Whether each lease may be this worker's: numbers follow each other, so that others could be guessed.

        A lease stays its worker's for good. Those that other servers gave, the store knows; one that it does not know
        any more counts for nobody, and whoever asks may be told so.
        """
        holders = [self._given.get(lease) for _, lease in leases]
        elsewhere = [place for place, holder in enumerate(holders) if holder is None]
        found = await asyncio.gather(*(self.store.holder(*leases[place]) for place in elsewhere))
        for place, holder in zip(elsewhere, found, strict=True):
            holders[place] = holder
        return [holder in (None, member.worker) for holder in holders]

    def take_back(self, reserved: Iterable[Reserved]) -> None:
        """The transaction did not stand: the polls wait on, or end if their time is over."""
        for one in reserved:
            self.polls.settle(one.poll)

    def hand_over(self, reserved: list[Reserved], lives: Iterable[Live]) -> None:
        """The transaction stands: the jobs go to their polls, as work made of the states that it led to."""
        if not reserved:
            return
        states = {live.state.execution_id: live for live in lives}
        by_poll: dict[int, tuple[Poll, list[Made]]] = {}
        for one in reserved:
            made = self._made(states.get(one.key[0]), one.key, one.lease)
            poll, works = by_poll.setdefault(id(one.poll), (one.poll, []))
            poll.pending -= 1
            if made is not None:
                works.append(made)
        self.meters.handed_out(len(reserved))
        for poll, works in by_poll.values():
            poll.pending += 1
            self._deliver(poll, works)

    def _made(self, live: Live | None, key: Key, lease: int) -> Made | None:
        execution_id, run_id, index = key
        run = live.state.runs.get(run_id) if live else None
        if live is None or run is None or index not in run.jobs:
            return None
        try:
            return live, work_of(live.loaded.playbook, live.state, run_id, index, lease, live.folder)
        except Exception as error:  # a fault of ours hurts one execution only
            log.exception("engine fault", extra={"action": "engine_fault", "execution_id": execution_id})
            fault = f"{type(error).__name__} while handing out"
            self.post(Incident(execution_id=execution_id, message=fault))
            return None

    def _deliver(self, poll: Poll, made: list[Made]) -> None:
        """End something that was under way for a poll, with the work it brought."""
        if not any(_element_is_elsewhere(live, work) for live, work in made):
            self.polls.settle(poll, [work for _, work in made])
            return
        self.polls.remove(poll)
        self._later(self._deliver_read(poll, made))

    def _later(self, deed: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(deed)
        self._deliveries.add(task)
        task.add_done_callback(self._deliveries.discard)

    async def _deliver_read(self, poll: Poll, made: list[Made]) -> None:
        works: list[Work] = []
        try:
            for live, work in made:
                found = await self._with_element(live, work)
                if found is not None:
                    works.append(found)
        finally:
            self.polls.settle(poll, works)

    async def _with_element(self, live: Live, work: Work) -> Work | None:
        """Read the element of a stored list; one that cannot be read fails its iteration."""
        run = live.state.runs.get(work.run)
        if run is None:
            return None  # it has ended while others were read, and nobody may run it without its element
        if not _element_is_elsewhere(live, work):
            return work
        loop = run.loop
        try:
            reference = reference_of(loop.ref) if loop else None
            element = await self.lists.element((work.execution_id, work.run), reference, work.iter)
        except PASSING:
            return None  # its lease runs out, and whoever claims it next tries again
        except (NoetlError, ValueError) as error:
            kind = getattr(error, "kind", "type")
            self.post(
                Expire(execution_id=work.execution_id, run=work.run, iter=work.iter, kind=kind, message=str(error))
            )
            return None
        around = [*work.around[:-1], msgspec.structs.replace(work.around[-1], element=element)]
        return msgspec.structs.replace(work, around=around)

    # --- claims ------------------------------------------------------------------------------------------------------

    def ring(self, pool: str) -> None:
        """Jobs of a pool are ready now: for whoever waits here, and at other servers."""
        self.hear(pool)
        if not buggify("doorbell.silent"):
            self.tell_others(pool)

    def hear(self, pool: str) -> None:
        """The doorbell: a pool may have ready jobs."""
        self._may_have.add(pool)
        self._bell.set()

    async def run(self, chance: Callable[[], float]) -> None:
        """Claim for those who wait, until cancelled."""
        while True:
            await self._until_rung(LOOK_SECONDS_MIN * (1 + chance()) if len(self.polls) else LOOK_SECONDS_MAX)
            try:
                await self.look()
                continue
            except PASSING as error:
                log.warning("jobs cannot be claimed: %s", error, extra={"action": "claim_refused"})
            except Exception:  # of one execution: the leases of its jobs run out, and the others go on
                log.exception("a claimed job cannot be handed out", extra={"action": "claim_failed"})
            await self.clock.sleep(LOOK_SECONDS_MAX * chance())

    async def _until_rung(self, seconds: float) -> None:
        waits: list[asyncio.Future[object]] = [
            asyncio.ensure_future(wait) for wait in (self._bell.wait(), self.clock.sleep(seconds))
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not self._bell.is_set():
                self._may_have.update(self.polls.pools())
        finally:
            for wait in waits:
                wait.cancel()
            self._bell.clear()

    async def look(self) -> None:
        """One round: whatever the pools may have, for each poll that waits."""
        for pool in [pool for pool in self.polls.pools() if pool in self._may_have and self.polls.has_room(pool)]:
            self._may_have.discard(pool)
            self._looked_at[pool] = self.clock.monotonic()
            if await self._look_at(pool):
                self.hear(pool)

    async def _look_at(self, pool: str) -> bool:
        """Claim for each poll that waits for jobs of a pool; True: there are more than these took."""
        has_more = False
        for poll in self.polls.of(pool):
            has_more = await self._claim(poll, pool)
            if not has_more and not await self.store.has_ready(pool):
                return False  # or each of a thousand idle polls would cost a claim
        return has_more and await self.store.has_ready(pool)

    async def _claim(self, poll: Poll, pool: str) -> bool:
        """Claim for one poll; True: there may be more."""
        begun_at = self.clock.monotonic()
        wanted = 1 if buggify("claim.one") else min(CLAIM_MAX, poll.room)
        poll.pending += 1
        claims: list[Claimed] = []
        made: list[Made] = []
        try:
            leases = [next(self._leases) for _ in range(wanted)]
            claims = await self.store.claim(poll.member.worker, pool, leases, self.lease_seconds)
            for claim in claims:
                self._remember(claim.lease, poll.member.worker)
            self.meters.claimed(count=len(claims), seconds=self.clock.monotonic() - begun_at)
            if claims:
                await self._make_works(claims, made)
        finally:  # what was made goes out, though the rest could not be
            self._deliver(poll, made)
        return len(claims) == wanted

    async def _make_works(self, claims: list[Claimed], made: list[Made]) -> None:
        """The work of each claim that its execution still has, from its state as the log is after the claim."""
        by_execution: dict[int, list[Claimed]] = {}
        for claim in claims:
            by_execution.setdefault(claim.key[0], []).append(claim)

        def make(live: Live) -> None:
            for claim in by_execution[live.state.execution_id]:
                found = self._made(live, claim.key, claim.lease)
                if found is not None:
                    made.append(found)

        await self.settled(list(by_execution), make)


def _element_is_elsewhere(live: Live, work: Work) -> bool:
    run = live.state.runs.get(work.run)
    return run is not None and run.loop is not None and bool(run.loop.ref)
