"""Schedulers of two servers over one PostgreSQL: what is due starts once, also when one of them dies in between."""

import asyncio
import random
from contextlib import suppress

import pytest

from noetl.control.requests import RunRequest
from noetl.errors import Unreachable
from noetl.starting.firing import Scheduler, decoded
from noetl.starting.schedule_state import ROOM
from noetl.starting.schedules import Schedules
from tests.integration.servers import HEAD, serving
from tests.starting.schedules import NOON, HandClock, document
from tests.starting.test_firing import Unlucky

pytestmark = pytest.mark.slow

PLAYBOOK = HEAD.format(name="trial") + "workflow: [{step: only, tool: {kind: noop}}]\n"
DUE_TIMES = 200
ROUNDS_MAX = 100


async def prepared(server, name, **given):
    """A playbook and a schedule for it, applied at noon."""
    clock = HandClock()
    await server.desk.register(RunRequest(data=PLAYBOOK.encode(), name="trial.yaml"))
    schedules = Schedules(server.store, clock, random.random)
    await schedules.apply(document(name=name, every_seconds=1, overlap="allow", **given))
    return clock


async def keys_of(server, name):
    rows = await server.store.executions(limit=1000)
    return sorted(row.request_key for row in rows if (row.request_key or "").startswith(f"schedule:{name}:"))


async def kept(server, name):
    return decoded(await server.store.record(ROOM, name))


async def test_two_servers_race_for_200_due_times_and_start_each_once(database_url, tmp_path):
    async with (
        serving(database_url, tmp_path, "one", is_working=False) as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        clock = await prepared(one, "race", catch_up="all", catch_up_max=1000)
        clock.seconds = NOON + DUE_TIMES + 0.5
        schedulers = [Scheduler(server.desk, server.store, clock, random.random) for server in (one, two, one)]
        for _ in range(ROUNDS_MAX):
            await asyncio.gather(*(scheduler.look() for scheduler in schedulers))
            if not (state := await kept(one, "race")).backlog and state.firing is None:
                break

        keys = await keys_of(two, "race")
        assert len(keys) == len(set(keys)) == DUE_TIMES
        assert (await kept(two, "race")).counts.started == DUE_TIMES


@pytest.mark.parametrize("writes", [0, 1, 2, 5])
async def test_a_server_that_dies_between_start_and_cursor_is_healed_by_another(database_url, tmp_path, writes):
    name = f"healed_{writes}"
    async with (
        serving(database_url, tmp_path, "one", is_working=False) as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        clock = await prepared(one, name, catch_up="all")
        clock.seconds = NOON + 5
        dying = Scheduler(one.desk, Unlucky(one.store, writes), clock, random.random)
        with suppress(Unreachable):
            await dying.look()
        for _ in range(3):
            await Scheduler(two.desk, two.store, clock, random.random).look()

        assert len(await keys_of(two, name)) == 5
        assert (await kept(two, name)).counts.started == 5
