"""kind: postgres against a real server: rows in bulk, in and out."""

import json

import pytest

from noetl.references import LINES
from noetl.sql import Sql
from tests.integration.postgres_parts import bench, seen, sql

HARD_TEXT = "tab\t, line\n, return\r, back\\slash, \\N, \"quotes\", 'é😀'"
ROWS = [
    {
        "id": 1,
        "name": HARD_TEXT,
        "amount": "19.90",
        "doc": {"a": HARD_TEXT},
        "tags": ["a,b", None, HARD_TEXT],
        "raw": {"base64": "3q0="},
    },
    {"id": 2, "name": "", "amount": None, "doc": [1, None], "tags": [], "raw": None},
    {"id": 3, "name": None, "amount": "-0.01", "doc": None, "tags": None, "raw": {"base64": ""}},
]


@pytest.fixture
async def db(database_url):
    async with bench(database_url) as made:
        await made.rows(
            'DROP TABLE IF EXISTS "Odd name"; DROP TABLE IF EXISTS items; CREATE TABLE "Odd name" ("A b" int);'
            "CREATE TABLE items (id int PRIMARY KEY, name text, amount numeric, doc jsonb, tags text[], raw bytea)"
        )
        yield made


async def copied(db, **copy):
    output = await db.output(copy=copy)
    assert output.error is None, output.error
    return output


async def items(db):
    return await db.rows("SELECT * FROM items ORDER BY id")


@pytest.mark.spec("TL-01")
async def test_a_list_of_mappings_goes_into_a_table_as_it_is(db):
    output = await copied(db, into="items", rows=ROWS)

    assert output.helpers["pg"]["affected_rows"] == 3
    assert await items(db) == ROWS


async def test_a_list_of_lists_goes_into_the_columns_that_are_named(db):
    await copied(db, into="public.items", columns=["name", "id"], rows=[["a", 1], ["b", 2]])

    assert await db.rows("SELECT id, name FROM items ORDER BY id") == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


async def test_named_columns_are_taken_out_of_larger_rows(db):
    await copied(db, into="items", columns=["id"], rows=[{"id": 1, "colour": "red"}])

    assert await db.rows("SELECT id FROM items") == [{"id": 1}]


async def test_a_name_is_taken_as_it_is_written(db):
    await copied(db, into='"Odd name"', rows=[{"A b": 1}])
    await copied(db, into=["public", "Odd name"], rows=[{"A b": 2}])

    assert await db.rows('SELECT * FROM "Odd name"') == [{"A b": 1}, {"A b": 2}]


@pytest.mark.parametrize("form", ["csv", "ndjson", "json"])
async def test_what_goes_out_comes_in_again_unchanged(db, form):
    await copied(db, into="items", rows=ROWS)
    stored = await copied(db, **{"from": Sql(("items",)), "format": form})
    await db.rows("DELETE FROM items")

    loaded = await copied(db, into="items", rows=stored.ref)

    assert stored.helpers["pg"]["affected_rows"] == loaded.helpers["pg"]["affected_rows"] == 3
    assert await items(db) == ROWS


@pytest.mark.parametrize(("form", "empty"), [("csv", b"id,name\n"), ("ndjson", b""), ("json", b"[]")])
async def test_nothing_goes_out_and_comes_in_again_too(db, form, empty):
    stored = await copied(db, **{"from": sql("SELECT id, name FROM items"), "format": form})

    assert db.results.payloads[stored.ref["locator"]] == empty
    assert (await copied(db, into="items", rows=stored.ref)).helpers["pg"]["affected_rows"] == 0


@pytest.mark.parametrize("form", ["csv", "ndjson", "json"])
async def test_values_in_the_query_are_data(db, form):
    hostile = "a'); DROP TABLE items; -- $1 \\"
    query = sql(
        "SELECT ", hostile, "::text AS said, '$1' AS text, id FROM items WHERE id = ANY(", [1, 2], ") ORDER BY id"
    )
    await copied(db, into="items", columns=["id"], rows=[[1], [2], [3]])
    stored = await copied(db, **{"from": query, "format": form})

    await db.rows("DROP TABLE IF EXISTS said; CREATE TABLE said (said text, text text, id int)")
    await copied(db, into="said", rows=stored.ref)

    assert await db.rows("SELECT * FROM said ORDER BY id") == [
        {"said": hostile, "text": "$1", "id": number} for number in (1, 2)
    ]


async def test_an_amount_keeps_every_digit_on_its_way_from_a_reference(db):
    line = b'{"id": 1, "amount": 12345678901234567890.123456789}\n'
    reference = db.results.keep(line, LINES)

    await copied(db, into="items", rows=reference.as_data())

    assert await db.value("(SELECT amount FROM items)") == "12345678901234567890.123456789"


async def test_a_csv_without_a_header_goes_into_the_columns_that_are_named(db):
    reference = db.results.keep(b'1,"a,b"\n2,\n', "text/csv; charset=utf-8")

    await copied(db, into="items", columns=["id", "name"], header=False, rows=reference.as_data())

    assert await db.rows("SELECT id, name FROM items ORDER BY id") == [
        {"id": 1, "name": "a,b"},
        {"id": 2, "name": None},
    ]


async def test_an_output_stands_for_its_reference(db):
    reference = db.results.keep(json.dumps([{"id": 7}]).encode())

    await copied(db, into="items", rows={"status": "ok", "ref": reference.as_data()})

    assert await db.rows("SELECT id FROM items") == [{"id": 7}]


async def test_a_row_that_does_not_fit_takes_the_whole_load_back(db, database_url):
    lines = b"".join(b'{"id": %d}\n' % (number % 20_000) for number in range(20_001))
    output = await db.output(copy={"into": "items", "rows": db.results.keep(lines, LINES).as_data()})

    assert output.error.kind == "db_constraint"
    assert "COPY items, line 20001" in output.error.details["context"]
    assert seen(database_url, "SELECT count(*) FROM items") == [(0,)]


BAD = {
    "{into, columns, rows} or {from, format}": {},
    "copy has no colums": {"into": "items", "colums": [], "rows": []},
    "copy.into must be the name": {"into": "items; DROP TABLE items", "rows": []},
    "copy.rows must be a list": {"into": "items", "rows": "1,2,3"},
    "copy.columns must be": {"into": "items", "columns": "id", "rows": []},
    "has no column colour": {"into": "items", "rows": [{"id": 1, "colour": "red"}]},
    "row 2 must be a mapping": {"into": "items", "rows": [{"id": 1}, [2]]},
    "row 1 must have 6 values": {"into": "items", "rows": [[1]]},
    "row 1 must be a mapping or a list": {"into": "items", "rows": [1]},
    "is not base64": {"into": "items", "rows": [{"id": 1, "raw": {"base64": "no!"}}]},
    "copy.format must be one of csv, ndjson, json": {"from": sql("SELECT 1"), "format": "parquet"},
    "copy.format must be one of csv": {"from": sql("SELECT 1"), "format": ["csv"]},
    "must be one statement, but has 2": {"from": sql("SELECT 1; SELECT 2")},
    "that stands in the playbook itself": {"from": "SELECT 1"},
    "a statement that gives rows": {"from": sql("UPDATE items SET id = 1"), "format": "json"},
}


@pytest.mark.parametrize(("message", "copy"), BAD.items(), ids=list(BAD))
async def test_a_copy_that_cannot_be_done_says_why(db, message, copy):
    output = await db.output(copy=copy)

    assert (output.error.kind, output.error.retryable) == ("type", False)
    assert message in output.error.message
    assert await items(db) == []


@pytest.mark.parametrize(
    ("payload", "content_type", "message"),
    [
        (b'{"id": 1}\n{"id": ', LINES, "row 2"),
        (b'{"id": 1}', "application/json", "array"),
        (b"id,colour\n1,red\n", "text/csv", "no column colour"),
        (b"\x00", "application/octet-stream", "has no rows"),
    ],
)
async def test_a_reference_that_has_no_rows_says_so(db, payload, content_type, message):
    output = await db.output(copy={"into": "items", "rows": db.results.keep(payload, content_type).as_data()})

    assert output.error.kind == "type"
    assert message in output.error.message


async def test_a_reference_that_is_not_there_says_so(db):
    reference = db.results.keep(b"[]")
    db.results.payloads.clear()

    output = await db.output(copy={"into": "items", "rows": reference.as_data()})

    assert output.error.kind == "ref_missing"
