"""Traces: what was committed becomes spans, and the spans go to a collector. Nothing waits for it, and nothing fails.

    told ─→ [shares] ─→ fold, reading what another server wrote in between ─→ [spans] ─→ send, a batch at a time

`told` is called after each commit and only puts aside. Both queues are bounded; what does not fit is dropped and
counted, so a collector that is slow, or gone, costs spans and nothing else. A span is drawn by the server that
committed its end. The sender is handed in: it knows the collector, and this knows the order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable

import msgspec

from noetl.clock import Clock
from noetl.control.metrics import NOTHING, Meters
from noetl.engine.events import Event
from noetl.errors import NoetlError
from noetl.projections.spans import ENDS, Span, Spans, spans_of
from noetl.stores.contract import Store

WAITING_EVENTS_MAX = 50_000
EXECUTIONS_MAX = 10_000
GAP_EVENTS_MAX = 10_000  # of a log that another server wrote: read up to so many, else begin in the middle
BATCH_SPANS_MAX = 512
FLUSH_SECONDS = 1.0
SEND_SECONDS_MAX = 15.0
log = logging.getLogger("noetl.control.traces")

Send = Callable[[list[Span]], Awaitable[None]]


class Share(msgspec.Struct, frozen=True, gc=False):
    """What one commit added to one log."""

    execution_id: int
    first_seq: int
    events: list[Event]


class Traces:
    """See above."""

    def __init__(self, store: Store, send: Send, clock: Clock, meters: Meters = NOTHING) -> None:
        self.store = store
        self.send = send
        self.clock = clock
        self.meters = meters
        self._shares: deque[Share] = deque()
        self._waiting = 0  # events
        self._bell = asyncio.Event()
        self._folds: OrderedDict[int, Spans] = OrderedDict()  # of live executions, the latest last
        self._is_failing = False

    def told(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        """These events stand. Never waits."""
        if self._waiting + len(events) > WAITING_EVENTS_MAX:
            self.meters.traced(dropped=sum(isinstance(event, ENDS) for event in events))
            return
        self._shares.append(Share(execution_id, first_seq, events))
        self._waiting += len(events)
        self._bell.set()

    async def run(self) -> None:
        """Fold and send until cancelled."""
        while True:
            await self._bell.wait()
            await self.clock.sleep(FLUSH_SECONDS)
            self._bell.clear()
            await self.flush()

    async def flush(self) -> None:
        """Send all that is waiting now."""
        batch: list[Span] = []
        while self._shares:
            share = self._shares.popleft()
            self._waiting -= len(share.events)
            batch += await self._folded(share)
            while len(batch) >= BATCH_SPANS_MAX:
                await self._deliver(batch[:BATCH_SPANS_MAX])
                batch = batch[BATCH_SPANS_MAX:]
        if batch:
            await self._deliver(batch)

    async def _folded(self, share: Share) -> list[Span]:
        try:
            spans = await self._fold_of(share)
        except NoetlError as error:  # without its beginning there is no trace to put it into
            self._say_once("trace not read", error)
            self.meters.traced(dropped=sum(isinstance(event, ENDS) for event in share.events))
            return []
        found = list(spans_of(spans, share.first_seq, share.events))
        if spans.is_over:
            self._folds.pop(share.execution_id, None)
        return found

    async def _fold_of(self, share: Share) -> Spans:
        """The fold of a log up to where the share begins; what others wrote since is read, and not drawn again."""
        spans = self._folds.pop(share.execution_id, None) or Spans(share.execution_id)
        while (missing := share.first_seq - 1 - spans.seq) > 0:
            if spans.seq and (missing > GAP_EVENTS_MAX or not spans.trace_id):
                break
            wanted = missing if spans.seq else 1  # the first one says which trace it is
            page = await self.store.events(share.execution_id, spans.seq, wanted)
            if not page:
                break
            for seq, event in page:
                spans.apply(seq, event)
        self._folds[share.execution_id] = spans
        if len(self._folds) > EXECUTIONS_MAX:
            self._folds.popitem(last=False)
        return spans

    async def _deliver(self, batch: list[Span]) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS_MAX):
                await self.send(batch)
        except Exception as error:  # whatever a collector does, the server goes on
            self.meters.traced(dropped=len(batch))
            self._say_once("spans not sent", error)
        else:
            self.meters.traced(sent=len(batch))
            self._is_failing = False

    def _say_once(self, what: str, error: Exception) -> None:
        """Not for every batch: a collector may be gone for days."""
        if not self._is_failing:
            self._is_failing = True
            log.warning(what, extra={"action": what.replace(" ", "_"), "why": f"{type(error).__name__}: {error}"})
