"""What the tests of kind duckdb share: a tool, a folder beside which its files are, and results in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from noetl.engine.output import Output
from noetl.sql import Bound, Sql
from noetl.testing.hands import ResultsInMemory, call, hands, run
from noetl.tools import duckdb
from noetl.tools.contract import Call, ToolSettings

KIND = duckdb.KIND


class Bench:
    """A tool whose calls are made beside one playbook."""

    def __init__(self, folder: Path, settings: ToolSettings) -> None:
        self.folder = folder
        self.results = ResultsInMemory()
        self.tool = duckdb.make(hands(settings=settings))

    def call(self, **values: Any) -> Call:
        return call(KIND, **({"folder": self.folder, "results": self.results} | values))

    async def output(self, **values: Any) -> Output:
        return await run(self.tool, self.call(**values))

    async def rows(self, query: str | Sql, **values: Any) -> list[dict[str, Any]]:
        """What a query gives that must succeed."""
        output = await self.output(query=query, **values)
        assert output.error is None, output.error
        return output.data

    async def value(self, expression: str, **values: Any) -> Any:
        return (await self.rows(f"SELECT {expression} AS value", **values))[0]["value"]

    async def error(self, query: str | Sql, **values: Any) -> tuple[str, str]:
        """Kind and message of a failure that must come."""
        output = await self.output(query=query, **values)
        assert output.error is not None, output.data
        return output.error.kind, output.error.message

    async def stored(self, query: str, row_format: str, **values: Any) -> tuple[dict[str, Any], bytes]:
        """The reference that a query was written to, and what it holds."""
        output = await self.output(query=query, write={"format": row_format}, **values)
        assert output.error is None, output.error
        assert output.ref is not None
        return output.ref, self.results.payloads[output.ref["locator"]]


@asynccontextmanager
async def bench(folder: Path, **settings: Any) -> AsyncIterator[Bench]:
    """One slot, unless said otherwise: each call meets the child that the one before it left."""
    made = Bench(folder, ToolSettings(**({"process_slots": 1} | settings)))
    try:
        yield made
    finally:
        await made.tool.close()


def sql(*pieces: Any) -> Sql:
    """A command as a template gives it: texts at even places, values at odd ones."""
    return Sql(tuple(piece if index % 2 == 0 else Bound(piece) for index, piece in enumerate(pieces)))
