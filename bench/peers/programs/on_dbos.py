"""DBOS on SQLite, with its own settings: every step's outcome is committed before the next step begins."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbos import DBOS
from services import Job, bounded


@DBOS.step()
def nothing(number: int) -> int:
    return number


@DBOS.workflow()
def chained(count: int) -> int:
    """Plain functions: faster here than coroutines."""
    for number in range(count):
        nothing(number)
    return count


@DBOS.step()
async def nothing_async(number: int) -> int:
    return number


@DBOS.workflow()
async def spread(count: int, in_flight: int) -> int:
    return await bounded(count, in_flight, nothing_async)


@DBOS.step()
async def get(session: Any, url: str) -> Any:
    async with session.get(url) as answer:
        return await answer.json()


@DBOS.workflow()
async def asked(url: str, count: int, in_flight: int) -> int:
    import aiohttp

    async with aiohttp.ClientSession() as session:
        return await bounded(count, in_flight, lambda _: get(session, url))


@contextmanager
def engine(folder: Path) -> Iterator[None]:
    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/dbos.sqlite", "log_level": "ERROR"})
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy()


@contextmanager
def chain(job: Job) -> Iterator[Callable[[], None]]:
    def once() -> None:
        assert chained(job.count) == job.count

    with engine(job.folder):
        chained(20)
        yield once


@contextmanager
def workflows(job: Job) -> Iterator[Callable[[], None]]:
    def once() -> None:
        started = [DBOS.start_workflow(chained, 3) for _ in range(job.count)]
        assert sum(handle.get_result() for handle in started) == 3 * job.count

    with engine(job.folder):
        chained(3)
        yield once


@contextmanager
def awaited(job: Job, workflow: Callable[..., Any], *words: Any) -> Iterator[Callable[[], None]]:
    """A workflow of coroutines, always on the same loop: DBOS installs an executor on it."""
    loop = asyncio.new_event_loop()

    async def run(count: int) -> None:
        handle = await DBOS.start_workflow_async(workflow, *words, count, job.in_flight)
        assert await handle.get_result() == count

    with engine(job.folder):
        loop.run_until_complete(run(20))
        yield lambda: loop.run_until_complete(run(job.count))


WORKLOADS = {
    "W1": chain,
    "W2": lambda job: awaited(job, spread),
    "W3": workflows,
    "W5": lambda job: awaited(job, asked, job.url),
}

if __name__ == "__main__":  # W4
    with tempfile.TemporaryDirectory() as hello, engine(Path(hello)):
        chained(1)
