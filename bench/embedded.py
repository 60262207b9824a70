"""Workloads through the parts that `noetl run` puts together, in this process, each in a home of its own.

What is timed begins when executions are asked for, with the playbook checked and registered, and ends when the last
event of the last one is on disk.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from noetl.clock import SystemClock
from noetl.config import load
from noetl.control.requests import Nobody, RunRequest
from noetl.embedded import kinds_of, made
from noetl.stores.contract import Batch
from noetl.stores.sqlite import SqliteStore
from noetl.stores.sqlite_rows import of_events

Commit = list[Any]  # rows of events, as they are written


class Measured(NamedTuple):
    """One run of a workload."""

    seconds: float
    storage_seconds: float  # of those, until commits were on disk
    commits: list[Commit]  # if they were to be kept


class WatchedStore(SqliteStore):
    """A store that knows how long its commits took, and what they were if that is wanted."""

    keeps_commits = False

    def watch(self, keeps_commits: bool) -> None:
        self.seconds, self.keeps_commits = 0.0, keeps_commits
        self.commits: list[Commit] = []

    async def commit(self, batch: Batch) -> None:
        start = time.perf_counter()
        await super().commit(batch)
        self.seconds += time.perf_counter() - start
        if self.keeps_commits:
            self.commits.append(of_events(batch.appends))


def run(
    text: str, *, executions: int = 1, payload: dict[str, Any] | None = None, keeps_commits: bool = False
) -> Measured:
    """Ask for so many executions of a playbook at once, and wait for all of them."""
    request = RunRequest(data=text.encode(), name="bench.yaml", payload=payload or {})
    with tempfile.TemporaryDirectory() as home:
        return asyncio.run(_run(Path(home), request, executions, keeps_commits))


async def _run(home: Path, request: RunRequest, executions: int, keeps_commits: bool) -> Measured:
    settings = load(home=str(home), environ={}, folder=home)
    store = await WatchedStore.open(settings.store_path)
    store.watch(keeps_commits)
    async with made(settings, store, Nobody(), SystemClock(), kinds_of(settings)) as parts:
        await parts.desk.register(request)
        parts.work()
        start = time.perf_counter()
        started = await asyncio.gather(*(parts.start(request) for _ in range(executions)))
        for execution_id, _ in started:
            await parts.until_quiet(execution_id)
        seconds = time.perf_counter() - start
        for execution_id, _ in started:
            row = await store.execution(execution_id)
            assert getattr(row, "status", None) == "success", row
    return Measured(seconds, store.seconds, store.commits)
