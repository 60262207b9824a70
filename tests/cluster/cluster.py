"""A cluster on this machine: PostgreSQL, NATS, servers and workers, all of them real processes.

What a test does to it goes through here: a request to a server, a process killed, paused or started again, a service
taken away. Servers, workers and command lines share one home, and with it the tokens that the first server makes.
"""

import http.client
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from noetl.testing.services import Restartable, free_port, restarting_nats, restarting_postgres
from tests.cluster.processes import LOOK_SECONDS, Program

READY_SECONDS_MAX = 60.0
REQUEST_SECONDS_MAX = 20.0
LEASE_SECONDS = 5.0
ENROLLED = "worker of pool"  # in the first line that a worker prints once its processes are known to a server


class Answer(NamedTuple):
    """What a server answered; status 0: it did not."""

    status: int
    body: Any = None


class Cluster:
    """See above; made by `running_cluster`."""

    def __init__(self, folder: Path, postgres: Restartable, nats: Restartable, lease_seconds: float) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.postgres = postgres
        self.nats = nats
        self.lease_seconds = lease_seconds
        self.environ: dict[str, str] = {
            **{name: value for name, value in os.environ.items() if not name.startswith("NOETL_")},
            "NOETL_HOME": str(self.home),
            "NOETL_STORE_URL": postgres.url,
            "NOETL_QUEUE_URL": nats.url,
            "NOETL_LEASE_SECONDS": str(lease_seconds),
            "NOETL_HTTP_LOOPBACK": "true",  # the test's own web server is there
            "NOETL_LOG_FORMAT": "json",
        }
        self.servers: list[Program] = []
        self.workers: list[Program] = []

    # --- processes ---------------------------------------------------------------------------------------------------

    def add_server(self) -> Program:
        port = free_port()
        words = ("server", "start", "--port", str(port))
        server = Program(
            f"server-{len(self.servers) + 1}",
            words,
            folder=self.folder,
            environ={**self.environ, "NOETL_SERVER_PORT": str(port)},
            is_ready=lambda _program: self.is_answering(f"http://127.0.0.1:{port}"),
        )
        self.servers.append(server)
        server.start()
        return server

    def add_worker(self, *flags: str, **environ: str) -> Program:
        """One process, so that a signal to it reaches the whole worker; it has no address of a database."""
        worker = Program(
            f"worker-{len(self.workers) + 1}",
            ("worker", "start", "--processes", "1", *flags),
            folder=self.folder,
            environ={name: value for name, value in self.environ.items() if name != "NOETL_STORE_URL"} | environ,
            is_ready=lambda program: ENROLLED in program.log,
        )
        self.workers.append(worker)
        worker.start()
        return worker

    def await_ready(self) -> None:
        for program in (*self.servers, *self.workers):
            program.await_ready(READY_SECONDS_MAX)

    def stop(self) -> None:
        """End everything cleanly, workers first."""
        for program in (*self.workers, *self.servers):
            if program.is_running:
                assert program.stop() == 0, program.log_tail

    def logs(self) -> dict[str, str]:
        return {program.name: program.log_tail for program in (*self.servers, *self.workers)}

    # --- requests ----------------------------------------------------------------------------------------------------

    def url(self, server: Program) -> str:
        return f"http://127.0.0.1:{server.environ['NOETL_SERVER_PORT']}"

    @property
    def urls(self) -> list[str]:
        return [self.url(server) for server in self.servers]

    @property
    def token(self) -> str:
        return (self.home / "server.token").read_text(encoding="utf-8").strip()

    def is_answering(self, url: str) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return exchange(url, "GET", "/healthz", {}, None).status == 200
        return False

    def ask(self, url: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request to one server."""
        given = {"Authorization": f"Bearer {self.token}", **headers}
        try:
            return exchange(url, method, path, given, body)
        except (OSError, http.client.HTTPException, ValueError):
            return Answer(0)

    def ask_any(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """The first definite answer of any server, in turn, as a client that retries gets it."""
        deadline = time.monotonic() + READY_SECONDS_MAX
        while True:
            for url in self.urls:
                answer = self.ask(url, method, path, body, **headers)
                if answer.status and answer.status < 500:
                    return answer
            assert time.monotonic() < deadline, f"no server answers {method} {path}: {answer}"
            time.sleep(LOOK_SECONDS * 10)


def exchange(url: str, method: str, path: str, headers: dict[str, str], body: Any) -> Answer:
    host, _, port = url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=REQUEST_SECONDS_MAX)
    try:
        data = None if body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **headers} if data is not None else headers
        connection.request(method, path, data, given)
        response = connection.getresponse()
        text = response.read()
        is_json = "json" in response.headers.get("content-type", "")
        return Answer(response.status, json.loads(text) if is_json else text.decode())
    finally:
        connection.close()


@contextmanager
def running_cluster(
    folder: Path,
    *,
    servers: int = 2,
    workers: int = 3,
    lease_seconds: float = LEASE_SECONDS,
    stop_signal: str = "SIGINT",
    **environ: str,
) -> Iterator[Cluster]:
    """A cluster that is ready; ended by force, whatever the test did to it. `stop_signal` is how PostgreSQL ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as services:
        postgres = services.enter_context(restarting_postgres(stop_signal=stop_signal))
        nats = services.enter_context(restarting_nats())
        cluster = Cluster(folder, postgres, nats, lease_seconds)
        cluster.environ |= environ
        try:
            start_all(cluster, servers, workers)
            yield cluster
        finally:
            for program in (*cluster.workers, *cluster.servers):
                program.discard()


def start_all(cluster: Cluster, servers: int, workers: int) -> None:
    cluster.home.mkdir(parents=True, exist_ok=True)
    for _ in range(servers):
        cluster.add_server()
    for server in cluster.servers:
        server.await_ready(READY_SECONDS_MAX)
    for _ in range(workers):
        cluster.add_worker()
    cluster.await_ready()


def until(is_so: Callable[[], object], what: str, seconds_max: float = READY_SECONDS_MAX) -> None:
    """Look until something that other processes do has happened."""
    deadline = time.monotonic() + seconds_max
    while not is_so():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(LOOK_SECONDS)
