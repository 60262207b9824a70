"""Counts by the hour: hours that are over are counted once, and the day moves on."""

import pytest

from noetl.control.tallies import HOURS, PLACES_MAX, Tallies
from noetl.stores.contract import CANCELLED, FAILED, SUCCESS, Batch
from noetl.stores.memory import MemoryStore
from noetl.stores.wanted import ANY_PATH, Paths
from noetl.testing.clocks import ClockByHand
from noetl.testing.logs import append, begin, started

HOUR = 3600.0
NOW = 500_000 * HOUR + 1800  # half past


class Counting(MemoryStore):
    """Remembers from when on it was asked to count."""

    def __init__(self):
        super().__init__()
        self.asked = []

    async def count_ended(self, since, paths=ANY_PATH):
        self.asked.append((NOW - since) // HOUR)
        return await super().count_ended(since, paths)


@pytest.fixture
def clock():
    return ClockByHand(NOW)


@pytest.fixture
def store():
    return Counting()


async def ended(store, at, status, path="a"):
    execution_id = await begin(store, [started(1)], path=path)
    await store.commit(Batch(appends=[append(execution_id, 2, [started(2)], status=status, ended_at=at)]))


async def found(tallies, paths=ANY_PATH):
    """How many hours ago, and what ended then."""
    hours = await tallies.day(paths)
    assert len(hours) == HOURS
    return {HOURS - 1 - place: hour.ended for place, hour in enumerate(hours) if hour.ended}


async def test_a_day_has_what_ended_in_each_of_its_hours(store, clock):
    for hours_ago, status in ((24, FAILED), (23, FAILED), (5, FAILED), (5, FAILED), (5, SUCCESS), (0, CANCELLED)):
        await ended(store, NOW - hours_ago * HOUR, status)

    tallies = Tallies(store, clock)

    assert await found(tallies) == {23: {FAILED: 1}, 5: {FAILED: 2, SUCCESS: 1}, 0: {CANCELLED: 1}}
    assert [hour.began_at % HOUR for hour in await tallies.day(ANY_PATH)] == [0.0] * HOURS


async def test_only_hours_that_are_not_over_are_counted_again(store, clock):
    tallies = Tallies(store, clock)
    await tallies.day(ANY_PATH)
    await ended(store, NOW, SUCCESS)

    again = await found(tallies)

    assert again == {0: {SUCCESS: 1}}
    assert store.asked == [23, 0]


async def test_an_hour_that_is_just_over_may_still_grow(store, clock):
    clock.seconds = NOW + HOUR / 2 + 60  # a minute into the next hour
    tallies = Tallies(store, clock)
    await tallies.day(ANY_PATH)
    await ended(store, NOW, SUCCESS)  # by another server, whose clock is behind

    assert await found(tallies) == {1: {SUCCESS: 1}}


async def test_the_day_moves_on(store, clock):
    await ended(store, NOW - 20 * HOUR, FAILED)
    await ended(store, NOW, SUCCESS)
    tallies = Tallies(store, clock)
    await tallies.day(ANY_PATH)

    clock.seconds = NOW + 12 * HOUR
    later = await found(tallies)
    clock.seconds = NOW + 36 * HOUR

    assert later == {12: {SUCCESS: 1}}
    assert await found(tallies) == {}


async def test_what_ended_by_a_clock_that_is_ahead_counts_as_now(store, clock):
    await ended(store, NOW, SUCCESS)
    await ended(store, NOW + HOUR, SUCCESS)

    assert await found(Tallies(store, clock)) == {0: {SUCCESS: 2}}


async def test_places_are_counted_apart_and_not_kept_without_end(store, clock):
    await ended(store, NOW, SUCCESS, "a/b")
    await ended(store, NOW, SUCCESS, "c")
    tallies = Tallies(store, clock)

    for number in range(2 * PLACES_MAX):
        await tallies.day(Paths(exact=(str(number),)))

    assert await found(tallies, Paths(prefixes=("a/",))) == {0: {SUCCESS: 1}}
    assert len(tallies._kept) == PLACES_MAX
