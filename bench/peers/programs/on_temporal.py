"""Temporal: the command line's development server over a SQLite file, and a worker in this process.

A step is an activity; with TEMPORAL_LOCAL=1 a local one, which takes fewer round trips and is stored with the next task
of its workflow.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity, workflow

with workflow.unsafe.imports_passed_through():
    from services import Job, bounded, free_port, running

IS_LOCAL = os.environ.get("TEMPORAL_LOCAL") == "1"
STEP_SECONDS_MAX = timedelta(seconds=300)
QUEUE = "bench"
CONNECT_TRIES_MAX = 300


@activity.defn
async def nothing(number: int) -> int:
    return number


class Asking:
    """The session that all activities share, from the first that asks something."""

    session: Any = None

    @classmethod
    async def get(cls, url: str) -> Any:
        import aiohttp

        cls.session = cls.session or aiohttp.ClientSession()
        async with cls.session.get(url) as answer:
            return await answer.json()

    @classmethod
    async def close(cls) -> None:
        if cls.session is not None:
            await cls.session.close()


@activity.defn
async def get(url: str) -> Any:
    return await Asking.get(url)


def step(function: Callable[..., Any], argument: Any) -> Awaitable[Any]:
    run = workflow.execute_local_activity if IS_LOCAL else workflow.execute_activity
    return run(function, argument, start_to_close_timeout=STEP_SECONDS_MAX)


@workflow.defn
class Chained:
    @workflow.run
    async def run(self, count: int) -> int:
        for number in range(count):
            await step(nothing, number)
        return count


@workflow.defn
class Spread:
    @workflow.run
    async def run(self, count: int, in_flight: int) -> int:
        return await bounded(count, in_flight, lambda number: step(nothing, number))


@workflow.defn
class Asked:
    @workflow.run
    async def run(self, count: int, in_flight: int, url: str) -> int:
        return await bounded(count, in_flight, lambda _: step(get, url))


@contextmanager
def server(folder: Path) -> Iterator[int]:
    port = free_port()
    program = str(Path(sys.executable).with_name("temporal"))
    options = ["--headless", "--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    database = ["--db-filename", str(folder / "temporal.db")]
    with running([program, "server", "start-dev", *options, *database], folder, port=port):
        yield port


async def connected(port: int) -> Any:
    """It listens before it can answer."""
    from temporalio.client import Client

    for _ in range(CONNECT_TRIES_MAX):
        try:
            return await Client.connect(f"127.0.0.1:{port}")
        except RuntimeError:
            await asyncio.sleep(0.1)
    raise RuntimeError("Temporal's server does not answer")


@asynccontextmanager
async def worker(port: int) -> AsyncIterator[Any]:
    from temporalio.worker import Worker

    client = await connected(port)
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=[Chained, Spread, Asked],
        activities=[nothing, get],
        max_concurrent_activities=500,
        max_concurrent_workflow_tasks=200,
    ):
        yield client
    await Asking.close()


async def result_of(client: Any, run: Any, *words: Any) -> Any:
    return await client.execute_workflow(run, args=words, id=str(uuid.uuid4()), task_queue=QUEUE)


@contextmanager
def engine(job: Job) -> Iterator[tuple[asyncio.AbstractEventLoop, Any]]:
    """Server and worker, and the loop that they are used on."""
    loop = asyncio.new_event_loop()
    stack = AsyncExitStack()
    with server(job.folder) as port:
        client = loop.run_until_complete(stack.enter_async_context(worker(port)))
        try:
            yield loop, client
        finally:
            loop.run_until_complete(stack.aclose())


@contextmanager
def one_workflow(job: Job, run: Any, *words: Any) -> Iterator[Callable[[], None]]:
    with engine(job) as (loop, client):

        def once(count: int) -> None:
            assert loop.run_until_complete(result_of(client, run, count, *words)) == count

        once(10)
        yield lambda: once(job.count)


@contextmanager
def workflows(job: Job) -> Iterator[Callable[[], None]]:
    with engine(job) as (loop, client):

        async def all_of_them(count: int) -> None:
            found = await asyncio.gather(*(result_of(client, Chained.run, 3) for _ in range(count)))
            assert sum(found) == 3 * count

        loop.run_until_complete(all_of_them(5))
        yield lambda: loop.run_until_complete(all_of_them(job.count))


WORKLOADS = {
    "W1": lambda job: one_workflow(job, Chained.run),
    "W2": lambda job: one_workflow(job, Spread.run, job.in_flight),
    "W3": workflows,
    "W5": lambda job: one_workflow(job, Asked.run, job.in_flight, job.url),
}


async def hello(port: int) -> None:
    async with worker(port) as client:
        await result_of(client, Chained.run, 1)


if __name__ == "__main__":  # W4: nothing runs before, so the server's start is part of it
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as fresh, server(Path(fresh)) as at:
        asyncio.run(hello(at))
