"""Prefect: its API server on SQLite, with its own settings (synchronous=NORMAL), and the flow in this process.

A flow returns before its task runs are stored, so a round ends when the last of them is in the database.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from services import Job, bounded, free_port, running, until

QUIET = {
    "PREFECT_LOGGING_LEVEL": "ERROR",
    "PREFECT_LOGGING_SERVER_LEVEL": "ERROR",
    "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}
STORED = "SELECT count(*) FROM task_run WHERE state_type = 'COMPLETED'"
STORED_SECONDS_MAX = 600.0
WORKFLOWS_AT_ONCE = 10  # with 500 at once its own HTTP client times out


class Flows:
    """The flows; Prefect reads its settings when it is imported, so they are made after those are."""

    def __init__(self) -> None:
        from prefect import flow, task

        nothing, get = task(_nothing), task(_get)

        @flow
        async def chained(count: int) -> int:
            for number in range(count):
                await nothing(number)
            return count

        @flow
        async def spread(count: int, in_flight: int) -> int:
            return await bounded(count, in_flight, nothing)

        @flow
        async def asked(count: int, in_flight: int, url: str) -> int:
            import aiohttp

            async with aiohttp.ClientSession() as session:
                return await bounded(count, in_flight, lambda _: get(session, url))

        self.chained, self.spread, self.asked = chained, spread, asked


async def _nothing(number: int) -> int:
    return number


async def _get(session: Any, url: str) -> Any:
    async with session.get(url) as answer:
        return await answer.json()


class Engine:
    """Server, flows, the loop they run on, and a look into the server's database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self.loop = asyncio.new_event_loop()
        self.flows = Flows()

    def run(self, flow: Coroutine[Any, Any, Any], tasks: int) -> Any:
        """Until so many more task runs are stored."""
        before = self.stored()
        found = self.loop.run_until_complete(flow)
        until(lambda: self.stored() >= before + tasks, "every task run is stored", STORED_SECONDS_MAX)
        return found

    def stored(self) -> int:
        return int(self.database.execute(STORED).fetchone()[0])


@contextmanager
def engine(folder: Path) -> Iterator[Engine]:
    port = free_port()
    os.environ.update(QUIET, PREFECT_HOME=str(folder), PREFECT_API_URL=f"http://127.0.0.1:{port}/api")
    command = [str(Path(sys.executable).with_name("prefect")), "server", "start", "--no-ui", "--host", "127.0.0.1"]
    with running([*command, "--port", str(port)], folder, port=port):
        reading = sqlite3.connect(f"file:{folder}/prefect.db?mode=ro", uri=True, timeout=60)
        with closing(reading) as database:
            yield Engine(database)


@contextmanager
def chain(job: Job) -> Iterator[Callable[[], None]]:
    with engine(job.folder) as parts:

        def once(count: int) -> None:
            assert parts.run(parts.flows.chained(count), count) == count

        once(5)
        yield lambda: once(job.count)


@contextmanager
def loop(job: Job) -> Iterator[Callable[[], None]]:
    with engine(job.folder) as parts:

        def once(count: int) -> None:
            assert parts.run(parts.flows.spread(count, job.in_flight), count) == count

        once(20)
        yield lambda: once(job.count)


@contextmanager
def workflows(job: Job) -> Iterator[Callable[[], None]]:
    with engine(job.folder) as parts:

        def once(count: int) -> None:
            parts.run(bounded(count, WORKFLOWS_AT_ONCE, lambda _: parts.flows.chained(3)), 3 * count)

        once(1)
        yield lambda: once(job.count)


@contextmanager
def requests(job: Job) -> Iterator[Callable[[], None]]:
    with engine(job.folder) as parts:

        def once(count: int) -> None:
            assert parts.run(parts.flows.asked(count, job.in_flight, job.url), count) == count

        once(10)
        yield lambda: once(job.count)


WORKLOADS = {"W1": chain, "W2": loop, "W3": workflows, "W5": requests}

if __name__ == "__main__":  # W4: as a script does it, with a server of its own for as long as it runs
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as hello:
        os.environ.update(QUIET, PREFECT_HOME=hello, PREFECT_SERVER_ALLOW_EPHEMERAL_MODE="true")
        asyncio.run(Flows().chained(1))
