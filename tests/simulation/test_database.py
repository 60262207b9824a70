"""The database of a simulated world: what its faults leave behind, what it tells, and in which order it answers."""

import asyncio
import copy
import itertools

import msgspec
import pytest

from noetl.clock import SystemClock
from noetl.errors import DiskFull, Unreachable
from noetl.stores.contract import RUNNING, SUCCESS, Batch, Execution, HeadMoved, Snapshot
from noetl.stores.shared import ACCEPTED, FINAL, PROGRESS, QueueChanges, Revoked
from noetl.testing.clocks import ClockByHand, PutClock
from noetl.testing.logs import append, iteration, playbook, started
from noetl.testing.queued import LAPSED_SECONDS, OTHER, TTL_SECONDS, WORKER, claim, committed, done, fence, job, start
from noetl.testing.records_suite import token
from noetl.testing.simulator.database.database import Database
from noetl.testing.simulator.database.tables import TRANSACTIONS_KEPT
from tests.simulation.timed import AlarmClock, settled

FAR_AWAY = 9e9
STUCK_SECONDS = 5.0  # whatever takes so long waits for a lock that nobody gives back


@pytest.fixture
def clock():
    return AlarmClock()


@pytest.fixture
def database(clock):
    return Database(clock)


@pytest.fixture
def store(database):
    return database.client("server-1")


class Faults:
    """A line that breaks one call, before or after it is applied; `passed` is all that went over it."""

    def __init__(self, call="", phase="", error=None):
        self.broken = (call, phase)
        self.error = error or Unreachable("the line is broken")
        self.passed = []

    async def __call__(self, node, call, phase):
        self.passed.append((node, call, phase))
        if (call, phase) == self.broken:
            raise self.error


def copied(tables):
    """All that the tables hold, as it is now."""
    names = [name for name in vars(tables) if not name.startswith("_") and name != "number"]
    return {name: copy.deepcopy(getattr(tables, name)) for name in names}


# --- the line --------------------------------------------------------------------------------------------------------


async def test_every_call_passes_the_line_before_and_after_and_is_counted(database, store):
    database.line = line = Faults()

    await store.claim(WORKER, "default", [5], TTL_SECONDS)
    transaction = await store.transaction()
    await transaction.begin([], [])
    await transaction.rollback()

    calls = [(call, phase) for call in ("claim", "begin", "rollback") for phase in ("before", "after")]
    assert line.passed == [("server-1", *one) for one in calls]
    assert database.calls == 3


@pytest.mark.parametrize("error", [Unreachable("broken"), DiskFull("the database")], ids=["unreachable", "disk full"])
async def test_a_statement_that_fails_before_it_is_applied_changes_nothing(database, store, error):
    await start(store, (1, {}))
    before = copied(database.tables)
    database.line = Faults("claim", "before", error)

    with pytest.raises(type(error)):
        await claim(store, WORKER, 5)

    assert copied(database.tables) == before


async def test_a_statement_whose_answer_is_lost_stands(database, store):
    _, (key,) = await start(store, (1, {}))
    database.line = Faults("claim", "after")

    with pytest.raises(Unreachable):
        await claim(store, WORKER, 5)

    assert await store.holds(WORKER, key, 5)


@pytest.mark.parametrize("place", [("begin", "before"), ("begin", "after"), ("commit", "before")])
async def test_a_transaction_that_fails_before_its_commit_is_applied_leaves_nothing(database, store, place):
    execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
    before = copied(database.tables)
    failing, next_one = await store.transaction(), await store.transaction()
    batch = Batch(appends=[append(execution_id, 2, [done(key, 5)])])

    async def report(transaction):
        await transaction.begin([execution_id], [fence(key, 5, 1, FINAL)])
        await transaction.commit(batch, 8, QueueChanges())

    database.line = Faults(*place)
    with pytest.raises(Unreachable):
        await report(failing)
    left = copied(database.tables)
    database.line = Faults()
    async with asyncio.timeout(STUCK_SECONDS):
        await report(next_one)

    assert left == before
    assert database.tables.jobs == {}


async def test_a_commit_whose_answer_is_lost_stands_and_its_locks_are_free(database, store):
    execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
    transaction = await store.transaction()
    await transaction.begin([execution_id], [fence(key, 5, 1, FINAL)])
    database.line = Faults("commit", "after")

    with pytest.raises(Unreachable):
        await transaction.commit(Batch(appends=[append(execution_id, 2, [done(key, 5)])]), 8, QueueChanges())
    heads, _ = await transaction.begin([execution_id], [])

    assert (heads[execution_id].head, heads[execution_id].tag) == (2, 8)


async def test_a_rollback_that_cannot_be_told_is_one_all_the_same(database, store):
    execution_id, _ = await start(store)
    transaction = await store.transaction()
    await transaction.begin([execution_id], [])
    database.line = Faults("rollback", "before")

    await transaction.rollback()

    other = await store.transaction()
    assert execution_id in (await other.begin([execution_id], []))[0]


async def test_each_server_measures_how_far_the_clock_of_the_store_is_ahead_of_its_own(database, clock):
    fast = database.client("fast", clock=ClockByHand(clock.now() + 40.0))

    assert await fast.clock_ahead_seconds() == -40.0
    assert await database.client("exact").clock_ahead_seconds() == 0.0


async def test_a_clock_that_is_put_while_it_is_compared_changes_nothing():
    system = SystemClock()
    server = Database(system).client("server", clock=PutClock())

    assert await server.clock_ahead_seconds() == pytest.approx(system.now() - system.monotonic(), abs=5.0)


# --- what a commit tells ---------------------------------------------------------------------------------------------


async def test_a_commit_is_told_as_it_stands_before_anybody_else_comes_in(database, store):
    execution_id, (own, held) = await start(
        store, (1, {"lease": 5, "worker": WORKER}), (2, {"lease": 6, "worker": OTHER})
    )
    told = []
    database.on_commit = lambda one: told.append((one, database.tables.executions[execution_id]))
    transaction = await store.transaction()
    fences = [fence(own, 5, 1, PROGRESS)]
    await transaction.begin([execution_id], fences)
    marking = asyncio.ensure_future(database.client("server-2").following([execution_id], FAR_AWAY))
    await settled()

    batch, changes = Batch(appends=[append(execution_id, 2, [started(2)])]), QueueChanges(gone=[held])
    await transaction.commit(batch, 8, changes)
    await marking

    ((one, row),) = told
    assert (one.node, one.batch, one.tag, one.changes) == ("server-1", batch, 8, changes)
    assert (one.fences, one.expiries, one.words) == (fences, (), {(own, 5): ACCEPTED})
    assert one.revoked == [Revoked(key=held, lease=6, worker=OTHER)]
    assert (row.execution.head, row.follow_until) == (2, None)


async def test_what_does_not_stand_is_not_told(database, store):
    execution_id, _ = await start(store)
    told = []
    database.on_commit = told.append
    transaction = await store.transaction()

    await transaction.begin([execution_id], [])
    await transaction.rollback()
    await transaction.begin([execution_id], [])
    with pytest.raises(HeadMoved):
        await transaction.commit(Batch(appends=[append(execution_id, 7, [started(2)])]), 8, QueueChanges())

    assert told == []


# --- going back ------------------------------------------------------------------------------------------------------


async def test_history_goes_back_by_as_many_transactions_as_are_told_whatever_they_wrote(database, store, clock):
    execution_id, (key, local) = await start(store, (1, {}), (4, {"iter": 0, "group": 4}))
    await store.put_record(token("ci"))
    writes = [
        lambda: claim(store, WORKER, 5, 6),
        lambda: store.extend(WORKER, [(key, 5)], LAPSED_SECONDS),
        lambda: store.expire(10, 5),
        lambda: store.reserve_ids(7),
        lambda: store.register(playbook("a1")),
        lambda: store.put_record(token("ci", b"2", version=1)),
        lambda: store.remove_record("token", "ci"),
        lambda: committed(
            store,
            Batch(
                executions=[Execution(id=99, sha="5ha", path="a", version=1, request_key="request")],
                appends=[append(execution_id, 2, [iteration(0), done(local, 6)]), append(99, 1, [started(1)])],
                snapshots=[Snapshot(execution_id=execution_id, seq=2, engine=1, body=b"state")],
            ),
            fences=[fence(local, 6, 1, FINAL)],
            changes=QueueChanges(gone=[key], added=[job((execution_id, 9, -1))]),
        ),
    ]
    states = [copied(database.tables)]
    for write in writes:
        await write()
        states.append(copied(database.tables))

    found = []
    for _ in writes:
        found.append(copied(database.tables))
        database.rewind(1)

    assert len(writes) == TRANSACTIONS_KEPT
    assert [*found, copied(database.tables)] == states[::-1]
    assert all(one != other for one, other in itertools.pairwise(states))


async def test_several_transactions_are_taken_back_at_once(database, store):
    before = copied(database.tables)
    for _ in range(3):
        await start(store)

    database.rewind(6)

    assert copied(database.tables) == before


async def test_the_numbers_of_what_stands_no_more_are_told_and_not_given_again(database, store):
    execution_id, _ = await start(store)
    numbers = []
    database.on_commit = lambda one: numbers.append(one.number)
    for seq in (2, 3, 4):
        await committed(store, Batch(appends=[append(execution_id, seq, [started(seq)])]), tag=seq)

    standing = database.rewind(2)
    await committed(store, Batch(appends=[append(execution_id, 3, [started(7)])]), tag=7)

    assert [number > standing for number in numbers] == [False, True, True, True]
    assert len(set(numbers)) == 4
    assert [await store.tag_at(execution_id, seq) for seq in (2, 3, 4)] == [2, 7, None]


async def test_an_id_whose_reservation_was_lost_is_given_again(database, store):
    first = await store.reserve_ids(3)

    database.rewind(1)

    assert await store.reserve_ids(3) == first


async def test_what_changes_nothing_is_no_transaction_to_take_back(database, store):
    execution_id, _ = await start(store)
    await claim(store, WORKER, 5)
    await store.expire(10, 5)
    await store.followed([execution_id], 5.0)

    database.rewind(1)

    assert database.tables.executions == {}


async def test_going_back_ends_whatever_is_open(database, store):
    execution_id, _ = await start(store)
    holder, waiter = await store.transaction(), await store.transaction()
    await holder.begin([execution_id], [])
    waiting = asyncio.ensure_future(waiter.begin([execution_id], []))
    await settled()

    database.rewind(0)

    with pytest.raises(Unreachable):
        await waiting
    with pytest.raises(Unreachable):
        await holder.commit(Batch(appends=[append(execution_id, 2, [started(2)])]), 8, QueueChanges())
    assert len(database.tables.logs[execution_id]) == 1


# --- one order -------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[(1, 2, 3), (3, 1, 2), (2, 3, 1)], ids=str)
async def mixed(request, store):
    """Three callers with a job each, alike but for their ids, written in some order; and a child of each."""
    for number in request.param:
        rows = [
            Execution(id=number, sha="5ha", path="a", version=1, created_at=1.0),
            Execution(id=number + 10, sha="5ha", path="a", version=1, parent_id=number, parent_key=f"call {number}"),
        ]
        rows[1] = msgspec.structs.replace(rows[1], created_at=1.0)
        appends = [append(row.id, 1, [started(1)], deadline_at=5.0, follow_until=5.0) for row in rows]
        jobs = [job((number, run, -1), pool=f"pool {number}" if run == 2 else "default") for run in (2, 1)]
        await committed(store, Batch(executions=rows, appends=appends), changes=QueueChanges(added=jobs))
        await store.put_record(token(str(number), due_at=5.0))
        await store.register(playbook("5ha", path=str(number)))
    return store


async def test_lists_come_in_one_order_whatever_order_things_were_written_in(mixed):
    ids = [1, 2, 3, 11, 12, 13]

    assert await mixed.overdue(10) == ids
    assert [row.id for row in await mixed.abandoned(10)] == ids
    assert [row.id for row in await mixed.executions()] == ids[::-1]
    assert await mixed.behind(10) == [(one, 0) for one in ids]
    assert await mixed.orphans(10, 1.0) == [11, 12, 13]
    assert list(await mixed.heads(ids[::-1])) == ids
    assert [pool.pool for pool in await mixed.pools()] == ["default", "pool 1", "pool 2", "pool 3"]
    assert [row.key for row in await mixed.jobs(2)] == [(2, 1, -1), (2, 2, -1)]
    assert [one.name for one in await mixed.records("token")] == ["1", "2", "3"]
    assert [one.name for one in await mixed.due_records("token", 9.0)] == ["1", "2", "3"]
    assert [entry.path for entry in await mixed.entries()] == ["1", "2", "3"]
    assert (await mixed.entry_by_sha("5ha")).path == "1"
    assert [row.id for row in await mixed.take_over(10, FAR_AWAY)] == ids


async def test_executions_that_nothing_moves_are_found_in_one_order(mixed):
    await mixed.followed([13, 11, 12], 5.0)

    assert await mixed.stranded(10, 1.0) == [11, 12, 13]


async def test_jobs_that_are_alike_go_by_their_keys(mixed):
    claimed = await claim(mixed, WORKER, 5, 6, 7, ttl=LAPSED_SECONDS)
    held = [(one.key, one.lease) for one in claimed]
    gone = await mixed.extend(OTHER, held[::-1], TTL_SECONDS)
    _, lost = await mixed.expire(10, 1)

    keys = [(number, 1, -1) for number in (1, 2, 3)]
    assert [one.key for one in claimed] == keys
    assert gone == keys[::-1]  # as they were asked for
    assert [one.key for one in lost] == keys


async def test_words_come_in_the_order_of_the_reports(mixed):
    transaction = await mixed.transaction()
    fences = [fence((number, 1, -1), 9, 1, PROGRESS) for number in (3, 1, 2)]

    _, words = await transaction.begin([1, 2, 3], fences)

    assert list(words) == [(one.key, one.lease) for one in fences]


async def test_children_that_ended_unheard_are_found_in_one_order(mixed):
    for number in (3, 1, 2):
        one = append(number + 10, 2, [started(2)], status=SUCCESS, ended_at=2.0)
        waiting = job((number, 3, -1), child_key=f"call {number}")
        await committed(mixed, Batch(appends=[one]), changes=QueueChanges(added=[waiting]))

    assert [row.id for row in await mixed.unheard(10, 1.0)] == [11, 12, 13]
    assert {row.status for row in await mixed.executions() if row.id < 10} == {RUNNING}
