"""PostgreSQL and NATS by themselves, through the drivers that we use: what a cluster cannot be faster than."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ON_DISK = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
TABLE = "CREATE TABLE IF NOT EXISTS bare (id bigint, seq int, body text, PRIMARY KEY (id, seq))"
ROWS = "INSERT INTO bare (id, seq, body) SELECT %s, n, %s FROM generate_series(%s::int, %s::int) AS n"
BODY = "x" * 400


class Database:
    """One connection to a PostgreSQL, and a table of rows like events."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._written = 0

    def rows(self, count: int, rows_per_commit: int) -> float:
        """Seconds for so many rows, each commit on disk before the next begins."""
        self._written += 1
        began = time.perf_counter()
        for first in range(0, count, rows_per_commit):
            last = min(first + rows_per_commit, count) - 1
            self.connection.execute(ROWS, (self._written, BODY, first, last))
        return time.perf_counter() - began


@contextmanager
def connected(url: str) -> Iterator[Database]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLE)
        yield Database(connection)


def nats_round_trips(url: str, count: int) -> float:
    """Seconds for so many requests and replies between two connections, one after another."""
    return asyncio.run(_nats_round_trips(url, count))


async def _nats_round_trips(url: str, count: int) -> float:
    import nats

    one, other = await nats.connect(url), await nats.connect(url)

    async def answer(message: Any) -> None:
        await message.respond(b"{}")

    await other.subscribe("bare", cb=answer)
    await other.flush()
    began = time.perf_counter()
    for _ in range(count):
        await one.request("bare", BODY.encode(), timeout=10)
    seconds = time.perf_counter() - began
    await one.close()
    await other.close()
    return seconds
