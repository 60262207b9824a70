"""kind: postgres against a real server: connections are shared, clean, bounded, and replaced when they break."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack

import pytest

from noetl.clock import SystemClock
from noetl.testing.hands import call, hands
from noetl.testing.services import running_postgres
from noetl.tools import postgres, postgres_pools
from noetl.tools.postgres_database import Database
from noetl.tools.postgres_pools import Pools
from tests.integration.postgres_parts import backends, bench, seen, sql


@pytest.fixture
async def db(database_url):
    async with bench(database_url) as made:
        yield made


async def test_tasks_of_one_credential_use_one_connection_after_another(db, database_url):
    found = {await db.value("pg_backend_pid()") for _ in range(5)}

    assert found == backends(database_url)
    assert len(found) == 1


async def test_twenty_tasks_at_once_share_no_more_than_the_pool_has(db, database_url):
    outputs = await asyncio.gather(
        *(
            db.output(command="SELECT pg_backend_pid() AS pid, pg_sleep(0.02)", spec={"pool": {"max": 3}})
            for _ in range(20)
        )
    )

    pids = [output.data[0]["pid"] for output in outputs]
    assert len(pids) == 20
    assert len(set(pids)) <= 3
    assert len(backends(database_url)) <= 3


LEFT_BEHIND = {
    "SET work_mem = '123MB'": ("current_setting('work_mem')", "4MB"),
    "CREATE TEMP TABLE left_behind (n int)": ("to_regclass('left_behind')::text", None),
    "SELECT pg_advisory_lock(42)": ("(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')", 0),
    "PREPARE left_behind AS SELECT 1": ("(SELECT count(*) FROM pg_prepared_statements)", 0),
    "LISTEN left_behind": ("(SELECT count(*) FROM pg_listening_channels())", 0),
    "BEGIN; SELECT 1": ("(SELECT xact_start = now() FROM pg_stat_activity WHERE pid = pg_backend_pid())", True),
    "SET SESSION AUTHORIZATION pg_monitor": ("session_user::text", "postgres"),
}


@pytest.mark.parametrize(("command", "look"), LEFT_BEHIND.items(), ids=list(LEFT_BEHIND))
@pytest.mark.parametrize("autocommit", [True, False])
async def test_nothing_of_a_task_is_left_for_the_next(db, command, look, autocommit):
    expression, clean = look
    await db.rows(command, spec={"autocommit": autocommit})

    assert await db.value(expression) == clean


async def test_a_lock_is_given_back_when_the_task_ends_and_not_when_the_next_begins(db, database_url):
    await db.rows("SELECT pg_advisory_lock(43)")

    assert seen(database_url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]


BY_A_TRIGGER = """
CREATE TABLE watched (n int);
CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('work_mem', '123MB', false), pg_advisory_lock(44);
  CREATE TEMP TABLE left_behind (n int);
  RETURN NEW;
END $$;
CREATE TRIGGER leaves BEFORE INSERT ON watched FOR EACH ROW EXECUTE FUNCTION leave()
"""


async def test_what_a_trigger_leaves_behind_is_not_left_for_the_next(db):
    await db.rows(BY_A_TRIGGER)
    before = await db.value("pg_backend_pid()")

    await db.rows("INSERT INTO watched VALUES (1)")

    assert await db.value("pg_backend_pid()") == before
    for look in ("SET work_mem = '123MB'", "CREATE TEMP TABLE left_behind (n int)", "SELECT pg_advisory_lock(42)"):
        expression, clean = LEFT_BEHIND[look]
        assert await db.value(expression) == clean


async def test_a_single_statement_and_the_cleaning_after_it_are_sent_before_either_is_answered(db, monkeypatch):
    commands = []
    monkeypatch.setattr(postgres_pools, "command", lambda _, text: commands.append(text))

    await db.rows("SELECT pg_advisory_lock(45)")

    assert await db.value("(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')") == 0
    assert commands == []


async def test_a_statement_that_fails_leaves_its_connection_clean_and_in_use(db):
    before = await db.value("pg_backend_pid()")

    output = await db.output(command="SELECT pg_advisory_lock(46), 1 / (SELECT count(*) FROM pg_class WHERE oid = 0)")

    assert output.error.details["sqlstate"] == "22012"
    assert await db.value("pg_backend_pid()") == before
    assert await db.value("(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')") == 0


@pytest.mark.parametrize("command", ["BEGIN", "START TRANSACTION READ ONLY"])
async def test_a_transaction_that_is_opened_and_left_is_not_left_for_the_next(db, command):
    await db.rows(command)

    expression, clean = LEFT_BEHIND["BEGIN; SELECT 1"]
    assert await db.value(expression) == clean
    assert await db.value("current_setting('transaction_read_only')") == "off"


async def test_a_value_that_cannot_be_sent_costs_no_connection(db):
    before = await db.value("pg_backend_pid()")

    output = await db.output(command=sql("SELECT ", 10**200, "::int"))

    assert output.error is not None
    assert await db.value("pg_backend_pid()") == before


async def test_a_connection_that_was_killed_while_idle_is_replaced_unseen(db, database_url):
    before = await db.value("pg_backend_pid()")
    seen(database_url, f"SELECT pg_terminate_backend({before}, 5000)")

    assert await db.value("pg_backend_pid()") != before


async def test_a_connection_that_is_killed_at_work_costs_one_failure_that_may_be_tried_again(db, database_url):
    running = asyncio.ensure_future(db.output(command="SELECT pg_sleep(600)"))
    while not (active := backends(database_url, "state = 'active'")):
        assert not running.done()
        await asyncio.sleep(0.01)

    seen(database_url, f"SELECT pg_terminate_backend({active.pop()})")
    output = await running

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("connection", True, False)
    assert await db.value("1") == 1


@pytest.mark.slow
async def test_a_server_that_restarts_costs_failures_that_may_be_tried_again_and_then_none():
    with running_postgres() as url:
        async with bench(url) as db:
            await asyncio.gather(*(db.output(command="SELECT pg_sleep(0.05)") for _ in range(3)))
            os.kill(await db.value("pg_backend_pid()"), signal.SIGKILL)  # the server ends all others and starts anew

            failures = []
            async with asyncio.timeout(30):
                while (output := await db.output(command="SELECT 1 AS one")).error:
                    failures.append((output.error.kind, output.error.retryable))

    assert output.data == [{"one": 1}]
    assert set(failures) <= {("connection", True)}


@pytest.mark.slow
async def test_a_server_that_stopped_is_a_failure_that_may_be_tried_again_and_no_hang():
    async with AsyncExitStack() as closing:
        with running_postgres() as url:
            db = await closing.enter_async_context(bench(url))
            assert await db.value("1") == 1
        output = await db.output(command="SELECT 1")

    assert (output.error.kind, output.error.retryable) == ("connection", True)


async def test_idle_connections_are_closed_after_a_while(database_url, monkeypatch):
    monkeypatch.setattr(postgres_pools, "IDLE_SECONDS_MAX", 0.05)
    async with bench(database_url) as db:
        await db.rows("SELECT 1")

        async with asyncio.timeout(10):
            while backends(database_url):
                await asyncio.sleep(0.01)
        assert await db.value("1") == 1


async def test_a_connection_that_was_idle_for_long_is_asked_before_it_is_used(database_url, monkeypatch):
    monkeypatch.setattr(postgres_pools, "TRUSTED_SECONDS", 0.0)
    async with bench(database_url) as db:
        before = await db.value("pg_backend_pid()")

        assert await db.value("pg_backend_pid()") == before


async def test_no_more_pools_are_kept_than_the_bound_says(monkeypatch):
    monkeypatch.setattr(postgres_pools, "POOLS_MAX", 2)
    pools = Pools(SystemClock())
    one, two, three = (Database(conninfo=name, where=name) for name in ("one", "two", "three"))

    first, second = await pools.pool(one, 1), await pools.pool(two, 1)
    await pools.pool(three, 1)

    assert await pools.pool(two, 1) is second
    assert await pools.pool(one, 1) is not first


async def test_a_closed_tool_leaves_no_connection_even_of_a_task_that_is_still_at_work(database_url):
    tool = postgres.make(hands())
    given = call(postgres.KIND, auth="db", credentials={"db": {"dsn": database_url}}, command="SELECT pg_sleep(0.3)")
    running = asyncio.ensure_future(tool.run(given))
    while not backends(database_url, "state = 'active'"):
        assert not running.done()
        await asyncio.sleep(0.01)

    await tool.close()
    output = await running

    assert output.error is None
    assert not backends(database_url)
