"""Ledgers of executions, kept: what was folded of a log once is folded on when the log has grown, and not anew.

Comes in: the row of an execution. Goes out: its ledger, as far as the log went when it was asked for. Reading a hundred
thousand events takes a quarter of a second, and a page asks many things of one execution. Kept are those that were
asked for last, bounded in number and in bytes. A log that has gone back, as after a failover that lost its end, is
folded anew: its head is before what was folded, or the event there is of another append (protocol §5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from noetl.clock import Clock
from noetl.control.log_heads import LogHeads, Tags
from noetl.projections.envelopes import Envelopes
from noetl.projections.ledger import Ledger
from noetl.stores.contract import Execution, Store
from noetl.stores.shared import Head

LEDGERS_MAX = 32
EVENTS_PER_TURN = 2_000  # that are folded before others on the loop have theirs: some 5 ms
LEDGERS_BYTES_MAX = 64 * 1024 * 1024  # of all together, besides the one that was asked for last


class Kept:
    """A ledger, and the tag of the event that it ends with."""

    def __init__(self, execution_id: int) -> None:
        self.ledger = Ledger(execution_id)
        self.tag = 0
        self.turn = asyncio.Lock()


class Projected:
    """The ledgers of this process. `tags`: of a store that several servers write to; `ready`: ledgers of executions
    that do not change, which somebody else keeps."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        tags: Tags | None = None,
        ready: Callable[[int], Ledger | None] = lambda _: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._heads = LogHeads(tags)
        self._ready = ready
        self._kept: dict[int, Kept] = {}  # those used last are at the end

    async def ledger(self, row: Execution) -> Ledger:
        """The ledger of an execution, up to the head of its row at least."""
        ready = self._ready(row.id)
        if ready is not None:
            return ready
        kept = self._kept.pop(row.id, None) or Kept(row.id)
        self._kept[row.id] = kept
        async with kept.turn:
            head = await self._heads.head_of(row)
            if not await self._heads.follows(kept.ledger.seq, kept.tag, head):
                kept.ledger = Ledger(row.id)
            await self._fold(kept, head)
            found = kept.ledger
        self._trim()
        return found

    async def envelopes(self, row: Execution, after: int) -> Envelopes:
        """What makes the envelopes of the events after one; it knows the runs that were under way there."""
        made = Envelopes(row.id)
        if after > 0:
            made.steps = (await self.ledger(row)).run_names.at(after)
        return made

    @property
    def size_bytes(self) -> int:
        return sum(kept.ledger.size_bytes for kept in self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)

    async def _fold(self, kept: Kept, head: Head) -> None:
        while (missing := head.head - kept.ledger.seq) > 0:
            rows = await self._store.events(head.id, kept.ledger.seq, min(missing, EVENTS_PER_TURN))
            if not rows:
                break
            try:
                kept.ledger.apply(rows)
            except BaseException:
                kept.ledger = Ledger(head.id)  # half of an event is in it
                raise
            await self._clock.sleep(0)  # others have their turn between two pages
        kept.tag = head.tag

    def _trim(self) -> None:
        while len(self._kept) > LEDGERS_MAX or (len(self._kept) > 1 and self._others_bytes() > LEDGERS_BYTES_MAX):
            del self._kept[next(iter(self._kept))]

    def _others_bytes(self) -> int:
        newest = next(reversed(self._kept.values()))
        return self.size_bytes - newest.ledger.size_bytes
