"""A cluster on one machine: a server and its workers as processes of their own, over a PostgreSQL that forces every
commit to disk and a NATS, each figure beside what those two do by themselves in the same run."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import workloads
from bench.measure import Ratio, ratio_of
from noetl.testing.services import free_port, running_nats, running_postgres

ROUNDS = 5
STEPS = 200
ITERATIONS, IN_FLIGHT = 2_000, 100
WORKFLOWS, STEPS_EACH = 200, 3
STARTS = 100
LIVE, LIVE_AT_ONCE = 10_000, 16
READY_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.05
ENDED = "SELECT status, created_at, ended_at FROM execution WHERE id = %s"
ENDED_AT = "SELECT ended_at FROM execution WHERE id = %s"
ON_DISK = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
EVENT = "INSERT INTO bare (id, seq, body) SELECT %s, n, %s FROM generate_series(%s::int, %s::int) AS n"
BODY = json.dumps({"name": "task.done", "ts": 1.0, "run": 1, "output": {"status": "ok", "data": None}}).ljust(300)
WAITING = """apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: waiting }
workflow:
  - step: gate
    spec:
      policy:
        admit:
          rules:
            - when: "{{ ctx.go | default(false) }}"
              then: { allow: true }
            - else: { then: { allow: false } }
    tool: { kind: noop }
"""


def measurements() -> Iterator[Ratio]:
    """Every figure of the cluster, with the limit it has to keep."""
    with Cluster(processes=1) as one:
        yield from chain(one)
        yield from loop(one, "1 worker")
        yield workflows(one)
        yield from starts(one)
    with Cluster(processes=2) as two:
        yield from loop(two, "2 workers")


def chain(cluster: Cluster) -> Iterator[Ratio]:
    text = workloads.chain(STEPS)
    cluster.run(text)
    rounds = [(cluster.run(text), cluster.commits(STEPS), cluster.round_trips(STEPS)) for _ in range(ROUNDS)]
    name = f"cluster: chain of {STEPS}"
    commits = [(ours, stored) for ours, stored, _ in rounds]
    yield ratio_of(name, "PostgreSQL, 1-row commits", commits, limit=30, count=STEPS)
    trips = [(ours, sent) for ours, _, sent in rounds]
    yield ratio_of(name, "NATS, request and reply", trips, limit=60, count=STEPS)


def loop(cluster: Cluster, who: str) -> Iterator[Ratio]:
    text = workloads.loop(ITERATIONS, IN_FLIGHT)
    cluster.run(text)
    pairs = [(cluster.run(text), cluster.rows(4 * ITERATIONS, IN_FLIGHT)) for _ in range(ROUNDS)]
    name = f"cluster: loop {ITERATIONS:,}, {who}"
    yield ratio_of(name, f"PostgreSQL, {IN_FLIGHT} rows a commit", pairs, limit=60, count=ITERATIONS)


def workflows(cluster: Cluster) -> Ratio:
    text = workloads.chain(STEPS_EACH)
    cluster.run(text)
    pairs = [(cluster.run_many(text, WORKFLOWS), cluster.commits(WORKFLOWS)) for _ in range(ROUNDS)]
    name = f"cluster: {WORKFLOWS} of {STEPS_EACH} steps"
    return ratio_of(name, "PostgreSQL, 1-row commits", pairs, limit=60, count=WORKFLOWS)


def starts(cluster: Cluster) -> Iterator[Ratio]:
    """One more start, alone and beside ten thousand that live."""
    path = cluster.register(WAITING)
    cluster.start_many(path, 10)
    alone = [(cluster.start_many(path, STARTS), cluster.commits(STARTS)) for _ in range(ROUNDS)]
    yield ratio_of("cluster: start", "PostgreSQL, 1-row commits", alone, limit=60, count=STARTS)
    cluster.fill(path, LIVE)
    before = statistics.median(seconds for seconds, _ in alone)
    beside = [(cluster.start_many(path, STARTS), before) for _ in range(ROUNDS)]
    yield ratio_of(f"cluster: start beside {LIVE:,}", "the same, alone", beside, limit=2, count=STARTS)


class Cluster:
    """A server, workers, and the services under them."""

    def __init__(self, processes: int) -> None:
        self.processes = processes

    def __enter__(self) -> Cluster:
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.postgres = stack.enter_context(running_postgres(ON_DISK))
            self.nats = stack.enter_context(running_nats())
            self.port = free_port()
            stack.enter_context(self._process("server", "start", "--port", str(self.port)))
            self._until(self._is_healthy, "the server")
            stack.enter_context(self._process("worker", "start", "--processes", str(self.processes)))
            self._until(lambda: len(self.ask("GET", "/api/v1/workers")["workers"]) >= self.processes, "the workers")
            self.database = stack.enter_context(self._connected())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def _process(self, *words: str) -> Iterator[None]:
        variables = {"NOETL_HOME": str(self.folder), "NOETL_STORE_URL": self.postgres, "NOETL_QUEUE_URL": self.nats}
        log = (self.folder / f"{words[0]}.log").open("wb")
        with (
            log,
            subprocess.Popen(
                [sys.executable, "-m", "noetl", *words], env=os.environ | variables, stdout=log, stderr=log
            ) as process,
        ):
            try:
                yield
            finally:
                process.terminate()

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        import psycopg

        with psycopg.connect(self.postgres, autocommit=True) as connection:
            connection.execute("CREATE TABLE bare (id bigint, seq int, body text, PRIMARY KEY (id, seq))")
            self._bare = 0
            yield connection

    def _until(self, is_so: Any, what: str) -> None:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not is_so():
            if time.monotonic() > deadline:
                log = (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"{what} did not come up:\n{log[-2000:]}")
            time.sleep(0.1)

    def _is_healthy(self) -> bool:
        try:
            return bool(self.ask("GET", "/api/v1/health")["is_ok"])
        except (OSError, http.client.HTTPException):
            return False

    # --- what is measured --------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = self._connection()
        try:
            return self._asked(connection, method, path, body)
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def _asked(self, connection: http.client.HTTPConnection, method: str, path: str, body: Any) -> Any:
        token = (self.folder / "server.token").read_text(encoding="ascii").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        found = json.loads(answer.read() or b"null")
        if answer.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{method} {path}: {answer.status} {found}")
        return found

    def register(self, text: str) -> str:
        return str(self.ask("POST", "/api/v1/catalog", {"text": text, "name": "bench.yaml"})["path"])

    def run(self, text: str) -> float:
        """Seconds from its request to its end, as its log has them."""
        return self._until_ended(self.ask("POST", "/api/v1/executions", {"path": self.register(text)})["execution_id"])

    def _until_ended(self, execution_id: str) -> float:
        """Asked of the database: whoever asks the server takes time from what is measured."""
        while True:
            row = self.database.execute(ENDED, (int(execution_id),)).fetchone()
            if row is not None and row[2] is not None:
                assert row[0] == "success", row
                return float(row[2] - row[1])
            time.sleep(LOOK_SECONDS)

    def run_many(self, text: str, count: int) -> float:
        """Seconds from the first request to the last end."""
        path = self.register(text)
        began = time.time()
        last = 0.0
        for execution_id in asyncio.run(self._started_at_once(path, count)):
            self._until_ended(execution_id)
            (ended_at,) = self.database.execute(ENDED_AT, (int(execution_id),)).fetchone()
            last = max(last, ended_at)
        return last - began

    def start_many(self, path: str, count: int) -> float:
        """One after another, over one connection."""
        connection = self._connection()
        began = time.perf_counter()
        for _ in range(count):
            self._asked(connection, "POST", "/api/v1/executions", {"path": path})
        seconds = time.perf_counter() - began
        connection.close()
        return seconds

    def fill(self, path: str, count: int) -> None:
        asyncio.run(self._started_at_once(path, count))

    async def _started_at_once(self, path: str, count: int) -> list[str]:
        numbers = iter(range(count))
        found: list[str] = []

        async def one_after_another() -> None:
            for _ in numbers:
                answer = await asyncio.to_thread(self.ask, "POST", "/api/v1/executions", {"path": path})
                found.append(answer["execution_id"])

        await asyncio.gather(*(one_after_another() for _ in range(LIVE_AT_ONCE)))
        return found

    # --- what the services do by themselves --------------------------------------------------------------------------

    def commits(self, count: int) -> float:
        """So many commits of one row each, one after another."""
        self._bare += 1
        began = time.perf_counter()
        for number in range(count):
            self.database.execute(EVENT, (self._bare, BODY, number, number))
        return time.perf_counter() - began

    def rows(self, count: int, per_commit: int) -> float:
        self._bare += 1
        began = time.perf_counter()
        for number in range(0, count, per_commit):
            self.database.execute(EVENT, (self._bare, BODY, number, number + per_commit - 1))
        return time.perf_counter() - began

    def round_trips(self, count: int) -> float:
        """So many requests and replies between two connections, one after another."""
        return asyncio.run(_round_trips(self.nats, count))


async def _round_trips(url: str, count: int) -> float:
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
