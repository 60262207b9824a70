"""W8 without an engine: the same pages, retries and rows, hand-written with aiohttp and psycopg. Nothing of it is kept.

Concurrency, connections, statements and waits are those of the playbook in `workloads.PAGING`; what is missing is what
an engine is for: a log that is on disk, and going on after a crash.
"""

from __future__ import annotations

import asyncio
import json
import time

STORE = (
    "INSERT INTO paged (item, page, id, name) SELECT %s, %s, id, name "
    "FROM jsonb_to_recordset(%s::jsonb) AS row (id int, name text)"
)
RETRIED = (429, 500, 502, 503)
ATTEMPTS = 5
CONNECTIONS = 10  # as many as a postgres task's credential has


def run(url: str, dsn: str, items: int, in_flight: int, retry_seconds: float) -> float:
    """Seconds until every page of every item is stored."""
    return asyncio.run(_run(url, dsn, items, in_flight, retry_seconds))


async def _run(url: str, dsn: str, items: int, in_flight: int, retry_seconds: float) -> float:
    import aiohttp
    import psycopg_pool

    numbers = iter(range(items))
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        psycopg_pool.AsyncConnectionPool(dsn, min_size=CONNECTIONS, max_size=CONNECTIONS, open=False) as pool,
    ):
        await pool.wait()

        async def one_after_another() -> None:
            for item in numbers:
                await _item(session, pool, url, item, retry_seconds)

        began = time.perf_counter()
        await asyncio.gather(*(one_after_another() for _ in range(in_flight)))
        return time.perf_counter() - began


async def _item(session, pool, url: str, item: int, retry_seconds: float) -> None:  # type: ignore[no-untyped-def]
    page, has_more = 1, True
    while has_more:
        found = await _page(session, f"{url}items/{item}", page, retry_seconds)
        async with pool.connection() as connection:
            await connection.execute(STORE, (item, page, json.dumps(found["rows"])))
        page, has_more = page + 1, found["has_more"]


async def _page(session, url: str, page: int, retry_seconds: float):  # type: ignore[no-untyped-def]
    for _ in range(ATTEMPTS):
        async with session.get(url, params={"page": str(page)}) as answer:
            if answer.status not in RETRIED:
                answer.raise_for_status()
                return json.loads(await answer.read())
        await asyncio.sleep(retry_seconds)
    raise RuntimeError(f"{url} was refused {ATTEMPTS} times")
