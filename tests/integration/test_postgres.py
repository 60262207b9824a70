"""kind: postgres against a real server: statements, transactions, values in and out."""

from datetime import date

import msgspec
import pytest

from noetl.secret import Secret
from noetl.testing.hands import run
from noetl.tools.contract import ToolSettings
from tests.integration.postgres_parts import bench, seen, sql


@pytest.fixture
async def db(database_url):
    async with bench(database_url) as made:
        await made.rows(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, doc jsonb, tags text[], at timestamptz)"
        )
        yield made


@pytest.mark.spec("TL-01", "TK-04", "UP-03")
async def test_the_data_is_the_rows_of_the_last_statement_that_gives_any(db):
    output = await db.output(
        command="INSERT INTO t (id) VALUES (1), (2);\nSELECT id FROM t ORDER BY id; UPDATE t SET tags = '{a}'"
    )

    assert output.data == [{"id": 1}, {"id": 2}]
    assert output.helpers == {"pg": {"code": None, "sqlstate": None, "affected_rows": 4}}


async def test_statements_without_rows_give_an_empty_list(db):
    assert await db.rows("INSERT INTO t (id) VALUES (1)") == []


@pytest.mark.spec("UP-03")
async def test_a_query_and_a_list_of_commands_run_as_a_command_does(db):
    await db.output(commands=["INSERT INTO t (id) VALUES (1)", sql("INSERT INTO t (id) VALUES (", 2, ")")])

    output = await db.output(query="SELECT count(*) AS n FROM t")
    assert output.data == [{"n": 2}]


@pytest.mark.parametrize(
    ("command", "params"),
    [("SELECT :a::int + :b::int AS n", {"a": 1, "b": 2}), ("SELECT $1::int + $2::int AS n", [1, 2])],
)
async def test_params_fill_the_placeholders_of_the_author(db, command, params):
    assert await db.rows(command, params=params) == [{"n": 3}]


async def test_bodies_in_dollar_quotes_stay_whole(db):
    found = await db.rows(
        "CREATE OR REPLACE FUNCTION twice(n int) RETURNS int AS $$ BEGIN RETURN n * 2; END $$ LANGUAGE plpgsql;"
        "SELECT twice(21) AS n -- ; not here"
    )

    assert found == [{"n": 42}]


async def test_a_task_is_one_transaction(db, database_url):
    output = await db.output(command="INSERT INTO t (id) VALUES (1); INSERT INTO t (id) VALUES (1)")

    assert output.error.kind == "db_constraint"
    assert seen(database_url, "SELECT count(*) FROM t") == [(0,)]


async def test_with_autocommit_each_statement_stands_for_itself(db, database_url):
    output = await db.output(
        command="INSERT INTO t (id) VALUES (1); INSERT INTO t (id) VALUES (1)", spec={"autocommit": True}
    )

    assert output.error.kind == "db_constraint"
    assert seen(database_url, "SELECT count(*) FROM t") == [(1,)]


async def test_an_author_may_end_the_transaction(db, database_url):
    await db.rows("INSERT INTO t (id) VALUES (1); COMMIT; INSERT INTO t (id) VALUES (2)")

    assert seen(database_url, "SELECT id FROM t ORDER BY id") == [(1,), (2,)]


OUT = {
    "true": True,
    "1::int2": 1,
    "9007199254740993": 9007199254740993,
    "1.5::float8": 1.5,
    "'NaN'::float8": "NaN",
    "'-Infinity'::float4": "-Infinity",
    "19.90::numeric(10,2)": "19.90",
    "0.1234567890123456789": "0.1234567890123456789",
    "sum(n) FROM (VALUES (9007199254740993::int8), (1)) AS v(n)": 9007199254740994,
    "'NaN'::numeric": "NaN",
    "12345678901234567890::numeric": "12345678901234567890",
    "NULL": None,
    "'é😀'": "é😀",
    '\'{"a": [1, null, {"b": 1.5}]}\'::jsonb': {"a": [1, None, {"b": 1.5}]},
    "'12345678901234567890'::json": "12345678901234567890",
    "timestamptz '2024-02-29 12:30:00.25+02'": "2024-02-29T10:30:00.25+00:00",
    "timestamp '2024-02-29 12:30:00'": "2024-02-29T12:30:00",
    "timestamptz 'infinity'": "infinity",
    "date '2024-02-29'": "2024-02-29",
    "time '12:30'": "12:30:00",
    "interval '1 day 2 hours'": "1 day 02:00:00",
    "'\\xdead'::bytea": {"base64": "3q0="},
    "uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "ARRAY[[1, 2], [3, NULL]]": [[1, 2], [3, None]],
    "ARRAY['a,b', 'c\"d', NULL]": ["a,b", 'c"d', None],
    "ARRAY['{\"a\": 1}'::jsonb]": [{"a": 1}],
    "'{}'::int[]": [],
    "int4range(1, 5)": "[1,5)",
    "ROW(1, 'x')": "(1,x)",
    "inet '10.0.0.0/8'": "10.0.0.0/8",
}


@pytest.mark.parametrize(("expression", "value"), OUT.items(), ids=list(OUT))
async def test_a_value_comes_out_as_json_data(db, expression, value):
    found = await db.rows(f"SET LOCAL timezone = 'UTC'; WITH one (value) AS (SELECT {expression}) TABLE one")

    assert found == [{"value": value}]
    assert type(found[0]["value"]) is type(value)


async def test_an_offset_is_that_of_the_sessions_time_zone(db):
    found = await db.rows("SET LOCAL timezone = 'Asia/Kolkata'; SELECT timestamptz '2024-01-01 00:00:00Z' AS at")

    assert found == [{"at": "2024-01-01T05:30:00+05:30"}]


async def test_columns_of_one_name_are_kept_apart(db):
    assert await db.rows("SELECT 1 AS a, 2 AS a, 3 AS a_2") == [{"a": 1, "a_2": 2, "a_2_2": 3}]


IN = [
    ("int", 5, 5),
    ("int", "5", 5),
    ("bigint", 2**40, 2**40),
    ("numeric", "19.90", "19.90"),
    ("numeric", 10**20, str(10**20)),
    ("float8", 0.1, 0.1),
    ("boolean", True, True),
    ("text", 'it\'s \\ "é"\n', 'it\'s \\ "é"\n'),
    ("text", 5, "5"),
    ("text", None, None),
    ("date", "2024-02-29", "2024-02-29"),
    ("timestamp", "2024-02-29T12:00:00", "2024-02-29T12:00:00"),
    ("jsonb", {"a": [1, "x", None]}, {"a": [1, "x", None]}),
    ("json", {"a": 1}, {"a": 1}),
    ("jsonb", [1, {"b": 2}], [1, {"b": 2}]),
    ("jsonb", '{"a": 1}', {"a": 1}),
    ("text[]", ["a,b", 'c"d\\', None, ""], ["a,b", 'c"d\\', None, ""]),
    ("int[]", [1, 2], [1, 2]),
    ("int[]", [[1], [2]], [[1], [2]]),
    ("int[]", [], []),
    ("jsonb[]", [{"a": 1}], [{"a": 1}]),
    ("boolean[]", [True, False], [True, False]),
    ("text", ["a"], '["a"]'),
]


@pytest.mark.parametrize(("type_name", "value", "found"), IN)
async def test_a_value_goes_in_as_what_the_column_is(db, type_name, value, found):
    await db.rows(f"DROP TABLE IF EXISTS one; CREATE TABLE one (value {type_name})")

    assert await db.rows(sql("INSERT INTO one VALUES (", value, ") RETURNING value")) == [{"value": found}]


async def test_a_list_can_be_searched(db):
    await db.rows("INSERT INTO t (id) VALUES (1), (2), (3)")

    assert await db.rows(sql("SELECT id FROM t WHERE id = ANY(", [1, 3], ") ORDER BY id")) == [{"id": 1}, {"id": 3}]


async def test_a_value_inside_quotes_is_data(db):
    hostile = "x'); DROP TABLE t; --"

    assert await db.rows(sql("SELECT 'say: ", hostile, "' AS said")) == [{"said": f"say: {hostile}"}]


async def test_a_sealed_value_is_opened_for_the_server_only(db):
    found = await db.rows(sql("SELECT length(", Secret("hunter22"), "::text) AS n"))

    assert found == [{"n": 8}]


@pytest.mark.spec("UP-03")
async def test_under_the_upstream_surface_the_value_has_rows_and_that_of_each_command(db):
    given = db.call(command="INSERT INTO t (id) VALUES (1), (2); SELECT id FROM t ORDER BY id")
    output = await run(db.tool, msgspec.structs.replace(given, is_transparent=True))

    rows = {"rows": [{"id": 1}, {"id": 2}], "columns": ["id"], "row_count": 2, "affected_rows": 0}
    changed = {"rows": [], "columns": [], "row_count": 0, "affected_rows": 2}
    assert output.data == {**rows, "command_0": changed, "command_1": rows}


async def test_rows_over_the_limit_fail_before_they_are_all_here(database_url):
    async with bench(database_url, ToolSettings(result_bytes_max=100_000)) as db:
        output = await db.output(command="SELECT generate_series(1, 100000000) AS n, repeat('x', 1000) AS x")

        assert (output.error.kind, output.error.retryable) == ("limit", False)
        assert "copy: {from: …}" in output.error.message
        assert await db.value("1") == 1


async def test_without_auth_it_says_what_is_wanted(db):
    output = await db.output(auth=None, command="SELECT 1")

    assert output.error.kind == "auth"
    assert "auth: warehouse" in output.error.message


@pytest.mark.parametrize("size", [0, 101, "many"])
async def test_a_pool_of_no_sensible_size_is_refused(db, size):
    output = await db.output(command="SELECT 1", spec={"pool": {"max": size}})

    assert (output.error.kind, output.error.message) == ("type", "spec.pool.max must be a whole number from 1 to 100")


async def test_sql_that_cannot_be_read_is_refused_before_it_is_sent(db):
    output = await db.output(command="SELECT 'never closed")

    assert output.error.kind == "type"
    assert "never closed" in output.error.message


async def test_nothing_but_json_data_comes_out(db):
    found = await db.rows("SELECT * FROM pg_type LIMIT 50")

    assert not [value for row in found for value in row.values() if isinstance(value, date | bytes | tuple)]
