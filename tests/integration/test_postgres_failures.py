"""kind: postgres against a real server: what goes wrong, and how it is said (TK-19)."""

import asyncio
import json
import socket
from collections.abc import Iterator

import psycopg
import pytest

from noetl.testing.tool_suite import PLANTED_SECRET
from tests.integration.postgres_parts import backends, bench, guarded_postgres, seen, sql

WRONG_PASSWORD = f"{PLANTED_SECRET}-wrong"


@pytest.fixture
async def db(database_url):
    async with bench(database_url) as made:
        yield made


async def failed(db, command, **values):
    output = await db.output(command=command, **values)
    assert output.error is not None, output.data
    return output


FAULTS = {
    "SELEC 1": ("db_error", "42601", False),
    "SELECT * FROM no_such_table": ("db_error", "42P01", False),
    "SELECT 1/0": ("db_error", "22012", False),
    "CREATE TEMP TABLE u (n int UNIQUE); INSERT INTO u VALUES (1), (1)": ("db_constraint", "23505", False),
    "CREATE TEMP TABLE c (n int CHECK (n > 0)); INSERT INTO c VALUES (0)": ("db_constraint", "23514", False),
    "CREATE TEMP TABLE m (n int NOT NULL); INSERT INTO m VALUES (NULL)": ("db_constraint", "23502", False),
    "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$": ("db_conflict", "40001", True),
    "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '53200'; END $$": ("db_error", "53200", True),
    "SET LOCAL statement_timeout = 20; SELECT pg_sleep(60)": ("timeout", "57014", True),
    "SELECT pg_terminate_backend(pg_backend_pid())": ("connection", "57P01", True),
    "SELECT 1; VACUUM": ("db_error", "25001", False),
}


@pytest.mark.spec("TK-19", "TL-01")
@pytest.mark.parametrize(("command", "fault"), FAULTS.items(), ids=list(FAULTS))
async def test_a_failure_has_its_kind_and_its_sqlstate(db, command, fault):
    output = await failed(db, command)

    kind, sqlstate, is_retryable = fault
    assert (output.error.kind, output.error.retryable) == (kind, is_retryable)
    assert output.helpers["pg"] == {"code": sqlstate, "sqlstate": sqlstate, "affected_rows": None}
    assert output.error.details["sqlstate"] == sqlstate


async def test_a_syntax_error_says_where_in_the_authors_text(db):
    output = await failed(db, "-- first\nSELECT 1;\n\nSELECT 2\n  FRM pg_class WHERE true")

    assert 'syntax error at or near "pg_class"' in output.error.message
    assert "in line 5 of the SQL, at: pg_class WHERE true" in output.error.message


@pytest.mark.parametrize("before", ["SET lock_timeout = ", "NOTIFY orders, "])
async def test_a_value_where_the_server_binds_none_is_told_how_else(db, before):
    output = await failed(db, sql(before, "10s"))

    assert "at: $1. PostgreSQL binds no value there" in output.error.message
    assert "SELECT set_config('name', {{ … }}, false)" in output.error.message


async def test_the_place_is_right_after_a_list_was_asked_about(db):
    output = await failed(db, sql("SELECT 1\nFROM no_such_table\nWHERE id = ANY(", [1], ")"))

    assert "in line 2 of the SQL, at: no_such_table" in output.error.message


async def test_what_the_server_says_of_a_row_is_cut(db):
    output = await failed(
        db, sql("CREATE TEMP TABLE u (t text UNIQUE); INSERT INTO u VALUES ('", "x" * 2000, "'), ('", "x" * 2000, "')")
    )

    assert output.error.details["constraint"] == "u_t_key"
    assert len(output.error.details["detail"]) == 500


async def test_an_advice_is_given_where_the_fault_is_ours_to_explain(db):
    output = await failed(db, "SELECT 1; VACUUM")

    assert output.error.message.endswith("set spec.autocommit: true")


async def test_a_zero_byte_is_refused_as_a_value_that_cannot_be_sent(db):
    output = await failed(db, sql("SELECT ", "a\0b"))

    assert (output.error.kind, output.error.retryable) == ("type", False)


async def test_copy_in_a_command_is_refused_and_leaves_the_tool_in_order(db):
    output = await failed(db, "COPY pg_class TO STDOUT")

    assert output.error.kind == "type"
    assert "copy: {from: …}" in output.error.message
    assert await db.value("1") == 1


@pytest.mark.spec("TK-18")
async def test_a_statement_over_its_time_ends_on_the_server(db, database_url):
    output = await failed(db, "SELECT pg_sleep(600)", total_seconds=0.2)

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("timeout", True, False)
    assert "0.2 s (spec.timeout)" in output.error.message
    assert not backends(database_url, "state = 'active'")


async def test_the_server_knows_the_time_out_too(db):
    found = await db.rows("SHOW statement_timeout", total_seconds=2)

    assert found == [{"statement_timeout": "2s"}]


@pytest.mark.spec("TK-18")
async def test_a_cancelled_statement_is_cancelled_on_the_server_before_the_task_ends(db, database_url):
    running = asyncio.ensure_future(db.output(command="SELECT pg_sleep(600)"))
    while not backends(database_url, "state = 'active'"):
        assert not running.done()
        await asyncio.sleep(0.01)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not backends(database_url, "state = 'active'")
    assert await db.value("1") == 1


async def test_two_that_wait_for_one_another_end_as_a_conflict_that_may_be_tried_again(db, database_url):
    seen(database_url, "DROP TABLE IF EXISTS pair; CREATE TABLE pair (id int); INSERT INTO pair VALUES (1), (2)")
    both = "UPDATE pair SET id = id WHERE id = {}; SELECT pg_sleep(0.3); UPDATE pair SET id = id WHERE id = {}"

    outputs = await asyncio.gather(db.output(command=both.format(1, 2)), db.output(command=both.format(2, 1)))

    (lost,) = [output for output in outputs if output.error]
    assert (lost.error.kind, lost.error.retryable) == ("db_conflict", True)
    assert lost.helpers["pg"]["code"] == "40P01"


@pytest.mark.parametrize(
    ("entry", "kind", "is_retryable", "said"),
    [
        ({"host": "127.0.0.1", "port": 1}, "connection", True, "127.0.0.1:1"),
        ({"host": "/no/such/folder"}, "connection", True, "/no/such/folder"),
        ({"host": "nobody.invalid", "sslmode": "disable"}, "connection", True, "nobody.invalid"),
        ({"user": "nobody_at_all"}, "auth", False, "nobody_at_all"),
        ({"dbname": "no_such_database"}, "connection", False, "no_such_database"),
    ],
)
async def test_why_there_is_no_connection_is_said_at_once(postgres_url, entry, kind, is_retryable, said):
    there = psycopg.conninfo.conninfo_to_dict(postgres_url)
    async with bench("") as db:
        db.credentials["db"] = {**there, "password": PLANTED_SECRET, **entry}
        output = await failed(db, "SELECT 1")

    assert (output.error.kind, output.error.retryable, output.is_definite) == (kind, is_retryable, True)
    assert said in output.error.message
    assert PLANTED_SECRET not in json.dumps(output.error.as_data())


async def test_a_server_that_never_answers_is_given_up_after_connect_seconds():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with bench(f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x") as db:
            output = await failed(db, "SELECT 1", connect_seconds=0.2)

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("timeout", True, True)
    assert "within 0.2 s (timeout.connect)" in output.error.message


async def test_an_unknown_credential_is_named():
    async with bench("") as db:
        output = await failed(db, "SELECT 1", auth="wharehouse")

    assert output.error.kind == "auth"
    assert 'credential "wharehouse"' in output.error.message


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    with guarded_postgres(PLANTED_SECRET) as url:
        yield url


async def test_the_password_opens_and_a_wrong_one_is_refused_without_being_shown(guarded_url):
    async with bench("") as db:
        db.credentials["db"] = {"dsn": guarded_url, "password": PLANTED_SECRET}
        db.credentials["wrong"] = {"dsn": guarded_url, "password": WRONG_PASSWORD}
        db.credentials["none"] = {"dsn": guarded_url}
        wrong, none = await failed(db, "SELECT 1", auth="wrong"), await failed(db, "SELECT 1", auth="none")

        assert await db.value("current_user::text") == "app"
    for output in (wrong, none):
        assert (output.error.kind, output.error.retryable) == ("auth", False)
        assert PLANTED_SECRET not in json.dumps(output.error.as_data())


async def test_a_changed_password_makes_new_connections(guarded_url):
    async with bench("") as db:
        db.credentials["db"] = {"dsn": guarded_url, "password": PLANTED_SECRET}
        before = await db.value("pg_backend_pid()")
        db.credentials["db"] = {"dsn": guarded_url, "password": WRONG_PASSWORD}

        assert (await failed(db, "SELECT 1")).error.kind == "auth"
        db.credentials["db"] = {"dsn": guarded_url, "password": PLANTED_SECRET}
        assert await db.value("pg_backend_pid()") == before


@pytest.mark.parametrize(
    "command", ["INSERT INTO single VALUES (1), (1)", "INSERT INTO single VALUES (1), (1) RETURNING n"]
)
async def test_a_constraint_that_is_checked_at_the_end_of_a_single_statement_fails_its_task(db, database_url, command):
    await db.rows("CREATE TABLE IF NOT EXISTS single (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    before = await db.value("pg_backend_pid()")

    output = await db.output(command=command)

    assert (output.error.kind, output.error.details["sqlstate"]) == ("db_constraint", "23505")
    assert seen(database_url, "SELECT count(*) FROM single") == [(0,)]
    assert await db.value("pg_backend_pid()") == before


@pytest.mark.parametrize("command", ["COPY copied FROM STDIN", "COPY pg_class TO STDOUT"])
async def test_a_copy_through_the_connection_is_refused_and_leaves_it_to_nobody(db, command):
    await db.rows("CREATE TABLE IF NOT EXISTS copied (n int)")

    async with asyncio.timeout(10):
        output = await db.output(command=command)

    assert output.error.kind == "type"
    assert "copy: {" in output.error.message
    assert await db.value("1") == 1
