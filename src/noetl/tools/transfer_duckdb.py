"""A query of a DuckDB file as the source of a transfer: its rows are written to a private file, and read from there.

Rows leave DuckDB as JSON lines, so that every number keeps its digits. The child, its limits and its lock-down are
those of kind duckdb; the database is free again when the last row has gone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

import msgspec

from noetl.tools.contract import Call, ToolSettings
from noetl.tools.duckdb_plan import plan_of
from noetl.tools.duckdb_runs import Runs, pieces_of
from noetl.tools.refused import Refused

FORMAT = "ndjson"
OWN_FIELDS = ("database", "attach")
QUERY_FIELDS = ("query", "params")


class DuckdbQueries:
    """Runs the queries of transfers; its children are started when one is first asked for."""

    def __init__(self, settings: ToolSettings) -> None:
        self._settings = settings
        self._runs: Runs | None = None

    @asynccontextmanager
    async def opened(self, call: Call, source: dict[str, Any]) -> AsyncIterator[tuple[AsyncIterator[bytes], str]]:
        """The rows of the call's query, and the format they are in. Raises Refused, and what Runs.done does."""
        if find_spec("duckdb") is None:
            raise Refused("exception", 'a source of kind duckdb needs: pip install "noetl[duckdb]"')
        if source.get("database") is None:
            raise Refused("type", "source.database must be the path of a DuckDB file beside the playbook")
        self._runs = self._runs or Runs(self._settings)
        plan = plan_of(_asked(call, source), self._settings)
        if len(plan.statements) != 1:
            raise Refused("type", f"query must be one statement, but has {len(plan.statements)}")
        async with self._runs.done(plan, call.results, None) as done:
            if done.file is not None:
                yield pieces_of(done.file), FORMAT

    async def close(self) -> None:
        if self._runs is not None:
            await self._runs.close()


def _asked(call: Call, source: dict[str, Any]) -> Call:
    """The call that kind duckdb would have for it."""
    given = {name: source[name] for name in OWN_FIELDS if source.get(name) is not None}
    given |= {name: call.given[name] for name in QUERY_FIELDS if call.given.get(name) is not None}
    return msgspec.structs.replace(call, given=given | {"write": FORMAT}, spec={}, is_transparent=False)
