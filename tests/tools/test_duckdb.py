"""Kind duckdb: statements, values in and out, transactions, failures and limits, on a real DuckDB in its child."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from noetl.secret import Secret
from noetl.sql import Bound, Sql
from noetl.testing.hands import run
from tests.tools.duckdb_parts import Bench, bench, sql
from tests.tools.sql_injections import INJECTIONS

SECRET = "hunter2-very-secret"


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


@pytest.mark.spec("UP-03")
async def test_the_rows_of_the_last_query_are_the_data_and_changes_are_counted(db: Bench) -> None:
    command = """
        CREATE TABLE t (id int, name text); -- it's; a comment
        INSERT INTO t VALUES (1, 'a;b'), (2, $$;$$);
        UPDATE t SET name = upper(name);
        FROM t ORDER BY id;
        DELETE FROM t WHERE id = 1"""

    output = await db.output(command=command)

    assert output.data == [{"id": 1, "name": "A;B"}, {"id": 2, "name": ";"}]
    assert output.helpers == {"duckdb": {"affected_rows": 5}}


@pytest.mark.spec("UP-03")
async def test_the_upstream_surface_gets_a_value_for_each_statement(db: Bench) -> None:
    asked = db.call(commands=["CREATE TABLE t AS SELECT 1 AS a", "FROM t", "INSERT INTO t VALUES (2), (3)"])

    output = await run(db.tool, msgspec.structs.replace(asked, is_transparent=True))

    changed = {"rows": [], "columns": [], "row_count": 0, "affected_rows": 2}
    found = {"rows": [{"a": 1}], "columns": ["a"], "row_count": 1, "affected_rows": 0}
    created = {"rows": [], "columns": [], "row_count": 0, "affected_rows": 1}
    assert output.data == {**changed, "command_0": created, "command_1": found, "command_2": changed}


VALUES_OUT = {
    "NULL": None,
    "true": True,
    "1::utinyint": 1,
    "18446744073709551615::ubigint": 18446744073709551615,
    "2::hugeint << 100": "2535301200456458802993406410752",
    "7::hugeint": 7,
    "1.50::decimal(10, 2)": "1.50",
    "5::decimal(10, 0)": 5,
    "0.1::float": 0.1,
    "0.1::double": 0.1,
    "'nan'::double": "NaN",
    "'-inf'::double": "-Infinity",
    "'it''s'": "it's",
    "'a'::blob": {"base64": "YQ=="},
    "date '2024-05-06'": "2024-05-06",
    "'infinity'::date": "infinity",
    "time '10:00:00.5'": "10:00:00.5",
    "timestamp '2024-05-06 07:08:09.123'": "2024-05-06T07:08:09.123",
    "'2024-05-06 07:08:09.123456789'::timestamp_ns": "2024-05-06T07:08:09.123456789",
    "timestamptz '2024-05-06 07:08:09+02'": "2024-05-06T05:08:09+00:00",
    "interval '1 month 2 days 3 seconds'": "1 month 2 days 00:00:03",
    "'dc7997d5-92bd-4737-86ec-130cb57b0769'::uuid": "dc7997d5-92bd-4737-86ec-130cb57b0769",
    "'{\"a\": [1, 2.5]}'::json": {"a": [1, 2.5]},
    "repeat('[', 100)::text || repeat(']', 100)": "[" * 100 + "]" * 100,
    "(repeat('[', 100) || repeat(']', 100))::json": "[" * 100 + "]" * 100,
    "'x'::enum('x', 'y')": "x",
    "[1, NULL]": [1, None],
    "[1, 2]::int[2]": [1, 2],
    "{'a b': [timestamptz '2024-05-06 00:00:00+00'], 'c': {'d': 1.5}}": {
        "a b": ["2024-05-06T00:00:00+00:00"],
        "c": {"d": "1.5"},
    },
    "map {1: date '2024-05-06', 2: NULL}": {"1": "2024-05-06", "2": None},
    "map {[1]: 'x'}": {"[1]": "x"},
    "(1, 'a')": [1, "a"],
}


@pytest.mark.spec("TL-01")
async def test_values_come_out_as_json_without_losing_anything(db: Bench) -> None:
    found = await db.rows("SELECT " + ", ".join(f"{value} AS v{place}" for place, value in enumerate(VALUES_OUT)))

    assert dict(zip(VALUES_OUT, found[0].values(), strict=True)) == VALUES_OUT


VALUES_IN = (None, True, 1, -(2**62), 1.5, "", "it's", [1, 2], ["a", None], [[1], [2, 3]], [], {"a": [{"b": None}]}, {})


@pytest.mark.spec("TL-01")
async def test_values_go_in_and_come_back(db: Bench) -> None:
    pieces = [piece for place, value in enumerate(VALUES_IN) for piece in (Bound(value), f" AS v{place}, ")]

    found = await db.rows(Sql(("SELECT ", *pieces, "1 AS last")))

    assert list(found[0].values()) == [*VALUES_IN, 1]


@pytest.mark.spec("TL-01")
async def test_values_fit_the_columns_they_are_put_into(db: Bench) -> None:
    command = sql(
        "CREATE TABLE t (seen timestamp, n decimal(10, 2), j json, l int[], s struct(a int, b text), m map(text, int));"
        "INSERT INTO t VALUES (",
        "2024-05-06T07:08:09",
        ", ",
        "12.5",
        ", ",
        [1, "a", None],
        ", ",
        [1, 2],
        ", ",
        {"a": 1, "b": "x"},
        ", ",
        {"k": 3},
        "); FROM t",
    )

    assert await db.rows(command) == [
        {
            "seen": "2024-05-06T07:08:09",
            "n": "12.50",
            "j": [1, "a", None],
            "l": [1, 2],
            "s": {"a": 1, "b": "x"},
            "m": {"k": 3},
        }
    ]


@pytest.mark.spec("TL-01", "TL-03")
async def test_every_injection_is_data_wherever_it_stands(db: Bench) -> None:
    rows = [
        piece
        for place, payload in enumerate(INJECTIONS)
        for piece in (f"({place}, ", Bound(payload), ", '<", Bound(payload), ">'), ")
    ]
    command = Sql(("CREATE TABLE users (id int); FROM (VALUES ", *rows, "(-1, '', '')) AS t (place, plain, quoted)"))

    found = await db.rows(command)

    assert [(row["plain"], row["quoted"]) for row in found[:-1]] == [(x, f"<{x}>") for x in INJECTIONS]


@pytest.mark.spec("TL-01")
async def test_params_of_every_style_are_bound(db: Bench) -> None:
    assert await db.rows("SELECT :a + :b AS s, ':a' AS t", params={"a": 1, "b": 2}) == [{"s": 3, "t": ":a"}]
    assert await db.rows("SELECT $2 - $1 AS s", params=[1, 2]) == [{"s": 1}]
    assert await db.rows("SELECT ? || ? AS s", params=["a", "b"]) == [{"s": "ab"}]


@pytest.mark.spec("TL-01")
async def test_two_columns_with_one_name_are_both_there(db: Bench) -> None:
    assert await db.rows("SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_1": 2}]


@pytest.mark.spec("TL-01")
async def test_other_statements_that_give_rows_give_them(db: Bench) -> None:
    await db.rows("CREATE TABLE t (a int, seen timestamptz)", database="t.duckdb")

    returned = "INSERT INTO t VALUES (1, '2024-05-06 00:00:00+00') RETURNING *"
    assert await db.rows(returned, database="t.duckdb") == [{"a": 1, "seen": "2024-05-06T00:00:00+00:00"}]
    assert await db.rows("SHOW TABLES", database="t.duckdb") == [{"name": "t"}]
    assert await db.rows("SELECT count(*) AS n FROM t", database="t.duckdb") == [{"n": 1}]
    assert await db.rows("DELETE FROM t WHERE a = 7 RETURNING *", database="t.duckdb") == []
    assert (await db.rows("PRAGMA table_info('t')", database="t.duckdb"))[0]["name"] == "a"
    assert await db.rows("PIVOT (SELECT 'x' AS k, 1 AS v) ON k USING sum(v)") == [{"x": 1}]


@pytest.mark.spec("TL-01")
async def test_all_statements_are_one_transaction_unless_autocommit_is_set(db: Bench) -> None:
    await db.rows("CREATE TABLE t (a int PRIMARY KEY)", database="t.duckdb")
    twice = "INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)"

    assert (await db.error(twice, database="t.duckdb"))[0] == "db_constraint"
    assert await db.rows("FROM t", database="t.duckdb") == []
    assert (await db.error(twice, database="t.duckdb", spec={"autocommit": True}))[0] == "db_constraint"
    assert await db.rows("FROM t", database="t.duckdb") == [{"a": 1}]


@pytest.mark.spec("TL-01")
@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        ("SELECT 1;\n\nSELECT\n  nothing", "db_error", "in line 4 of the SQL"),
        ("SELECT 1;\nSELECT error('no'); ", "db_error", "in line 2 of the SQL"),
        ("SELEC 1", "db_error", "syntax error"),
        ("BEGIN", "db_error", "spec.autocommit"),
        ("SELECT :a", "type", ":a has no value"),
    ],
)
async def test_a_failure_says_what_and_where(db: Bench, query: str, kind: str, words: str) -> None:
    params = {"b": 1} if ":a" in query else None

    found = await db.error(query, params=params)

    assert found[0] == kind
    assert words in found[1]


@pytest.mark.spec("TL-01")
async def test_a_secret_in_a_failure_is_masked_even_where_the_message_is_cut(db: Bench) -> None:
    padding = "x" * (990 - len("Invalid Input Error: "))
    command = sql("SELECT error(", padding, " || ", Secret(SECRET), ")")

    kind, message = await db.error(command)

    assert kind == "db_error"
    assert SECRET[:4] not in message
    assert "***" in message


@pytest.mark.spec("TL-01")
async def test_more_rows_than_a_result_may_have_are_refused_with_advice(tmp_path: Path) -> None:
    async with bench(tmp_path, result_bytes_max=10_000) as db:
        kind, message = await db.error("SELECT range AS a FROM range(100000)")
        fewer = await db.rows("SELECT range AS a FROM range(500)")

    assert kind == "limit"
    assert "write: {format: parquet}" in message
    assert len(fewer) == 500


@pytest.mark.spec("TL-01")
@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "SELECT length(repeat('x', 300000000) || i) FROM range(20) t(i)",  # DuckDB itself does not count this
        "SELECT list(range) FROM range(300000000)",
        "SELECT range AS a, hash(range) AS b FROM range(20000000) ORDER BY b LIMIT 10000000 OFFSET 5000000",
    ],
)
async def test_a_query_that_wants_more_memory_or_disk_than_it_may_use_fails_alone(db: Bench, query: str) -> None:
    kind, message = await db.error(query, spec={"memory_mb": 64, "disk_mb": 1})

    assert kind == "limit"
    assert "spec.memory_mb" in message
    assert await db.value("42") == 42


@pytest.mark.spec("TL-01", "TK-18")
@pytest.mark.slow
async def test_a_query_over_its_time_is_stopped_and_leaves_the_database_usable(db: Bench) -> None:
    await db.rows("CREATE TABLE t AS SELECT 1 AS a", database="t.duckdb")
    endless = "SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b WHERE (a.range * b.range) % 7 = 8"

    output = await db.output(commands=["INSERT INTO t VALUES (2)", endless], database="t.duckdb", total_seconds=1.0)

    assert output.error is not None
    assert (output.error.kind, output.error.retryable, output.is_definite) == ("timeout", True, False)
    assert await db.rows("FROM t", database="t.duckdb") == [{"a": 1}]


@pytest.mark.spec("TL-01")
async def test_tasks_that_write_one_file_wait_for_each_other(tmp_path: Path) -> None:
    async with bench(tmp_path, process_slots=3) as db:
        await db.rows("CREATE TABLE t AS SELECT 0 AS a", database="t.duckdb")

        outputs = await asyncio.gather(
            *(db.output(command="UPDATE t SET a = a + 1", database="t.duckdb") for _ in range(12)),
            *(db.output(query="FROM t", database={"path": "t.duckdb", "read_only": True}) for _ in range(6)),
        )

        assert [output.error for output in outputs if output.error] == []
        assert await db.rows("FROM t", database="t.duckdb") == [{"a": 12}]
