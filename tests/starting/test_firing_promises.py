"""Whatever is due, however long nobody looks, and wherever a server dies: each time the policy asks for starts once.

A ledger stands for everything behind the desk, so that thousands of histories fit into seconds. The servers are the
real ones, over the real records of a store in memory; what must come out is worked out again from the words of the
policy, by going through every due time.
"""

import asyncio
from collections import Counter
from contextlib import suppress
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.errors import Unreachable
from noetl.starting.firing import Scheduler, decoded
from noetl.starting.firing_plan import ON_TIME_SECONDS
from noetl.starting.firing_times import between, times_of
from noetl.starting.schedule_state import ROOM, request_key
from noetl.starting.schedules import Schedules
from noetl.stores.memory import MemoryStore
from tests.starting.schedules import NOON, HandClock, document

pytestmark = pytest.mark.slow

BEFORE_PLAN, BEFORE_START, AFTER_START, NOWHERE = range(4)


class Ledger:
    """What was asked for, by key. Everything that was started has ended, or lives until it is told to end."""

    def __init__(self):
        self.store = self
        self.asked = Counter()
        self.ids = {}
        self.live = set()
        self.is_dying = False

    async def execution_by_request(self, key):
        return SimpleNamespace(id=self.ids[key]) if key in self.ids else None

    async def execution(self, execution_id):
        return SimpleNamespace(status="running" if execution_id in self.live else "success")

    async def start(self, request):
        if self.is_dying:
            raise Unreachable("the server dies before it could ask")
        self.asked[request.request_key] += 1
        self.ids[request.request_key] = len(self.ids) + 1
        self.live.add(len(self.ids))
        return SimpleNamespace(execution_id=len(self.ids), is_new=True)

    async def cancel(self, execution_id, reason):
        self.live.discard(execution_id)


class Writes:
    """The records of a server that dies at its first or its second write."""

    def __init__(self, records, left):
        self._records = records
        self._left = left

    def __getattr__(self, name):
        return getattr(self._records, name)

    async def put_record(self, record):
        self._left -= 1
        if self._left < 0:
            raise Unreachable("the server dies before it could write")
        return await self._records.put_record(record)


class World:
    """One schedule, several servers that come and go, and a clock."""

    def __init__(self, schedule):
        self.document = schedule
        self.ledger = Ledger()
        self.store = MemoryStore()
        self.clock = HandClock()

    async def apply(self):
        await Schedules(self.store, self.clock, lambda: 0.0).apply(self.document)

    async def look(self, dies=NOWHERE):
        """A new server looks, and dies where it is told to."""
        self.ledger.is_dying = dies == BEFORE_START
        left = {BEFORE_PLAN: 0, AFTER_START: 1}.get(dies, 10_000)
        with suppress(Unreachable):
            await Scheduler(self.ledger, Writes(self.store, left), self.clock, lambda: 0.0).look()
        self.ledger.is_dying = False

    async def kept(self):
        return decoded(await self.store.record(ROOM, self.document.name))


CRONS = st.sampled_from(
    ["* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "*/15 1-3 * * *", "0 0 * * MON", "59 23 L * *"]
)
TIMINGS = st.one_of(
    st.builds(lambda cron: {"cron": cron, "timezone": "Europe/Berlin"}, CRONS),
    st.builds(lambda seconds: {"every_seconds": seconds}, st.sampled_from([1, 7, 60, 3600])),
)
POLICIES = st.one_of(
    st.sampled_from([{"catch_up": "none"}, {"catch_up": "last"}]),
    st.builds(lambda most: {"catch_up": "all", "catch_up_max": most}, st.integers(1, 20)),
)
GAPS = st.one_of(st.integers(0, 30), st.integers(30, 4000), st.integers(4000, 40_000))
DEATHS = st.sampled_from([BEFORE_PLAN, BEFORE_START, AFTER_START, NOWHERE, NOWHERE])
HISTORIES = st.lists(st.tuples(GAPS, DEATHS), min_size=1, max_size=12)


def asked_for(schedule, history):
    """The due times that the policy asks for, by going through all of them."""
    times = times_of(schedule)
    wanted, seen, now = [], NOON, NOON
    for gap, dies in history:
        now += gap
        if dies == BEFORE_PLAN:
            continue  # nobody looked
        come = list(between(times, seen + 1, now))
        on_time = [due for due in come if due >= now - ON_TIME_SECONDS]
        late = come[: len(come) - len(on_time)]
        if schedule.catch_up == "all":
            wanted += late[-schedule.catch_up_max :]
        elif schedule.catch_up == "last" and not on_time:
            wanted += late[-1:]
        wanted += on_time
        seen = now
    return wanted


async def lived(schedule, history):
    world = World(schedule)
    await world.apply()
    for gap, dies in history:
        world.clock.seconds += gap
        await world.look(dies)
        await world.look(NOWHERE if dies != BEFORE_PLAN else BEFORE_PLAN)
    return world


@settings(max_examples=300, deadline=None)
@given(TIMINGS, POLICIES, HISTORIES)
def test_each_time_that_the_policy_asks_for_starts_exactly_once(timing, policy, history):
    schedule = document(overlap="allow", **timing, **policy)

    world = asyncio.run(lived(schedule, [*history, (0, NOWHERE)]))

    wanted = asked_for(schedule, [*history, (0, NOWHERE)])
    assert world.ledger.asked == {request_key("pulse", due): 1 for due in wanted}
    assert asyncio.run(world.kept()).counts.started == len(wanted)


@settings(max_examples=150, deadline=None)
@given(TIMINGS, POLICIES, HISTORIES, st.sampled_from(["skip", "queue", "cancel"]), st.data())
def test_never_do_two_live_at_once_and_nothing_is_started_twice(timing, policy, history, overlap, data):
    schedule = document(overlap=overlap, **timing, **policy)

    async def story():
        world = World(schedule)
        await world.apply()
        for gap, dies in history:
            world.clock.seconds += gap
            await world.look(dies)
            assert len(world.ledger.live) <= 1
            if data.draw(st.booleans()):
                world.ledger.live.clear()
        return world

    world = asyncio.run(story())

    assert set(world.ledger.asked.values()) <= {1}
    kept = asyncio.run(world.kept())
    assert kept.counts.started <= len(world.ledger.ids) <= kept.counts.started + 1  # the last may have died unwritten


@settings(max_examples=100, deadline=None)
@given(TIMINGS, st.lists(st.integers(-100_000, 100_000), min_size=2, max_size=12))
def test_a_clock_that_jumps_starts_nothing_twice(timing, jumps):
    schedule = document(overlap="allow", **timing)

    async def story():
        world = World(schedule)
        await world.apply()
        for jump in jumps:
            world.clock.seconds += jump
            await world.look()
        return world

    world = asyncio.run(story())

    assert set(world.ledger.asked.values()) <= {1}
