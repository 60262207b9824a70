"""What the machine can do at all, without an engine: the yardsticks. Each function gives seconds for so many.

An event here is a row of 400 bytes in a plain table: not our schema, so that a change of ours moves only our side.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from bench import bare_services
from bench.http_server import http_server
from bench.measure import repeated, timed
from bench.report import Figure
from bench.spawning import BARE_PYTHON, IMPORTING_PYTHON, spawned
from noetl.testing.services import running_nats, running_postgres

EVENT = {
    "name": "task.done",
    "ts": 1_700_000_000.123456,
    "run": 12,
    "iter": 34,
    "task": "fetch_page",
    "visit": 1,
    "attempt": 1,
    "lease": 77,
    "do": "continue",
    "output": {
        "status": "ok",
        "data": {"page": 3, "count": 42, "ids": [1, 2, 3, 4], "has_more": True},
        "meta": {"duration_ms": 12.75, "worker": "worker-01"},
        "http": {"status": 200, "url": "http://127.0.0.1:8080/items/12?page=3"},
    },
    "patches": [{"scope": "iter", "key": "page", "value": 3}],
}
BODY = json.dumps(EVENT, separators=(",", ":"))
EXPRESSION = "ctx.a.b == 1 and iter.page < 5"
SCOPE = {"ctx": {"a": {"b": 1}}, "iter": {"page": 3}}
ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
REQUESTS_IN_FLIGHT = 50


class Limit(NamedTuple):
    """One of them: so many, in the seconds that `run` gives."""

    name: str
    title: str
    count: int
    run: Callable[[int], float]


def figures(rounds: int) -> Iterator[Figure]:
    """Every limit of the machine."""
    for name, title, words in (
        ("python", "`python -c pass`", BARE_PYTHON),
        ("python imports", "`python -c 'import asyncio, sqlite3, jinja2'`", IMPORTING_PYTHON),
    ):
        start = spawned(words)
        start()
        taken = repeated(lambda start=start: timed(start) * 1000, rounds)
        yield taken.figure(name, title, "ms", float)
    with ExitStack() as stack:
        for limit in [*in_process(), *of_services(stack)]:
            limit.run(max(1, limit.count // 10))
            taken = repeated(lambda limit=limit: limit.count / limit.run(limit.count), rounds)
            yield taken.figure(limit.name, limit.title, "/s", float)


def in_process() -> Iterator[Limit]:
    yield Limit("SQLite 1", "SQLite, `synchronous=FULL`: rows, 1 a commit", 1_000, lambda n: sqlite(n, 1))
    yield Limit("SQLite 100", "the same, 100 rows a commit", 20_000, lambda n: sqlite(n, 100))
    yield Limit("SQLite 1000", "the same, 1,000 rows a commit", 100_000, lambda n: sqlite(n, 1_000))
    yield Limit("asyncio tasks", "asyncio: tasks that take one turn", 20_000, lambda n: tasks(n, 100))
    yield Limit("thread hops", "from the event loop to a thread and back", 5_000, thread_hops)
    yield Limit("pipe", "a line to another process and back", 5_000, pipe_round_trips)
    yield Limit("Jinja2", "Jinja2, sandboxed: evaluations of a condition", 20_000, expressions)
    yield Limit("encode", f"msgspec: encodings of an event of {len(BODY)} bytes", 100_000, encodings)
    yield Limit("decode", "msgspec: decodings of it, untyped", 50_000, decodings)


def of_services(stack: ExitStack) -> Iterator[Limit]:
    database = stack.enter_context(
        bare_services.connected(stack.enter_context(running_postgres(bare_services.ON_DISK)))
    )
    yield Limit(
        "PostgreSQL 1", "PostgreSQL, `synchronous_commit=on`: rows, 1 a commit", 1_000, lambda n: database.rows(n, 1)
    )
    yield Limit("PostgreSQL 100", "the same, 100 rows a commit", 20_000, lambda n: database.rows(n, 100))
    nats_url = stack.enter_context(running_nats())
    yield Limit("NATS", "NATS: request and reply", 1_000, lambda n: bare_services.nats_round_trips(nats_url, n))
    url = stack.enter_context(http_server())
    title = f"aiohttp: GETs on loopback, {REQUESTS_IN_FLIGHT} in flight"
    yield Limit("aiohttp", title, 1_000, lambda n: requests(url, n, REQUESTS_IN_FLIGHT))


# --- one by one ------------------------------------------------------------------------------------------------------


def sqlite(rows: int, rows_per_commit: int) -> float:
    """So many rows, each commit on disk before the next begins."""
    table = "CREATE TABLE event (id INTEGER PRIMARY KEY, execution_id INTEGER, name TEXT, body TEXT)"
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(sqlite3.connect(Path(folder) / "limit.db", isolation_level=None)) as connection,
    ):
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", table):
            connection.execute(statement)
        return timed(lambda: _write(connection, rows, rows_per_commit))


def _write(connection: sqlite3.Connection, rows: int, rows_per_commit: int) -> None:
    insert, row = "INSERT INTO event (execution_id, name, body) VALUES (?, ?, ?)", (1, "task.done", BODY)
    for first in range(0, rows, rows_per_commit):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(insert, [row] * min(rows_per_commit, rows - first))
        connection.execute("COMMIT")


def tasks(count: int, in_flight: int) -> float:
    """So many tasks that do nothing but take their turn."""

    async def all_of_them() -> float:
        gate = asyncio.Semaphore(in_flight)

        async def one() -> None:
            async with gate:
                await asyncio.sleep(0)

        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(count)))
        return time.perf_counter() - began

    return asyncio.run(all_of_them())


def thread_hops(count: int) -> float:
    async def one_after_another() -> float:
        loop = asyncio.get_running_loop()
        began = time.perf_counter()
        for _ in range(count):
            await loop.run_in_executor(None, int)
        return time.perf_counter() - began

    return asyncio.run(one_after_another())


def pipe_round_trips(count: int) -> float:
    """To a process that is warm, one after another."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*BARE_PYTHON[:1], "-c", ECHO], bufsize=0, **pipes) as process:
        _there_and_back(process, 10)
        seconds = timed(lambda: _there_and_back(process, count))
        assert process.stdin
        process.stdin.close()
    return seconds


def _there_and_back(process: subprocess.Popen[bytes], times: int) -> None:
    there, back = process.stdin, process.stdout
    assert there
    assert back
    for _ in range(times):
        there.write(b"{}\n")
        back.readline()


def expressions(count: int) -> float:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    evaluate = ImmutableSandboxedEnvironment().compile_expression(EXPRESSION)
    return timed(lambda: _times(count, lambda scope: evaluate(**scope), SCOPE))


def encodings(count: int) -> float:
    import msgspec

    encode = msgspec.json.Encoder().encode
    return timed(lambda: _times(count, encode, EVENT))


def decodings(count: int) -> float:
    import msgspec

    decode, body = msgspec.json.Decoder().decode, BODY.encode()
    return timed(lambda: _times(count, decode, body))


def _times(count: int, do: Callable[[Any], object], what: Any) -> None:
    for _ in range(count):
        do(what)


def requests(url: str, count: int, in_flight: int) -> float:
    """So many GETs by aiohttp alone, their JSON read."""
    import aiohttp

    async def all_of_them() -> float:
        numbers = iter(range(count))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:

            async def one_after_another() -> None:
                for _ in numbers:
                    async with session.get(url) as answer:
                        json.loads(await answer.read())

            began = time.perf_counter()
            await asyncio.gather(*(one_after_another() for _ in range(in_flight)))
            return time.perf_counter() - began

    return asyncio.run(all_of_them())
