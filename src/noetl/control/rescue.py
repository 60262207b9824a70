"""The sweep of a server in a cluster: what others left behind, and what is due (protocol §6).

Each second, give or take: leases that ran out, deadlines that have passed, follow-ups that a dead server owes, children
that nobody waits for, executions in which nothing moves. Every server does it; whatever two of them find at once is
asked twice and decided once. It decides nothing itself: it asks the pumps.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.control.handing_out import HandingOut, Settled
from noetl.control.live import Live
from noetl.control.metrics import NOTHING, Meters
from noetl.control.shared_following import SharedFollowing
from noetl.control.shared_sitting import FOLLOW_SECONDS
from noetl.control.timers import overdue
from noetl.engine.commands import Cancel, Expire, Recover, TimerSet
from noetl.engine.effects import is_needed, pending
from noetl.errors import STORE_AWAY
from noetl.queues.contract import DELIVERIES_MAX
from noetl.stores.contract import LIVE, Execution
from noetl.stores.shared import SharedStore

SWEEP_SECONDS = 1.0
SLOW_SWEEPS = 5  # so many sweeps for one look at what is rarely there
EXTEND_SWEEPS = 10
RARE_SWEEPS = 30
ROWS_MAX = 500
ORPHAN_SECONDS = 10.0
STRANDED_SECONDS = 30.0
log = logging.getLogger("noetl.control.rescue")


class Rescue:
    """See above."""

    def __init__(
        self,
        *,
        store: SharedStore,
        following: SharedFollowing,
        handing: HandingOut,
        settled: Settled,
        clock: Clock,
        chance: Callable[[], float],
        meters: Meters = NOTHING,
    ) -> None:
        self.store = store
        self.following = following
        self.pump = following.pump
        self.handing = handing
        self.settled = settled
        self.clock = clock
        self.chance = chance
        self.meters = meters
        self._sweeps = 0

    async def run(self) -> None:
        while True:
            await self.clock.sleep(SWEEP_SECONDS * (0.5 + self.chance()))
            await self.sweep()

    async def sweep(self) -> None:
        """One round; a look that fails does not keep the others from happening."""
        self._sweeps += 1
        looks: list[Callable[[], Awaitable[None]]] = [self._lost_leases, self._deadlines, self.tell_follow_ups]
        if self._sweeps % SLOW_SWEEPS == 0:
            looks += [self._abandoned, self._orphans]
        if self._sweeps % RARE_SWEEPS == 0:
            looks.append(self._stranded)
        for look in looks:
            try:
                await look()
            except STORE_AWAY as error:
                log.warning("the sweep could not look: %s", error, extra={"action": "sweep_refused"})
                return
            except Exception:
                log.exception("the sweep failed", extra={"action": "sweep_failed"})

    async def _lost_leases(self) -> None:
        count, lost = await self.store.expire(rows_max(), DELIVERIES_MAX)
        if count:
            self.meters.expired(count)
            log.warning("leases expired", extra={"action": "leases_expired", "count": count})
            for row in await self.store.pools():
                if row.ready:
                    self.handing.ring(row.pool)
        if lost:
            self.meters.lost(len(lost))
        for one in lost:
            execution_id, run, index = one.key
            log.warning("a job is given up", extra={"action": "job_lost", "execution_id": execution_id, "run": run})
            message = f"its worker was lost {DELIVERIES_MAX} times in a row"
            self.pump.pumps.post(
                Expire(
                    execution_id=execution_id,
                    run=run,
                    iter=index,
                    kind="worker_lost",
                    message=message,
                    lease=one.lease,
                )
            )

    async def _deadlines(self) -> None:
        """Ask for what is due; once that is decided, say when to look again. Times are in the state: none is lost."""
        for execution_id in await self.store.overdue(rows_max()):
            try:
                await self._deadline(execution_id)
            except STORE_AWAY:
                raise
            except Exception:  # of that one: the next is looked at all the same
                extra = {"action": "deadline_failed", "execution_id": execution_id}
                log.exception("the deadlines of an execution cannot be looked at", extra=extra)

    async def _deadline(self, execution_id: int) -> None:
        due, later, head = await self._timers(execution_id)
        for timer in due:
            self.pump.pumps.post(overdue(timer))
        if not due:
            await self.store.set_deadline(execution_id, later, head)

    async def _timers(self, execution_id: int) -> tuple[list[TimerSet], float | None, int]:
        """The timers of an execution that have gone off, when the next one will, and where its log ended then."""
        now, head = self.clock.now(), 0
        found: list[TimerSet] = []

        def look(live: Live) -> None:
            nonlocal head
            head = live.state.seq
            changes = [change for change in pending(live.state) if isinstance(change, TimerSet)]
            found.extend(timer for timer in changes if is_needed(live.state, timer))

        await self.settled([execution_id], look)
        due = [timer for timer in found if timer.at <= now]
        return due, min((timer.at for timer in found if timer.at > now), default=None), head

    async def tell_follow_ups(self) -> None:
        """Tell the store what this server is through with, and what it is still at."""
        done, self.pump.done = self.pump.done, set()
        until = self.clock.now() + FOLLOW_SECONDS  # no mark that stood by now says later than this
        try:
            if done:
                await self.store.followed(sorted(done), until)
        except BaseException:
            self.pump.done |= done - set(self.pump.under_way)
            raise
        if self._sweeps % EXTEND_SWEEPS == 0 and self.pump.under_way:
            await self.store.following(sorted(self.pump.under_way), until)

    async def _abandoned(self) -> None:
        for row in await self.store.take_over(rows_max(), self.clock.now() + FOLLOW_SECONDS):
            if row.id in self.pump.under_way:
                continue
            extra = {"action": "follow_up_taken_over", "execution_id": row.id}
            log.warning("a server left something undone; it is taken over", extra=extra)
            self.pump.spawn(self._follow_up(row), row.id)

    async def _follow_up(self, row: Execution) -> None:
        if row.status in LIVE:
            await self.pump.until_decided(Recover(execution_id=row.id))
        else:
            await self.following.tell_again(row)

    async def _orphans(self) -> None:
        for execution_id in await self.store.orphans(rows_max(), ORPHAN_SECONDS):
            self.pump.pumps.post(Cancel(execution_id=execution_id, reason="nobody waits for it any more"))

    async def _stranded(self) -> None:
        """I12: a live execution has a job, a child or a named wait. One that has none is a fault of ours, or a server
        that owed it something died, and another that had something to follow up for it, too, took the mark away."""
        for execution_id in await self.store.stranded(rows_max(), STRANDED_SECONDS):
            if execution_id not in self.pump.under_way:
                extra = {"action": "execution_stranded", "execution_id": execution_id}
                log.error("nothing moves in an execution that has not ended; it is taken up again", extra=extra)
                self.pump.pumps.post(Recover(execution_id=execution_id))
        for child in await self.store.unheard(rows_max(), STRANDED_SECONDS):
            if child.id not in self.pump.under_way:
                extra = {"action": "child_unheard", "execution_id": child.id}
                log.error("a caller waits for a child that has ended; it is told again", extra=extra)
                self.pump.spawn(self.following.tell_again(child), child.id)


def rows_max() -> int:
    """How much one look may find; what is left is found by the next."""
    return 1 if buggify("sweep.rows_few") else ROWS_MAX
