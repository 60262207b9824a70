"""Kind duckdb: database files, attached ones, and results that it reads and writes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noetl.tools.duckdb_scratch import FOLDER, YOUNG_SECONDS
from tests.tools.duckdb_parts import Bench, bench


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


@pytest.mark.spec("TL-01")
async def test_a_database_file_is_made_beside_the_playbook_and_kept(db: Bench, tmp_path: Path) -> None:
    await db.rows("CREATE TABLE t AS SELECT 1 AS a", database="shop.duckdb")

    assert (tmp_path / "shop.duckdb").is_file()
    assert await db.rows("FROM t", database="shop.duckdb") == [{"a": 1}]
    assert await db.rows("FROM t", database={"path": "shop.duckdb", "read_only": True}) == [{"a": 1}]
    assert (await db.error("DROP TABLE t", database={"path": "shop.duckdb", "read_only": True}))[0] == "db_error"


@pytest.mark.spec("TL-01")
async def test_attached_databases_are_reached_by_their_names(db: Bench) -> None:
    await db.rows("CREATE TABLE t AS SELECT 1 AS a", database="one.duckdb")
    await db.rows("CREATE TABLE t AS SELECT 2 AS a", database="two.duckdb")
    attach = {"first": "one.duckdb", 'the "second"': {"path": "two.duckdb", "read_only": True}}

    both = 'SELECT x.a + y.a AS s FROM first.t AS x, "the ""second""".t AS y'
    assert await db.rows(both, attach=attach) == [{"s": 3}]
    assert await db.rows("INSERT INTO first.t VALUES (5); SELECT max(a) AS m FROM first.t", attach=attach) == [{"m": 5}]
    assert (await db.error('DELETE FROM "the ""second""".t', attach=attach))[0] == "db_error"


@pytest.mark.spec("TL-01")
@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        ({"database": "../out.duckdb"}, "type", '".."'),
        ({"database": "/var/out.duckdb"}, "not_found", "no file"),
        ({"database": "link/out.duckdb"}, "not_found", "no file"),
        ({"database": "dangling.duckdb"}, "not_found", "no file"),
        ({"database": "missing/out.duckdb"}, "not_found", "no file"),
        ({"database": {"path": "new.duckdb", "read_only": True}}, "not_found", "no file"),
        ({"database": {"path": "x", "mode": "rw"}}, "type", "read_only"),
        ({"database": "https://host/x.duckdb"}, "type", "URL"),
        ({"attach": {"pg": {"path": "x", "type": "postgres"}}}, "type", "extension"),
        ({"attach": {"system": "a.duckdb"}}, "type", "system"),
        ({"database": "a.duckdb", "attach": {"b": "a.duckdb"}}, "type", "different files"),
        ({"database": "not_one.duckdb"}, "db_error", "no file of DuckDB"),
        ({"read": {"t": "text"}}, "ref_misuse", "a reference"),
        ({"read": {"t": None}}, "ref_misuse", "step_name.data"),
        ({"write": {"format": "xlsx"}}, "type", "parquet, csv, json, ndjson"),
        ({"write": "parquet", "query": "CREATE TABLE t (a int)"}, "type", "must be a SELECT"),
    ],
    ids=lambda part: str(part)[:50] if isinstance(part, dict) else "",
)
async def test_what_cannot_be_is_refused_in_words(
    db: Bench, tmp_path: Path, fields: dict[str, object], kind: str, words: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path.parent)
    (tmp_path / "dangling.duckdb").symlink_to(tmp_path.parent / "nowhere.duckdb")
    (tmp_path / "not_one.duckdb").write_bytes(b"SQLite format 3\0" + bytes(4096))

    found = await db.error(**({"query": "SELECT 1"} | fields))  # type: ignore[arg-type]

    assert found[0] == kind
    assert words in found[1]


@pytest.mark.spec("TL-01")
async def test_a_file_that_another_process_has_is_a_passing_conflict(db: Bench, tmp_path: Path) -> None:
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", code, str(tmp_path / "held.duckdb")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        output = await db.output(query="SELECT 1", database="held.duckdb")

    assert output.error is not None
    assert (output.error.kind, output.error.retryable) == ("db_conflict", True)
    assert await db.rows("SELECT 1 AS a", database="held.duckdb") == [{"a": 1}]


@pytest.mark.spec("TL-01")
@pytest.mark.parametrize(
    ("row_format", "content_type", "start"),
    [
        ("parquet", "application/vnd.apache.parquet", b"PAR1"),
        ("csv", "text/csv", b"id,name,amount\n0,row 0,0.5\n"),
        ("json", "application/json", b"["),
        ("ndjson", "application/x-ndjson", b'{"id":0,"name":"row 0","amount":0.5}\n'),
    ],
)
async def test_rows_go_into_a_reference_and_come_back_out_of_it(
    db: Bench, row_format: str, content_type: str, start: bytes
) -> None:
    query = "SELECT range AS id, 'row ' || range AS name, range + 0.5 AS amount FROM range($1) -- all of them"

    reference, payload = await db.stored(query, row_format, params=[10_000])
    back = await db.rows(
        "SELECT count(*) AS n, sum(amount)::decimal(18, 1) AS s, max(name) AS m FROM stored", read={"stored": reference}
    )

    assert reference["meta"]["content_type"] == content_type
    assert payload.startswith(start)
    assert back == [{"n": 10_000, "s": "50000000.0", "m": "row 9999"}]


@pytest.mark.spec("TL-01")
async def test_several_results_are_joined_with_a_table(db: Bench) -> None:
    await db.rows("CREATE TABLE prices AS SELECT 'book' AS item, 12 AS price", database="shop.duckdb")
    orders = db.results.keep(b'[{"item": "book", "count": 2}, {"item": "pen", "count": 1}]').as_data()
    customers = db.results.keep(b"item;customer\nbook;Ada\n", "text/csv; charset=utf-8").as_data()
    odd = db.results.keep(b'{"item": "book"}\n{"item": "book", "late": true}\n', "text/plain").as_data()

    found = await db.rows(
        'SELECT customer, count * price AS total, (SELECT count(*) FROM "odd one") AS n '
        "FROM orders JOIN prices USING (item) JOIN customers USING (item) JOIN more USING (item)",
        database="shop.duckdb",
        read={
            "orders": orders,
            "customers": customers,
            "odd one": {"ref": odd, "format": "ndjson"},
            "more": [{"item": "book"}],
        },
    )

    assert found == [{"customer": "Ada", "total": 24, "n": 2}]


@pytest.mark.spec("TL-01")
async def test_a_result_without_rows_is_an_empty_table(db: Bench) -> None:
    assert await db.rows("SELECT count(*) AS n FROM nobody", read={"nobody": []}) == [{"n": 0}]
    assert (await db.stored("SELECT 1 AS a WHERE false", "json"))[1].split() == [b"[", b"]"]


@pytest.mark.spec("TL-01")
@pytest.mark.parametrize(
    ("payload", "content_type", "kind"),
    [
        (b"[1, 2", "application/json", "db_error"),
        (b"no parquet at all", "application/vnd.apache.parquet", "db_error"),
        (b"x" * (2 * 1024 * 1024), "text/csv", "limit"),
        (b"<html>", "text/html", "type"),
    ],
)
async def test_a_result_that_cannot_be_read_says_so(db: Bench, payload: bytes, content_type: str, kind: str) -> None:
    reference = db.results.keep(payload, content_type).as_data()

    found = await db.error("FROM t", read={"t": reference}, spec={"disk_mb": 1})

    assert found[0] == kind
    assert found[1].startswith("read.t")


@pytest.mark.spec("TL-01")
async def test_a_damaged_or_missing_result_is_an_error_of_its_own_kind(db: Bench) -> None:
    reference = db.results.keep(b"[]").as_data()
    missing = {**reference, "locator": "0" * 64}

    db.results.payloads[reference["locator"]] = b"[1]"

    assert (await db.error("FROM t", read={"t": missing}))[0] == "ref_missing"
    assert (await db.error("FROM t", read={"t": reference}))[0] == "ref_corrupt"


@pytest.mark.spec("TL-01")
@pytest.mark.parametrize("fields", [{"write": "csv"}, {"database": "large.duckdb", "command": True}], ids=str)
async def test_no_file_grows_by_more_than_its_disk(db: Bench, tmp_path: Path, fields: dict[str, object]) -> None:
    query = "SELECT range AS a, hash(range) AS b FROM range(1000000)"
    if fields.pop("command", False):
        query = f"CREATE TABLE t AS {query}"

    kind, message = await db.error(query, spec={"disk_mb": 1}, **fields)

    assert kind == "limit"
    assert "spec.disk_mb" in message
    assert all(file.stat().st_size <= 2 * 1024 * 1024 for file in tmp_path.iterdir())
    assert await db.value("42") == 42


KILLED = """
import asyncio, sys
from pathlib import Path
from noetl.testing.hands import call, hands, run
from noetl.tools import duckdb
from noetl.tools.contract import ToolSettings

async def main():
    tool = duckdb.make(hands(settings=ToolSettings(home=Path(sys.argv[1]))))
    await run(tool, call(duckdb.KIND, query="SELECT 1"))
    print("ready", flush=True)
    await run(tool, call(duckdb.KIND, read={"t": [{"a": 1}]}, query="SELECT count(*) FROM range(1000000000000) a, "
        "range(1000000000000) b WHERE (a.range * b.range) % 7 = 8"))

asyncio.run(main())
"""


@pytest.mark.spec("TL-01")
@pytest.mark.slow
async def test_what_a_killed_worker_left_is_removed_by_the_next(tmp_path: Path) -> None:
    scratch = tmp_path / FOLDER
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        worker.send_signal(signal.SIGKILL)
    (left,) = scratch.iterdir()
    long_ago = time.time() - 2 * YOUNG_SECONDS
    os.utime(left, (long_ago, long_ago))

    async with bench(tmp_path, home=tmp_path) as db:
        await db.value("1")
        there = list(scratch.iterdir())
        os.utime(there[0], (long_ago, long_ago))
        async with bench(tmp_path, home=tmp_path) as other:
            await other.value("1")

            assert left not in there
            assert set(there) < set(scratch.iterdir())  # it is old, but somebody holds it


@pytest.mark.spec("RS-02")
async def test_the_log_of_a_written_result_holds_its_reference_only(db: Bench) -> None:
    output = await db.output(query="SELECT 'unseen' AS a", write="ndjson")

    assert output.data is None
    assert "unseen" not in json.dumps(output.ref)
