"""Values in SQL reach a real PostgreSQL and a real DuckDB as data, whatever they look like and wherever they stand."""

import json
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noetl.dsl.model import Value
from noetl.dsl.source import Place
from noetl.engine.values import rendered
from noetl.expressions import parse
from noetl.tools.sql_statements import Statement, statements
from tests.tools.sql_injections import INJECTIONS

PLACE = Place("test.yaml", 1, 1, 1, 1)


def bound(command: str, scope: dict[str, object], params: object = None) -> list[Statement]:
    """A command on its whole way from a playbook's text to a driver."""
    value = Value(place=PLACE, parts=parse(command), is_sql=True)
    return statements(rendered(value, scope), params)


@pytest.fixture
def postgres(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, cursor_factory=psycopg.RawCursor) as connection:
        yield connection
        connection.rollback()


DUCKDB = """
import json, sys, duckdb
connection = duckdb.connect()
for text, values in json.load(sys.stdin):
    found = connection.execute(text, values)
    print(json.dumps([[column[0] for column in found.description], found.fetchone()]))
"""


def answers_of_duckdb(found: list[Statement]) -> list[list[list[object]]]:
    """Of each statement the names of its columns and its first row; in a child, as its kind runs it."""
    asked = json.dumps([[one.text, one.values] for one in found])
    child = subprocess.run([sys.executable, "-c", DUCKDB], input=asked, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in child.stdout.splitlines()]


EVERYWHERE = r"""SELECT {{ x }}::text, '{{ x }}', '<it''s {{ x }}>', $${{ x }}$$,
    $t$ {{ x }}$t$, E'\t{{ x }}\'' -- {{ x }}
    /* {{ x }} */"""


def expected(x: str) -> tuple[str, ...]:
    return (x, x, f"<it's {x}>", x, f" {x}", f"\t{x}'")


@pytest.mark.spec("TL-03")
def test_injections_come_back_from_postgresql_as_they_went_in(postgres: psycopg.Connection) -> None:
    for payload in INJECTIONS:
        (one,) = bound(EVERYWHERE, {"x": payload})
        assert postgres.execute(one.text, one.values).fetchone() == expected(payload)


@pytest.mark.spec("TL-03")
def test_injections_come_back_from_duckdb_as_they_went_in() -> None:
    found = answers_of_duckdb([one for payload in INJECTIONS for one in bound(EVERYWHERE, {"x": payload})])

    assert [tuple(row) for _, row in found] == [expected(payload) for payload in INJECTIONS]


@pytest.mark.spec("TL-03")
def test_a_name_made_of_any_injection_is_one_name_in_both_databases(postgres: psycopg.Connection) -> None:
    commands = [one for x in INJECTIONS for one in bound("SELECT 1 AS {{ [x] | ident }}", {"x": x})]

    cursors = [postgres.execute(one.text) for one in commands]

    assert [cursor.description[0].name for cursor in cursors] == list(INJECTIONS)
    assert [names for names, _ in answers_of_duckdb(commands)] == [[x] for x in INJECTIONS]


@pytest.mark.spec("TL-03")
def test_values_fit_the_columns_that_postgresql_has(postgres: psycopg.Connection) -> None:
    scope = {
        "n": 7,
        "t": "2024-05-06T07:08:09+00:00",
        "money": "12.50",
        "json": '{"a": [1]}',
        "yes": True,
        "none": None,
    }
    command = """
        CREATE TEMP TABLE t (i int, b bigint, m numeric, f float8, at timestamptz, d date, j jsonb, yes bool, x text);
        INSERT INTO t VALUES
          ({{ n }}, '{{ n }}', {{ money }}, {{ n }}, {{ t }}, '{{ t }}', {{ json }}, {{ yes }}, {{ none }});
        SELECT i, b, m::text, f, at = timestamptz '{{ t }}', d::text, j->'a'->>0, yes, x FROM t
         WHERE i = {{ n }} AND b = '{{ n }}' AND m > {{ n }} AND at > now() - interval '{{ n }}0 years'
         LIMIT {{ n }}"""

    for one in bound(command, scope):
        cursor = postgres.execute(one.text, one.values)

    assert cursor.fetchone() == (7, 7, "12.50", 7.0, True, "2024-05-06", "1", True, None)


@pytest.mark.spec("TL-03")
def test_loops_and_conditions_in_sql_bind_each_value(postgres: psycopg.Connection) -> None:
    command = """
        CREATE TEMP TABLE {{ table | ident }} (id int {% for c in columns %}, {{ c | ident }} text{% endfor %});
        INSERT INTO {{ table | ident }} VALUES
          {% for row in rows %}
          ({{ row.id }}, {{ row.a }}, '<{{ row.a }}>'){% if not loop.last %},{% endif %}
          {% endfor %};
        SELECT * FROM {{ table | ident }}
         {% if rows %}WHERE id IN ({% for row in rows %}{{ row.id }},{% endfor %} 0){% endif %}
         ORDER BY {{ 'id' | ident }}"""
    rows = [{"id": 1, "a": "x'); DROP TABLE t"}, {"id": 2, "a": "$1"}]

    for one in bound(command, {"table": "the rows", "columns": ["a b", 'c"'], "rows": rows}):
        cursor = postgres.execute(one.text, one.values)

    assert cursor.fetchall() == [(1, rows[0]["a"], f"<{rows[0]['a']}>"), (2, "$1", "<$1>")]


@pytest.mark.spec("UP-03")
def test_every_statement_of_a_long_script_runs_as_it_was_split(postgres: psycopg.Connection) -> None:
    script = r"""
        CREATE TEMP TABLE log (line text); -- it's; a comment
        CREATE FUNCTION pg_temp.noted(a text) RETURNS text LANGUAGE plpgsql AS $body$
          BEGIN INSERT INTO log VALUES (a || ';'); RETURN $$;$$; END; $body$;
        CREATE FUNCTION pg_temp.kind(a int) RETURNS text LANGUAGE sql
          BEGIN ATOMIC SELECT CASE WHEN a > 1 THEN 'many;' ELSE 'one' END; END;
        DO $$ BEGIN PERFORM pg_temp.noted('do;'); END $$;
        /* nested /* ; */ ; */
        SELECT pg_temp.noted(E'it\'s;');
        SELECT array_agg(line), '{"a": 1}'::jsonb ? 'a', (ARRAY[1,2,3])[1:2], pg_temp.kind(2), U&'\0441;', 1 AS "a;b"
          FROM log;"""

    for one in statements(script):
        cursor = postgres.execute(one.text)

    assert cursor.fetchone() == (["do;;", "it's;;"], True, [1, 2], "many;", "с;", 1)


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    ("command", "params"),
    [
        ("SELECT :a::int + :b, '{{ x }}'", {"a": 1, "b": 2}),
        ("SELECT %(a)s::int + %(b)s, {{ x }}::text", {"a": 1, "b": 2}),
        ("SELECT $1::int + $2, '{{ x }}'", [1, 2]),
        ("SELECT %s::int + %s, '{{ x }}'", [1, 2]),
        ("SELECT ?::int + ?, $${{ x }}$$", [1, 2]),
    ],
)
def test_params_of_every_style_run_in_both_databases(
    postgres: psycopg.Connection, command: str, params: object
) -> None:
    (one,) = bound(command, {"x": "it's"}, params)

    assert postgres.execute(one.text, one.values).fetchone() == (3, "it's")
    assert [row for _, row in answers_of_duckdb([one])] == [[3, "it's"]]


LITERALS = (
    "1", "'a'", r"'a\'", "''", "'''; '", r"E'\\'';'", r"E'\''';'", "$$;$$", "$a$;$$;$b$;$a$", "$ü$;$ü$",
    "'--;'", "'/*;'",
    "U&'d\\0061;'", "N';'", "B'01'", "X'f'", "(SELECT ';')", '1 AS ";"', '1 AS """;"', "(ARRAY[1,2])[1:2]", "1::text",
    "'{}'::jsonb ? ';'", "@ -1", "1 - -1", "5 % 2", "1.5e-3", "CASE WHEN true THEN 1 END", "1 AS a$b",
)  # fmt: skip
SPACES = (" ", "\n", "/* ; */", "/* /* ' */ ; */", "-- ; ' $$\n", "--\r", "\t")


@pytest.mark.spec("UP-03")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.tuples(st.sampled_from(LITERALS), st.sampled_from(SPACES)), min_size=1, max_size=6))
def test_a_script_is_split_where_postgresql_splits_it(
    postgres: psycopg.Connection, parts: list[tuple[str, str]]
) -> None:
    script = ";".join(f"{space}SELECT{space}{literal}{space}" for literal, space in parts)

    found = [postgres.execute(one.text).fetchall() for one in statements(script)]

    assert found == all_rows(postgres.execute(script))


def all_rows(cursor: psycopg.Cursor) -> list[list[tuple[object, ...]]]:
    found = [cursor.fetchall()]
    while cursor.nextset():
        found.append(cursor.fetchall())
    return found
