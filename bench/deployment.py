"""A cluster on one machine: a server and its workers as processes of their own, over a PostgreSQL that forces every
commit to disk and a NATS. Started and ended here; asked through its API; the ends of executions are read in its
database, for whoever asks the server takes time from what is measured.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import bare_services, machine
from bench.spawning import compiled, of_a_role
from noetl.testing.services import free_port, running_nats, running_postgres

READY_SECONDS_MAX = 60.0
END_SECONDS_MAX = 600.0
LOOK_SECONDS = 0.02
STARTS_AT_ONCE = 32
ENDED = "SELECT status, created_at, ended_at FROM execution WHERE id = %s"
LAST_END = "SELECT count(*) FILTER (WHERE status = 'success'), max(ended_at) FROM execution WHERE id = ANY (%s)"


class Cluster:
    """A server, workers, and the services under them; `variables`: further NOETL_… settings of all of them."""

    def __init__(self, processes: int, variables: Mapping[str, str] | None = None) -> None:
        self.processes = processes
        self.variables = dict(variables or {})
        self.pids: list[int] = []

    def __enter__(self) -> Cluster:
        compiled()
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.postgres = stack.enter_context(running_postgres(bare_services.ON_DISK))
            self.nats = stack.enter_context(running_nats())
            self.port = free_port()
            stack.enter_context(self._process("server", "start", "--port", str(self.port)))
            self._until(self._is_healthy, "the server")
            stack.enter_context(self._process("worker", "start", "--processes", str(self.processes)))
            self._until(lambda: len(self.ask("GET", "/api/v1/workers")["workers"]) >= self.processes, "the workers")
            self.bare = stack.enter_context(bare_services.connected(self.postgres))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def database(self) -> Any:
        return self.bare.connection

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token_file(self) -> Path:
        return self.folder / "server.token"

    @contextmanager
    def _process(self, *words: str) -> Iterator[None]:
        places = {"NOETL_HOME": str(self.folder), "NOETL_STORE_URL": self.postgres, "NOETL_QUEUE_URL": self.nats}
        log = (self.folder / f"{words[0]}.log").open("wb")
        env = of_a_role(**places, **self.variables)
        command = [sys.executable, "-m", "noetl", *words]
        with log, subprocess.Popen(command, env=env, stdout=log, stderr=log) as process:
            self.pids.append(process.pid)
            try:
                yield
            finally:
                process.terminate()

    def _until(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not is_so():
            if time.monotonic() > deadline:
                log = (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"{what} did not come up:\n{log[-2000:]}")
            time.sleep(0.1)

    def _is_healthy(self) -> bool:
        """Of all but the workers, which come when it is."""
        try:
            checks = self.ask("GET", "/api/v1/health")["checks"]
            return all(check["is_ok"] for check in checks if check["name"] != "workers")
        except (OSError, http.client.HTTPException):
            return False

    def mebibytes(self) -> float:
        """What server and workers have now, without the services under them."""
        return machine.shared_mebibytes([pid for process in self.pids for pid in machine.tree(process)])

    def cpu_seconds(self) -> float:
        """What server and workers have used so far."""
        return machine.cpu_seconds([pid for process in self.pids for pid in machine.tree(process)])

    # --- asking ------------------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            return self.asked(connection, method, path, body)
        finally:
            connection.close()

    def asked(self, connection: http.client.HTTPConnection, method: str, path: str, body: Any) -> Any:
        connection.request(method, path, json.dumps(body) if body is not None else None, self._headers())
        answer = connection.getresponse()
        found = json.loads(answer.read() or b"null")
        if answer.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{method} {path}: {answer.status} {found}")
        return found

    def _headers(self) -> dict[str, str]:
        token = self.token_file.read_text(encoding="ascii").strip()
        return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def register(self, text: str) -> str:
        return str(self.ask("POST", "/api/v1/catalog", {"text": text, "name": "bench.yaml"})["path"])

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, text: str, payload: Mapping[str, Any] | None = None) -> float:
        """Seconds from its request to its end, as its log has them."""
        body = {"path": self.register(text), "payload": dict(payload or {})}
        return self._until_ended(self.ask("POST", "/api/v1/executions", body)["execution_id"])

    def _until_ended(self, execution_id: str) -> float:
        deadline = time.monotonic() + END_SECONDS_MAX
        while time.monotonic() < deadline:
            row = self.database.execute(ENDED, (int(execution_id),)).fetchone()
            if row is not None and row[2] is not None:
                if row[0] != "success":
                    raise RuntimeError(f"execution {execution_id} did not succeed: {row[0]}")
                return float(row[2] - row[1])
            time.sleep(LOOK_SECONDS)
        raise RuntimeError(f"execution {execution_id} did not end within {END_SECONDS_MAX:g} s")

    def run_many(self, text: str, count: int) -> float:
        """Seconds from the first request to the last end."""
        path = self.register(text)
        began = time.time()
        started = [int(execution_id) for execution_id in asyncio.run(self._started_at_once(path, count))]
        deadline = time.monotonic() + END_SECONDS_MAX
        while time.monotonic() < deadline:
            ended, last = self.database.execute(LAST_END, (started,)).fetchone()
            if ended == count:
                return float(last) - began
            time.sleep(LOOK_SECONDS)
        raise RuntimeError(f"{count} executions did not end within {END_SECONDS_MAX:g} s")

    async def _started_at_once(self, path: str, count: int) -> list[str]:
        """By aiohttp over few connections: a client that costs little of the two cores."""
        import aiohttp

        numbers = iter(range(count))
        found: list[str] = []
        connector = aiohttp.TCPConnector(limit=STARTS_AT_ONCE)
        body = json.dumps({"path": path}).encode()
        async with aiohttp.ClientSession(self.url, connector=connector, headers=self._headers()) as session:

            async def one_after_another() -> None:
                for _ in numbers:
                    async with session.post("/api/v1/executions", data=body) as answer:
                        answer.raise_for_status()
                        found.append((await answer.json())["execution_id"])

            await asyncio.gather(*(one_after_another() for _ in range(STARTS_AT_ONCE)))
        return found
