"""What the machine can do at all: the yardsticks of the engine. Each function gives seconds."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench.embedded import Commit
from noetl.stores.sqlite import SqliteStore
from noetl.stores.sqlite_rows import INSERT_EVENT


def sqlite(commits: list[Commit]) -> float:
    """These rows in these commits, each on disk before the next, and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "limit.db"
        asyncio.run(_make(path))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            start = time.perf_counter()
            for rows in commits:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(INSERT_EVENT, rows)
                connection.execute("COMMIT")
            return time.perf_counter() - start


async def _make(path: Path) -> None:
    """The same tables, in the same journal mode."""
    store = await SqliteStore.open(path)
    await store.close()


def bare_tasks(count: int, in_flight: int) -> float:
    """So many tasks that do nothing but take their turn, by asyncio alone."""

    async def all_of_them() -> float:
        gate = asyncio.Semaphore(in_flight)

        async def one() -> None:
            async with gate:
                await asyncio.sleep(0)

        start = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(count)))
        return time.perf_counter() - start

    return asyncio.run(all_of_them())


def bare_requests(url: str, count: int, in_flight: int) -> float:
    """So many GETs by aiohttp alone, their JSON read."""
    import aiohttp

    async def all_of_them() -> float:
        numbers = iter(range(count))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:

            async def one_after_another() -> None:
                for _ in numbers:
                    async with session.get(url) as answer:
                        json.loads(await answer.read())

            start = time.perf_counter()
            await asyncio.gather(*(one_after_another() for _ in range(in_flight)))
            return time.perf_counter() - start

    return asyncio.run(all_of_them())
