"""Kind duckdb for the shared suite: a database file, and a process of ours that holds another one."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from noetl.secret import Secret
from noetl.sql import Bound, Sql
from noetl.testing.hands import call, hands
from noetl.testing.processes import Processes
from noetl.testing.tool_suite import PLANTED_SECRET, Entry, Specimen
from noetl.tools import duckdb
from noetl.tools.contract import Call

LATE_SECONDS = 1.0
ENDLESS = "SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b WHERE (a.range * b.range) % 7 = 8"
HOLDER = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


def secret_in(before: str, after: str) -> Sql:
    return Sql((before, Bound(Secret(PLANTED_SECRET)), after))


@asynccontextmanager
async def open_duckdb(folder: Path) -> AsyncIterator[Specimen]:
    def of(**values: Any) -> Call:
        return call(duckdb.KIND, folder=folder, **values)

    words = [sys.executable, "-c", HOLDER, str(folder / "held.duckdb")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield Specimen(
            kind=duckdb.KIND,
            make=duckdb.make,
            hands=hands(),
            good=of(database="good.duckdb", command="CREATE OR REPLACE TABLE t AS SELECT 42 AS a; FROM t"),
            expected=[{"a": 42}],
            final=of(query="SELECT nothing FROM nowhere"),
            retryable=of(database="held.duckdb", query="SELECT 1"),
            late=of(query=ENDLESS, total_seconds=LATE_SECONDS),
            endless=of(database="busy.duckdb", query=ENDLESS),
            is_under_way=(folder / "busy.duckdb").exists,  # made by the child, just before the query
            with_secret=(
                of(query=secret_in("SELECT length(", ")")),
                of(query=secret_in("SELECT CAST(", " AS integer)")),
                of(query=secret_in("SELECT error('it is: ' || ", ")")),
                of(query=secret_in("SELECT 1 FROM nowhere WHERE a = ", "")),
                of(query="SELECT current_setting('secret_directory')"),
                of(query="SELECT getenv('NOETL_PLANTED_TOKEN')"),
            ),
            left_over=Processes(),
        )


DUCKDB = Entry(name="duckdb", open=open_duckdb)
