"""Kind transfer with a query of a DuckDB file as its source; into a result, so that no other database is needed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from noetl.engine.output import Output
from noetl.testing.hands import ResultsInMemory, call, hands, run
from noetl.tools import transfer
from noetl.tools.contract import Tool
from tests.tools.duckdb_parts import bench, sql


@pytest.fixture
async def tool(tmp_path: Path) -> AsyncIterator[Tool]:
    async with bench(tmp_path) as db:
        await db.rows(
            "CREATE TABLE t AS SELECT range AS id, range / 4::decimal AS n FROM range(3)", database="t.duckdb"
        )
    made = transfer.make(hands())
    yield made
    await made.close()


async def moved(tool: Tool, folder: Path, results: ResultsInMemory, **values: Any) -> Output:
    source = {"kind": "duckdb", "database": "t.duckdb"}
    given = {"source": source, "target": {"kind": "file", "format": "ndjson"}} | values
    return await run(tool, call(transfer.KIND, folder=folder, results=results, **given))


@pytest.mark.spec("UP-09", "TL-01")
async def test_the_rows_of_a_query_are_moved(tool: Tool, tmp_path: Path) -> None:
    results = ResultsInMemory()

    output = await moved(
        tool, tmp_path, results, query=sql("SELECT * FROM t WHERE id >= ", 1, " ORDER BY id"), columns={"id": "key"}
    )

    assert output.error is None
    assert output.ref is not None
    assert output.helpers == {"transfer": {"rows": 2, "chunks": 1, "skipped": 0}}
    lines = results.payloads[output.ref["locator"]].splitlines()
    assert [json.loads(line) for line in lines] == [{"key": 1}, {"key": 2}]


@pytest.mark.spec("UP-09", "TL-01")
@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"query": "SELECT nothing FROM t"}, "db_error", "in line 1"),
        ({"query": "SELECT 1; SELECT 2"}, "type", "one statement"),
        ({"query": "FROM read_csv('/etc/passwd')"}, "db_error", "disabled"),
        ({"query": "FROM t", "source": {"kind": "duckdb"}}, "type", "source.database"),
        ({"query": "FROM t", "source": {"kind": "duckdb", "database": "../x"}}, "type", '".."'),
    ],
)
async def test_a_query_that_cannot_be_moved_says_why(
    tool: Tool, tmp_path: Path, given: dict[str, Any], kind: str, words: str
) -> None:
    output = await moved(tool, tmp_path, ResultsInMemory(), **given)

    assert output.error is not None
    assert output.error.kind == kind
    assert words in output.error.message
