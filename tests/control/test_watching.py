"""The live view by itself: other servers' commits, slow listeners, many listeners."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from noetl.clock import SystemClock
from noetl.control import listening
from noetl.control.listening import Item
from noetl.control.status_feed import ROWS_MAX
from noetl.control.watching import Watching
from noetl.engine.events import Event, PlaybookProcessed, SignalReceived
from noetl.stores.contract import Append, Batch, Execution
from noetl.stores.memory import MemoryStore
from noetl.testing.logs import append, begin, started

EXECUTION = 7


def events(count: int) -> list[Event]:
    return [SignalReceived(ts=float(number), patches=[]) for number in range(count)]


class Noting(MemoryStore):
    """A store that notes each reading of a log."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[int] = []

    async def events(self, execution_id: int, after: int = 0, limit: int = 1000) -> list[tuple[int, Event]]:
        self.reads.append(after)
        return await super().events(execution_id, after, limit)


class Log:
    """One execution's log, and a live view over its store."""

    def __init__(self, has_others: bool = False) -> None:
        self.store = Noting()
        self.head = 0
        self.watching = Watching(self.store, SystemClock(), self._heads if has_others else None)

    async def _heads(self, ids) -> dict[int, int]:
        return {EXECUTION: self.head}

    async def begin(self) -> None:
        await self.store.commit(Batch(executions=[Execution(id=EXECUTION, sha="s", path="a", version=1)]))

    async def append(self, added: list[Event], *, is_here: bool = True) -> None:
        """A commit, of this server or of another."""
        first = self.head + 1
        append = Append(execution_id=EXECUTION, first_seq=first, events=added, status="running")
        await self.store.commit(Batch(appends=[append]))
        self.head += len(added)
        if is_here:
            self.watching.committed(EXECUTION, first, added)

    async def end(self, *, is_here: bool = True) -> None:
        await self.append([PlaybookProcessed(ts=0.0, result="success")], is_here=is_here)

    async def told(self, after: int = 0) -> list[int]:
        return [item.seq async for item in self.watching.events(EXECUTION, after) if isinstance(item, Item)]


@asynccontextmanager
async def log_of(count: int, has_others: bool = False) -> AsyncIterator[Log]:
    log = Log(has_others)
    await log.begin()
    await log.append(events(count))
    looking = asyncio.create_task(log.watching.run())
    try:
        yield log
    finally:
        looking.cancel()


async def until_joined(log: Log, count: int = 1) -> None:
    """Until so many listen to the feed."""
    while sum(len(feed.listeners) for feed in log.watching._feeds.values()) < count:
        await asyncio.sleep(0)


@pytest.mark.parametrize("after", [0, 3, 2_000, 3_000])
async def test_a_listener_gets_each_event_once_wherever_it_begins(after):
    async with log_of(3_000) as log:
        telling = asyncio.create_task(log.told(after))
        await until_joined(log)
        await log.append(events(10))
        await log.end()

        assert await telling == list(range(after + 1, 3_012))


async def test_commits_that_fall_into_the_catching_up_are_neither_lost_nor_doubled():
    async with log_of(20_000) as log:
        telling = [asyncio.create_task(log.told(after)) for after in (0, 7_777, 19_999)]
        for _ in range(50):
            await log.append(events(3))
            await asyncio.sleep(0)
        await log.end()

        for told in await asyncio.gather(*telling):
            assert told[-1] == log.head
            assert all(second == first + 1 for first, second in pairwise(told))


async def test_what_another_server_commits_is_seen_by_looking():
    async with log_of(5, has_others=True) as log:
        telling = asyncio.create_task(log.told())
        await until_joined(log)
        await log.append(events(4), is_here=False)
        await log.append(events(1))  # here, after what this server has not seen yet
        await log.end(is_here=False)

        assert await asyncio.wait_for(telling, 5) == list(range(1, 12))


async def test_a_listener_that_does_not_read_is_let_go_and_the_others_are_not_held_up():
    async with log_of(1) as log:
        slow = log.watching.events(EXECUTION, 0)
        await anext(slow)
        joining = asyncio.create_task(anext(slow))
        quick = asyncio.create_task(log.told())
        await until_joined(log, 2)

        for _ in range(6):
            await log.append(events(listening.BUFFER_ITEMS_MAX // 2))
            await asyncio.sleep(0)
        await log.end()
        rest = [await joining, *[item async for item in slow]]

        assert (await quick)[-1] == log.head
        assert rest[-1] == listening.SLOW
        assert len(rest) <= 2 * listening.BUFFER_ITEMS_MAX + 2  # what was in its hands, what was in its buffer


async def test_a_thousand_listeners_share_one_reading():
    async with log_of(10) as log:
        telling = [asyncio.create_task(log.told(10)) for _ in range(1_000)]
        await until_joined(log, 1_000)

        log.store.reads.clear()
        for _ in range(20):
            await log.append(events(5))
        await log.end()

        assert {len(told) for told in await asyncio.gather(*telling)} == {101}
        assert log.store.reads == []


async def test_nothing_is_left_when_the_last_listener_goes():
    async with log_of(3) as log:
        told = log.watching.events(EXECUTION, 0)
        for _ in range(3):
            await anext(told)
        waiting = asyncio.create_task(anext(told))
        await until_joined(log)

        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await told.aclose()

        assert not log.watching._feeds
        assert not log.watching._tasks


# --- the list --------------------------------------------------------------------------------------------------------


async def test_an_execution_that_is_not_among_the_newest_is_told_when_another_server_ends_it():
    store, clock = MemoryStore(), SystemClock()
    old = await begin(store, [started(1)])
    for _ in range(ROWS_MAX + 10):
        await begin(store, [], status="success")
    watching = Watching(store, clock)

    async with watching.statuses.heard() as listener:
        end = append(old, 2, [started(2)], status="failed", ended_at=clock.now())
        await store.commit(Batch(appends=[end]))  # and nobody is told
        told = await asyncio.wait_for(listener.take(), 10)

    assert [json.loads(item.data)["execution_id"] for item in told] == [str(old)]
    assert json.loads(told[0].data)["status"] == "failed"


async def test_whoever_only_hears_changes_is_not_told_what_was_there():
    store = MemoryStore()
    for _ in range(5):
        await begin(store, [])
    watching = Watching(store, SystemClock())

    async with watching.statuses.heard() as listener:
        new = await begin(store, [])
        watching.committed(new, 1, [])
        told = await asyncio.wait_for(listener.take(), 10)

    assert [json.loads(item.data)["execution_id"] for item in told] == [str(new)]
