"""Kind transfer: rows from HTTP, files, references and queries into PostgreSQL; no chunk is moved twice."""

import asyncio
import json

import psycopg
import pytest
from psycopg import sql

from noetl.references import reference_of
from noetl.sql import Bound, Sql
from noetl.testing.hands import ResultsInMemory, call, hands, run
from noetl.testing.http_server import Answer, running_api
from noetl.tools import transfer
from noetl.tools.postgres_pools import POOL_SIZE
from tests.tools.http_parts import raw_server

pytestmark = pytest.mark.spec("UP-09")

ORDERS = [{"id": number, "name": f"n{number}", "tags": ["a", 'q"'], "more": {"x": 1.50}} for number in range(250)]
LINES = "".join(json.dumps(row) + "\n" for row in ORDERS).encode()
COLUMNS = "id bigint primary key, name text, tags text[], more jsonb"


@pytest.fixture
async def tool():
    made = transfer.make(hands())
    yield made
    await made.close()


@pytest.fixture
def database(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        for (stage,) in connection.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'noetl_stage_%'"
        ).fetchall():
            connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(stage)))
        connection.execute("DROP TABLE IF EXISTS orders, other, noetl_transfer")
        connection.execute(f"CREATE TABLE orders ({COLUMNS})")
        yield connection


@pytest.fixture
def move(tool, database, database_url):
    """Run a transfer into orders; its source is a file, unless another one is given."""

    async def moved(folder=None, task_run="move", attempt=0, trace_id="d429", results=None, spec=None, **values):
        values.setdefault("target", {"kind": "postgres", "auth": "db", "table": "orders"})
        return await run(
            tool,
            call(
                transfer.KIND,
                idempotency_key=f"1:1:-1:{task_run}:1.{attempt}",
                trace_id=trace_id,
                folder=folder,
                credentials={"db": {"dsn": database_url}},
                results=results,
                spec=spec,
                **values,
            ),
        )

    return moved


@pytest.fixture
def source(tmp_path):
    (tmp_path / "orders.ndjson").write_bytes(LINES)
    return {"source": {"kind": "file", "path": "orders.ndjson"}, "folder": tmp_path}


def count(database, table="orders"):
    return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - a name of these tests


def many_lines():
    return [b'{"id": %d, "name": "%s"}\n' % (number, b"x" * 80) for number in range(8_000)]


async def test_more_transfers_within_one_database_than_it_has_connections_end(move, database):
    count_of_transfers = 3 * POOL_SIZE

    outputs = await asyncio.gather(
        *(
            move(
                task_run=f"move_{number}",
                source={"kind": "postgres", "auth": "db"},
                query=Sql(("SELECT ", Bound(number), "::bigint AS id")),
            )
            for number in range(count_of_transfers)
        )
    )

    assert ([output.error for output in outputs], count(database)) == ([None] * count_of_transfers, count_of_transfers)


async def test_rows_of_a_file_arrive_with_their_types(move, source, database):
    output = await move(**source, chunk_rows=1000)

    assert (output.error, output.data) == (None, {"rows": 250, "chunks": 1, "skipped": 0})
    row = database.execute("SELECT id, name, tags, more->>'x' FROM orders WHERE id = 7").fetchone()
    assert row == (7, "n7", ["a", 'q"'], "1.5")


@pytest.mark.parametrize("content_type", ["application/x-ndjson", "application/json", "text/csv"])
async def test_rows_come_over_http_in_every_format(move, database, content_type):
    bodies = {
        "application/x-ndjson": LINES.decode(),
        "application/json": json.dumps(ORDERS),
        "text/csv": "id,name\n" + "".join(f"{row['id']},{row['name']}\n" for row in ORDERS),
    }
    with running_api() as api:
        api.script("/orders", Answer(text=bodies[content_type], headers={"Content-Type": content_type}))
        output = await move(source={"kind": "http", "url": f"{api.url}/orders"}, columns=["id", "name"])

    assert (output.error, count(database)) == (None, 250)


async def test_a_reference_is_a_source_and_columns_get_other_names(move, database):
    results = ResultsInMemory()
    kept = results.keep(b'{"number": 1, "title": "x", "noise": 0}\n', "application/x-ndjson")

    output = await move(
        source={"kind": "ref", "ref": kept.as_data()}, results=results, columns={"number": "id", "title": "name"}
    )

    assert (output.error, database.execute("SELECT id, name FROM orders").fetchall()) == (None, [(1, "x")])


async def test_a_query_moves_into_another_table_and_its_values_are_bound(move, source, database):
    await move(**source)
    database.execute(f"CREATE TABLE other ({COLUMNS})")
    hostile = "n7' OR '1'='1"
    query = Sql(("SELECT * FROM orders WHERE name = ", Bound(hostile), " OR id < ", Bound(5)))

    output = await move(
        source={"kind": "postgres", "auth": "db"},
        query=query,
        target={"kind": "postgres", "auth": "db", "table": "public.other"},
        task_run="again",
    )

    assert (output.error, count(database, "other")) == (None, 5)


async def test_a_query_goes_into_a_result_as_json_lines_or_csv(move, source, database):
    await move(**source)
    results = ResultsInMemory()
    found = {}

    for row_format in ("ndjson", "csv"):
        output = await move(
            source={"kind": "postgres", "auth": "db"},
            query=Sql(("SELECT id, name || E'\\\\\\n' AS name FROM orders WHERE id < 2 ORDER BY id -- all",)),
            target={"kind": "file", "format": row_format},
            results=results,
        )
        assert output.error is None, output.error
        assert output.helpers["transfer"]["rows"] == 2
        found[row_format] = results.payloads[output.ref["locator"]].decode()

    assert [json.loads(line) for line in found["ndjson"].splitlines()] == [
        {"id": 0, "name": "n0\\\n"},
        {"id": 1, "name": "n1\\\n"},
    ]
    assert found["csv"] == 'id,name\n0,"n0\\\n"\n1,"n1\\\n"\n'


async def test_json_that_was_written_over_several_lines_goes_into_one(move, database):
    database.execute("CREATE TABLE other (id int, note json)")
    note = '{"a":\\n\\t1,\\r\\n "b": "line\\\\nbreak \\\\\\\\ \\\\t"}'
    database.execute(f"INSERT INTO other VALUES (1, E'{note}')")  # noqa: S608 - a text of this test
    results = ResultsInMemory()

    output = await move(
        source={"kind": "postgres", "auth": "db"},
        query=Sql(("SELECT * FROM other",)),
        target={"kind": "file", "format": "ndjson"},
        results=results,
    )

    lines = (await results.fetch(reference_of(output.ref), 1000)).splitlines()
    assert [json.loads(line) for line in lines] == [{"id": 1, "note": {"a": 1, "b": "line\nbreak \\ \t"}}]


async def test_an_upsert_changes_what_is_there_and_the_last_of_one_key_counts(move, database, tmp_path):
    database.execute("INSERT INTO orders VALUES (1, 'old', NULL, NULL), (2, 'kept', NULL, NULL)")
    (tmp_path / "rows.ndjson").write_text('{"id": 1, "name": "a"}\n{"id": 3, "name": "b"}\n{"id": 1, "name": "c"}\n')

    output = await move(tmp_path, source={"kind": "file", "path": "rows.ndjson"}, mode="upsert", key="id")

    assert output.error is None, output.error
    rows = database.execute("SELECT id, name FROM orders ORDER BY id").fetchall()
    assert rows == [(1, "c"), (2, "kept"), (3, "b")]


async def test_a_replace_leaves_the_old_rows_until_all_new_ones_are_there(move, source, database, tmp_path):
    database.execute("INSERT INTO orders VALUES (-1, 'old', NULL, NULL)")
    (tmp_path / "bad.ndjson").write_bytes(LINES + b"{")
    bad = {"source": {"kind": "file", "path": "bad.ndjson"}, "folder": tmp_path}

    failed = await move(**bad, mode="replace", chunk_rows=100, task_run="bad")
    left = database.execute("SELECT id FROM orders").fetchall()
    output = await move(**source, mode="replace", chunk_rows=100)

    assert (failed.error.kind, left) == ("type", [(-1,)])
    assert (output.error, count(database)) == (None, 250)
    assert database.execute("SELECT id FROM orders WHERE id < 0").fetchall() == []


async def test_an_attempt_goes_on_after_the_last_chunk_of_the_one_before(move, database, tmp_path):
    rows = LINES.splitlines(keepends=True)
    (tmp_path / "rows.ndjson").write_bytes(b"".join(rows[:180]) + b"{broken")
    broken = {"folder": tmp_path, "source": {"kind": "file", "path": "rows.ndjson"}, "chunk_rows": 10}

    first = await move(**broken)
    moved = count(database)
    (tmp_path / "rows.ndjson").write_bytes(LINES)
    second = await move(**broken, attempt=1)
    third = await move(**broken, attempt=2)

    assert (first.error.kind, moved > 0) == ("type", True)
    assert (second.error, second.data["skipped"], count(database)) == (None, moved, 250)
    assert third.data["skipped"] == 250, "what is done is not done again"


async def test_another_store_with_the_same_ids_moves_its_own_rows(move, source, database):
    first = await move(**source, trace_id="d429")
    database.execute("TRUNCATE orders")

    second = await move(**source, trace_id="4133")

    assert (first.data["rows"], second.data["skipped"], count(database)) == (250, 0, 250)


async def test_what_a_replace_has_moved_would_survive_a_crash_of_the_server(move, database, tmp_path):
    (tmp_path / "broken.ndjson").write_bytes(b"".join(many_lines()) + b"no row\n")

    output = await move(tmp_path, source={"kind": "file", "path": "broken.ndjson"}, mode="replace", chunk_rows=100)

    kept = database.execute("SELECT relpersistence FROM pg_class WHERE relname LIKE 'noetl_stage_%'").fetchall()
    assert (output.error.kind, kept) == ("type", [("p",)])  # permanent: an unlogged table is emptied by a crash


async def test_a_source_that_changed_is_found_out(move, database, tmp_path):
    rows = LINES.splitlines(keepends=True)
    (tmp_path / "rows.ndjson").write_bytes(b"".join(rows) + b"{broken")
    broken = {"folder": tmp_path, "source": {"kind": "file", "path": "rows.ndjson"}, "chunk_rows": 10}
    await move(**broken)
    moved = count(database)
    other = [rows[1], rows[0], *rows[2:]]

    for changed in (other, rows[: moved - 1]):
        (tmp_path / "rows.ndjson").write_bytes(b"".join(changed))
        output = await move(**broken)

        assert "the source gives other rows" in output.error.message
        assert count(database) == moved


async def test_what_is_not_restartable_is_moved_whole_or_not_at_all(move, source, database, tmp_path):
    (tmp_path / "bad.ndjson").write_bytes(LINES + b"{")
    bad = {"source": {"kind": "file", "path": "bad.ndjson"}, "folder": tmp_path}

    failed = await move(**bad, spec={"restartable": False}, chunk_rows=10)
    left = count(database)
    output = await move(**source, spec={"restartable": False}, chunk_rows=10)

    assert (failed.error.kind, left, output.error, count(database)) == ("type", 0, None, 250)
    assert database.execute("SELECT to_regclass('noetl_transfer')").fetchone() == (None,)


async def test_two_workers_with_one_transfer_move_each_row_once(move, source, database):
    outputs = await asyncio.gather(*(move(**source, chunk_rows=10) for _ in range(4)))

    assert count(database) == 250
    assert {output.error.kind if output.error else "done" for output in outputs} <= {
        "done",
        "db_conflict",
        "db_constraint",
    }


async def test_a_cancelled_transfer_goes_on_later(move, database, tmp_path):
    lines = many_lines()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"

    async def half(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + b"".join(lines[:6_000]))
        await reader.read()  # until the client goes

    async with raw_server(half) as server:
        slow = {"source": {"kind": "http", "url": server.url}, "chunk_rows": 10}
        running = asyncio.ensure_future(move(**slow))
        while not count(database):
            assert not running.done(), running.result()
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    moved = count(database)
    idle = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state ~ 'in transaction'"
    left = database.execute(idle).fetchone()[0]
    (tmp_path / "rows.ndjson").write_bytes(b"".join(lines))
    output = await move(tmp_path, source={"kind": "file", "path": "rows.ndjson"})

    assert (0 < moved < 6_000, left) == (True, 0)
    assert (output.error, output.data["skipped"], count(database)) == (None, moved, 8_000)


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ({"source": {"kind": "ftp"}}, "type", "source must be a mapping whose kind is one of"),
        ({"source": {"kind": "file", "path": "../x"}}, "type", 'has no ".."'),
        ({"source": {"kind": "file", "path": "missing.csv"}}, "not_found", "missing.csv"),
        ({"source": {"kind": "postgres", "auth": "db"}}, "type", "needs query"),
        ({"source": {"kind": "postgres", "auth": "db", "query": "SELECT 1"}}, "type", "write query beside source"),
        ({"source": {"kind": "http", "url": "http://169.254.169.254/x"}}, "client_error", "169.254.169.254"),
        ({"source": {"kind": "http", "url": "http://127.0.0.1:1/x"}}, "connection", "cannot connect"),
        ({"target": {"kind": "postgres", "auth": "db", "table": "nowhere"}}, "not_found", "no table nowhere"),
        ({"target": {"kind": "postgres", "auth": "none", "table": "orders"}}, "auth", '"none" could not be resolved'),
        (
            {"target": {"kind": "postgres", "auth": "db", "table": "a;drop table orders"}},
            "type",
            "target.table must be",
        ),
        ({"columns": ["id", "nope"]}, "type", 'no column "nope"'),
        ({"mode": "upsert"}, "type", "needs key"),
        ({"mode": "upsert", "key": "name"}, "db_error", "42P10"),
    ],
)
async def test_what_cannot_be_moved_says_why(move, source, database, values, kind, words):
    output = await move(**{**source, **values})

    assert (output.error.kind, words in output.error.message) == (kind, True), output.error
    assert set(output.helpers) == {"transfer"}
    assert count(database) == 0


async def test_a_refusal_of_the_source_is_the_failure_of_the_task(move):
    with running_api() as api:
        api.script("/orders", Answer(status=503, json={"busy": True}, headers={"retry-after": "7"}))
        output = await move(source={"kind": "http", "url": f"{api.url}/orders"})

    assert (output.error.kind, output.error.retryable, output.retry_after_seconds) == ("server_error", True, 7.0)
