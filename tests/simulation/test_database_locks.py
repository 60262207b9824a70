"""Who waits for whom in the database of a simulated world, and what becomes of those that wait."""

import asyncio

import pytest

from noetl.errors import Unreachable
from noetl.stores.contract import Batch
from noetl.stores.shared import ACCEPTED, FINAL, PROGRESS, QueueChanges
from noetl.testing.logs import append, started
from noetl.testing.queued import WORKER, fence, start
from noetl.testing.simulator.database.database import IDLE_SECONDS_MAX, LOCK_SECONDS_MAX, Database
from tests.simulation.timed import AlarmClock, settled

FAR_AWAY = 9e9


@pytest.fixture
def clock():
    return AlarmClock()


@pytest.fixture
def database(clock):
    return Database(clock)


class Servers:
    """Several servers, each of which wants the same execution; `got` says in which order they have it."""

    def __init__(self, database, execution_id):
        self.database = database
        self.execution_id = execution_id
        self.got = []
        self.transactions = {}
        self.tasks = {}

    async def want(self, *names):
        for name in names:
            self.transactions[name] = await self.database.client(name).transaction()
            self.tasks[name] = asyncio.ensure_future(self._begin(name))
            await settled()

    async def _begin(self, name):
        await self.transactions[name].begin([self.execution_id], [])
        self.got.append(name)

    async def give_back(self, *names):
        for name in names:
            await self.transactions[name].rollback()
            await settled()


@pytest.fixture
async def servers(database):
    execution_id, _ = await start(database.client("setup"))
    return Servers(database, execution_id)


async def test_those_who_wait_for_an_execution_get_it_in_the_order_in_which_they_came(servers):
    await servers.want("d", "a", "c", "b")
    before = list(servers.got)

    await servers.give_back("d", "a", "c", "b")

    assert before == ["d"]
    assert servers.got == ["d", "a", "c", "b"]


async def test_executions_of_other_transactions_are_not_waited_for(database, servers):
    other, _ = await start(database.client("setup"))
    await servers.want("a")
    transaction = await database.client("b").transaction()

    heads, _ = await transaction.begin([other, other + 1], [])

    assert list(heads) == [other]


async def test_whoever_waits_too_long_for_a_lock_is_refused_and_out_of_the_way(clock, servers):
    await servers.want("a", "b", "c")
    await servers.transactions["a"].commit(Batch(), 1, QueueChanges())
    await settled()

    await clock.move(LOCK_SECONDS_MAX - 0.1)
    early = servers.tasks["c"].done()
    await clock.move(0.1)
    await servers.give_back("b")
    await servers.want("d")

    assert not early
    with pytest.raises(Unreachable):
        await servers.tasks["c"]
    assert servers.got == ["a", "b", "d"]


async def test_a_transaction_of_which_nothing_is_heard_is_ended(database, clock, servers):
    await servers.want("a")
    await clock.move(IDLE_SECONDS_MAX - 1.0)
    await servers.want("b")

    await clock.move(1.0)

    assert servers.got == ["a", "b"]
    with pytest.raises(Unreachable):
        await servers.transactions["a"].commit(
            Batch(appends=[append(servers.execution_id, 2, [started(2)])]), 8, QueueChanges()
        )
    assert len(database.tables.logs[servers.execution_id]) == 1


async def test_a_transaction_that_was_silent_for_too_long_is_over_even_if_nobody_waited(clock, servers):
    await servers.want("a")

    await clock.move(IDLE_SECONDS_MAX + 1.0)

    with pytest.raises(Unreachable):
        await servers.transactions["a"].commit(Batch(), 8, QueueChanges())
    await servers.want("a")
    assert servers.got == ["a", "a"]


async def test_what_a_killed_process_had_open_is_rolled_back_and_the_next_goes_on(database):
    store = database.client("setup")
    execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
    killed, alive = await database.client("a").transaction(), await database.client("b").transaction()
    await killed.begin([execution_id], [fence(key, 5, 1, FINAL)])
    waiting = asyncio.ensure_future(alive.begin([execution_id], [fence(key, 5, 1, PROGRESS)]))
    await settled()

    database.drop("a")
    _, words = await waiting

    assert words == {(key, 5): ACCEPTED}
    assert await store.holds(WORKER, key, 5)
    with pytest.raises(Unreachable):
        await killed.commit(Batch(), 1, QueueChanges())


async def test_a_killed_process_leaves_its_place_to_whoever_came_after_it(database, servers):
    await servers.want("a", "b", "c")

    database.drop("b")
    await servers.give_back("a")

    assert servers.got == ["a", "c"]
    with pytest.raises(Unreachable):
        await servers.tasks["b"]


async def test_a_killed_process_does_nothing_more_by_the_end_of_its_own_transactions(database, servers):
    await servers.want("a")
    marking = asyncio.ensure_future(database.client("a").following([servers.execution_id], FAR_AWAY))
    await settled()

    database.drop("a")

    assert database.tables.executions[servers.execution_id].follow_until is None
    with pytest.raises(Unreachable):
        await marking


async def test_whoever_gives_up_waiting_leaves_its_place(servers):
    await servers.want("a", "b", "c")

    servers.tasks["b"].cancel()
    await settled()
    await servers.give_back("a")

    assert servers.got == ["a", "c"]


async def test_a_stopped_database_ends_whatever_is_open(database, servers):
    await servers.want("a", "b")

    database.stop()
    await settled()

    with pytest.raises(Unreachable):
        await servers.tasks["b"]
    with pytest.raises(Unreachable):
        await servers.transactions["a"].commit(Batch(), 1, QueueChanges())


@pytest.mark.parametrize("call", ["following", "followed", "advance", "set_deadline", "commit"])
async def test_a_statement_waits_for_the_execution_that_a_pump_has(database, servers, call):
    store = database.client("b")
    one = servers.execution_id
    await store.following([one], 5.0)
    calls = {
        "following": lambda: store.following([one], FAR_AWAY),
        "followed": lambda: store.followed([one], 5.0),
        "advance": lambda: store.advance([(one, 1)]),
        "set_deadline": lambda: store.set_deadline(one, 5.0, 1),
        "commit": lambda: store.commit(Batch(appends=[append(one, 2, [started(2)])])),
    }
    await servers.want("a")
    before = database.tables.executions[one]

    asked = asyncio.ensure_future(calls[call]())
    await settled()
    meanwhile = database.tables.executions[one]
    await servers.give_back("a")
    await asked

    assert meanwhile == before
    assert database.tables.executions[one] != before


async def test_a_statement_does_not_wait_for_an_execution_that_it_does_not_mean(database, servers):
    store = database.client("b")
    await store.following([servers.execution_id], 5.0)
    await servers.want("a")

    asked = asyncio.ensure_future(store.followed([servers.execution_id], 4.0))
    await settled()

    assert asked.done()


async def test_what_waits_for_a_lock_is_done_when_it_is_free_whatever_its_client_does(database, servers):
    await servers.want("a")
    marking = asyncio.ensure_future(database.client("b").following([servers.execution_id], FAR_AWAY))
    await settled()

    await servers.transactions["a"].rollback()
    marked = database.tables.executions[servers.execution_id].follow_until
    has_heard = marking.done()
    await marking

    assert (marked, has_heard) == (FAR_AWAY, False)


async def test_a_mark_is_judged_by_the_row_that_the_pump_left(database, servers):
    store = database.client("b")
    one = servers.execution_id
    await servers.want("a")
    stale = asyncio.ensure_future(store.set_deadline(one, 5.0, 1))
    await settled()

    batch = Batch(appends=[append(one, 2, [started(2)])])
    await servers.transactions["a"].commit(batch, 8, QueueChanges())
    await stale

    assert database.tables.executions[one].deadline_at is None


async def test_nobody_takes_an_execution_over_that_a_pump_has(database, servers):
    store = database.client("b")
    await store.following([servers.execution_id], 5.0)
    await servers.want("a")

    meanwhile = await store.take_over(10, FAR_AWAY)
    await servers.give_back("a")
    taken = await store.take_over(10, FAR_AWAY)

    assert meanwhile == []
    assert [row.id for row in taken] == [servers.execution_id]
