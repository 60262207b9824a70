"""Execution ids: never the same twice, and where servers share a store, in the order in which they were asked for."""

import asyncio

from noetl.control.numbering import Numbering, PromptNumbering
from noetl.stores.memory import MemoryStore


class CountingStore(MemoryStore):
    trips = 0

    async def reserve_ids(self, count: int) -> int:
        self.trips += 1
        await asyncio.sleep(0)
        return await super().reserve_ids(count)


async def test_ids_of_two_servers_never_meet() -> None:
    store = MemoryStore()
    sources = [Numbering(store), Numbering(store, 16), PromptNumbering(store)]

    ids = await asyncio.gather(*(source.new_id() for source in sources for _ in range(500)))

    assert len(set(ids)) == len(ids)


async def test_a_later_start_on_another_server_has_a_higher_id() -> None:
    store = MemoryStore()
    one, other = PromptNumbering(store), PromptNumbering(store)

    ids = [await source.new_id() for source in (one, other) * 5]

    assert ids == sorted(ids)


async def test_those_who_ask_at_once_share_a_trip_to_the_store() -> None:
    store = CountingStore()
    numbering = PromptNumbering(store)

    ids = await asyncio.gather(*(numbering.new_id() for _ in range(100)))

    assert len(set(ids)) == 100
    assert store.trips <= 2  # of the first, and of all who came while it was under way


async def test_an_id_that_nobody_took_is_not_handed_out_later() -> None:
    store = MemoryStore()
    numbering = PromptNumbering(store)
    asking = [asyncio.ensure_future(numbering.new_id()) for _ in range(3)]
    await asyncio.sleep(0)
    asking[1].cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    between = await store.reserve_ids(1)

    assert await numbering.new_id() > between
