"""What is dear to fetch is fetched once, however many ask."""

import asyncio

import pytest

from noetl.keychain.kept import Fresh, Kept
from noetl.testing.clocks import ClockByHand


class Well:
    """Counts how often it was drawn from; gives when it is let, or fails."""

    def __init__(self, *, renew_seconds: float | None = None) -> None:
        self.count = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.fault: Exception | None = None
        self.renew_seconds = renew_seconds

    async def draw(self) -> Fresh[int]:
        self.count += 1
        number = self.count
        await self.gate.wait()
        if self.fault:
            raise self.fault
        return Fresh(value=number, use_seconds=100, renew_seconds=self.renew_seconds)


async def settle() -> None:
    """Let every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_value_is_fetched_once_and_again_after_its_end():
    clock, well = ClockByHand(), Well()
    kept = Kept(clock)

    values = []
    for seconds in (0, 99, 1, 99):
        await clock.sleep(seconds)
        values.append(await kept.get(b"a", well.draw))

    assert values == [1, 1, 2, 2]


async def test_two_hundred_who_ask_at_once_share_one_fetch():
    well = Well()
    kept = Kept(ClockByHand())

    values = await asyncio.gather(*(kept.get(b"a", well.draw) for _ in range(200)))

    assert values == [1] * 200
    assert well.count == 1


async def test_a_failure_is_told_to_all_who_wait_and_is_not_kept():
    well = Well()
    well.fault = LookupError("no")
    kept = Kept(ClockByHand())

    failures = await asyncio.gather(*(kept.get(b"a", well.draw) for _ in range(10)), return_exceptions=True)
    well.fault = None
    value = await kept.get(b"a", well.draw)

    assert failures == [well_fault for well_fault in failures if isinstance(well_fault, LookupError)]
    assert (len(failures), value) == (10, 2)


async def test_one_who_gives_up_waiting_does_not_end_the_fetch_of_the_others():
    well = Well()
    well.gate.clear()
    kept = Kept(ClockByHand())
    first, second = (asyncio.ensure_future(kept.get(b"a", well.draw)) for _ in range(2))
    await settle()

    first.cancel()
    await settle()
    well.gate.set()

    assert await second == 1
    assert first.cancelled()
    assert well.count == 1


async def test_near_its_end_a_value_is_renewed_while_the_old_one_serves():
    clock, well = ClockByHand(), Well(renew_seconds=80)
    kept = Kept(clock)
    await kept.get(b"a", well.draw)
    await clock.sleep(85)
    well.gate.clear()

    meanwhile = [await kept.get(b"a", well.draw) for _ in range(20)]
    await settle()
    well.gate.set()
    await settle()
    afterwards = await kept.get(b"a", well.draw)

    assert meanwhile == [1] * 20
    assert (afterwards, well.count) == (2, 2)


async def test_a_renewal_that_fails_leaves_the_old_value_and_is_not_tried_at_every_use():
    clock, well = ClockByHand(), Well(renew_seconds=80)
    kept = Kept(clock)
    await kept.get(b"a", well.draw)
    await clock.sleep(85)
    well.fault = LookupError("no")

    values = []
    for _ in range(20):
        values.append(await kept.get(b"a", well.draw))
        await settle()
    tried_at_once = well.count
    await clock.sleep(6)
    await kept.get(b"a", well.draw)
    await settle()

    assert values == [1] * 20
    assert (tried_at_once, well.count) == (2, 3)


async def test_what_was_dropped_is_fetched_anew():
    well = Well()
    kept = Kept(ClockByHand())
    await kept.get(b"a", well.draw)

    kept.drop(b"a")

    assert await kept.get(b"a", well.draw) == 2


async def test_no_more_than_its_bound_are_kept():
    well = Well()
    kept = Kept(ClockByHand(), kept_max=2)
    for key in (b"a", b"b", b"c"):
        await kept.get(key, well.draw)

    again = [await kept.get(key, well.draw) for key in (b"c", b"b", b"a")]

    assert again == [3, 2, 4]


async def test_closing_ends_what_is_under_way():
    well = Well()
    well.gate.clear()
    kept = Kept(ClockByHand())
    waiting = asyncio.ensure_future(kept.get(b"a", well.draw))
    await settle()

    await kept.close()

    with pytest.raises(asyncio.CancelledError):
        await waiting
