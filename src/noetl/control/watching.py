"""The live view: what is committed is told to whoever listens, in order, each event once.

    commit here ─→ committed() ─┐
                                ├─→ Feed of the execution ─→ bounded buffer of each listener ─→ its stream
    commit of another server ───┘   (seen by looking at the heads of the logs, each LOOK_SECONDS)

A feed makes each event's document once, whoever listens; it exists as long as somebody does. A listener first reads
what came before from the store, at its own pace, and joins the feed where both are at the same event. One that is too
slow is let go: it comes back with the last event that it has. Nothing here decides or writes anything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from noetl.clock import Clock
from noetl.control.listening import LOOK_SECONDS, Item, Listener, Listeners, drained, encode
from noetl.control.reading import EVENTS_PER_READ
from noetl.control.status_feed import StatusFeed
from noetl.engine.events import Event, PlaybookProcessed, name_of
from noetl.errors import OperatorError
from noetl.ids import is_viewing
from noetl.projections.envelopes import Envelopes
from noetl.stores.contract import Store

PAGE_EVENTS = 500
BROKEN = "the log cannot be read: connect again"
log = logging.getLogger("noetl.control.watching")

Heads = Callable[[Sequence[int]], Awaitable[dict[int, int]]]  # where these logs end


class Feed:
    """The events of one execution that is listened to."""

    def __init__(self, store: Store, clock: Clock, names: Envelopes, seq: int) -> None:
        """`names` knows the runs that were under way after the event `seq`, from where it reads on."""
        self.execution_id = names.execution_id
        self.listeners: dict[Listener, None] = {}  # in the order they came
        self.users = 0
        self.seq = seq
        self.is_broken = False
        self.is_current = False  # it has read the log once, so what is committed follows on what it knows
        self.bell = asyncio.Event()
        self.moved = asyncio.Event()  # for those who wait to join
        self._store = store
        self._clock = clock
        self._envelopes = names

    def committed(self, first_seq: int, events: list[Event]) -> None:
        """Events of a commit in this process. Where they do not follow, another server's are between."""
        if not self.is_current or first_seq != self.seq + 1:
            self.bell.set()
            return
        for seq, event in enumerate(events, first_seq):
            self._take(seq, event)

    async def run(self) -> None:
        """Read whatever the log has beyond what is known, whenever the bell rings."""
        while True:
            self.bell.clear()
            try:
                await self._catch_up()
            except OperatorError as error:  # the store is away: those who listen hear nothing new meanwhile
                log.warning("cannot read a log", extra={"action": "feed_waits", "why": str(error)})
                await self._clock.sleep(LOOK_SECONDS)
                continue
            self.is_current = True
            self.moved.set()
            await self.bell.wait()

    async def _catch_up(self) -> None:
        while True:
            rows = await self._store.events(self.execution_id, self.seq, EVENTS_PER_READ)
            for seq, event in rows:
                self._take(seq, event)
            if len(rows) < EVENTS_PER_READ:
                return

    def ended(self, task: asyncio.Task[None]) -> None:
        """The reading has stopped. If nobody stopped it, those who listen must not wait for what never comes."""
        if task.cancelled():
            return
        log.error("a feed broke", exc_info=task.exception(), extra={"action": "feed_broke"})
        self.is_broken = True
        self.moved.set()
        for listener in self.listeners:
            listener.close(BROKEN)

    def _take(self, seq: int, event: Event) -> None:
        if seq != self.seq + 1:  # it came both ways: from the commit and from the log
            return
        self.seq = seq
        if self.listeners:
            item = item_of(self._envelopes, seq, event)
            for listener in self.listeners:
                listener.put(item)
        else:
            self._envelopes.remember(event)
        self.moved.set()


def item_of(envelopes: Envelopes, seq: int, event: Event) -> Item:
    is_last = isinstance(event, PlaybookProcessed)
    return Item(seq, name_of(event), encode(envelopes.envelope(seq, event)), is_last)


class Reader:
    """Reads a log for one listener, at that listener's pace."""

    def __init__(self, store: Store, names: Envelopes, after: int) -> None:
        self.seq = after  # of what was read last
        self._store = store
        self._envelopes = names

    @property
    def execution_id(self) -> int:
        return self._envelopes.execution_id

    def names(self) -> Envelopes:
        """What it knows, for whoever goes on from where it is."""
        made = Envelopes(self.execution_id)
        made.steps = dict(self._envelopes.steps)
        return made

    async def items(self) -> AsyncIterator[Item]:
        """What the log has beyond what was read."""
        while rows := await self._store.events(self._envelopes.execution_id, self.seq, PAGE_EVENTS):
            for seq, event in rows:
                self.seq = seq
                yield item_of(self._envelopes, seq, event)


async def names_at(store: Store, execution_id: int, after: int) -> Envelopes:
    """What makes the envelopes of the events after one, from the log."""
    made, seq = Envelopes(execution_id), 0
    while seq < after and (rows := await store.events(execution_id, seq, min(EVENTS_PER_READ, after - seq))):
        seq = rows[-1][0]
        for _, event in rows:
            made.remember(event)
    return made


class Watching:
    """All feeds of this process. `heads`: how to see what other servers wrote; None: there are no others."""

    def __init__(self, store: Store, clock: Clock, heads: Heads | None = None) -> None:
        self.store = store
        self.clock = clock
        self.listeners = Listeners()
        self.statuses = StatusFeed(store, clock, self.listeners)
        self._heads = heads
        self._feeds: dict[int, Feed] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    # --- told --------------------------------------------------------------------------------------------------------

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        """After each commit in this process, on the loop's thread. Does next to nothing where nobody listens."""
        if feed := self._feeds.get(execution_id):
            feed.committed(first_seq, events)
        self.statuses.committed(execution_id)

    async def run(self) -> None:
        """Look for what other servers wrote, until cancelled."""
        while True:
            await self.clock.sleep(LOOK_SECONDS)
            if self._heads is not None and self._feeds:
                try:
                    found = await self._heads(list(self._feeds))
                except OperatorError as error:
                    log.warning("cannot read the heads", extra={"action": "watching_waits", "why": str(error)})
                    continue
                for execution_id, head in found.items():
                    feed = self._feeds.get(execution_id)
                    if feed is not None and head > feed.seq:
                        feed.bell.set()

    def close(self) -> None:
        """The server ends: every stream too, so that its client goes to another."""
        self.listeners.close()

    # --- listening ---------------------------------------------------------------------------------------------------

    async def events(self, execution_id: int, after: int, names: Envelopes | None = None) -> AsyncIterator[Item | str]:
        """The events of an execution after one of them, then each that comes, until it has ended.

        `names` knows the runs that were under way there (`control.projected`); without it the log is read for them.
        A text is the last thing that comes: why no more does, though it has not ended.
        """
        row = await self.store.execution(execution_id)
        after = min(after, row.head if row else 0)  # a feed that began beyond the end would keep all others waiting
        reader = Reader(self.store, names or await names_at(self.store, execution_id, after), after)
        async for item in reader.items():
            yield item
            if item.is_last:
                return
        if is_viewing(execution_id):  # nobody adds to it
            return
        with self.listeners.joined() as listener, self._feed(reader) as feed:
            async for item in up_to(feed, reader):
                yield item
                if item.is_last:
                    return
            if feed.is_broken:
                yield BROKEN
                return
            feed.listeners[listener] = None
            try:
                async for told in drained(listener):
                    if isinstance(told, Item) and told.seq <= reader.seq:
                        continue  # this one read further in the log than the feed had
                    yield told
                    if isinstance(told, Item) and told.is_last:
                        return
            finally:
                del feed.listeners[listener]

    @contextmanager
    def _feed(self, reader: Reader) -> Iterator[Feed]:
        """The feed of an execution, as long as anybody needs it. A new one begins where its first reader is."""
        execution_id = reader.execution_id
        feed = self._feeds.get(execution_id)
        if feed is None:
            feed = self._feeds[execution_id] = Feed(self.store, self.clock, reader.names(), reader.seq)
            task = self._tasks[execution_id] = asyncio.get_running_loop().create_task(feed.run())
            task.add_done_callback(feed.ended)
        feed.users += 1
        try:
            yield feed
        finally:
            feed.users -= 1
            if not feed.users:
                del self._feeds[execution_id]
                self._tasks.pop(execution_id).cancel()


async def up_to(feed: Feed, reader: Reader) -> AsyncIterator[Item]:
    """From the log until the feed is at the same event; nothing waits between that and joining it."""
    while not feed.is_broken and (not feed.is_current or reader.seq < feed.seq):
        if not feed.is_current:
            feed.moved.clear()
            await feed.moved.wait()
            continue
        async for item in reader.items():
            yield item
