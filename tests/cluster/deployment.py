"""Servers and workers of NoETL on this machine, as real processes, and what a client asks of them.

They share one home, and with it the tokens that the first server makes. Which deployment they are is what their
settings say: without any, one server with its workers inside. A request that got no answer has status 0: it may have
been heard.
"""

import http.client
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from noetl.testing.services import free_port
from tests.cluster.processes import LOOK_SECONDS, Program

READY_SECONDS_MAX = 180.0  # machines are shared
REQUEST_SECONDS_MAX = 20.0
LEASE_SECONDS = 5.0


class Answer(NamedTuple):
    """What a server answered; status 0: it did not."""

    status: int
    body: Any = None


class Deployment:
    """See above; `environ` are settings of its processes, and none are taken over from whoever runs the tests."""

    def __init__(self, folder: Path, lease_seconds: float = LEASE_SECONDS, **environ: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.lease_seconds = lease_seconds
        self.environ: dict[str, str] = {
            **{name: value for name, value in os.environ.items() if not name.startswith("NOETL_")},
            "NOETL_HOME": str(self.home),
            "NOETL_LEASE_SECONDS": str(lease_seconds),
            "NOETL_LOG_FORMAT": "json",
            **environ,
        }
        self.servers: list[Program] = []
        self.workers: list[Program] = []  # those that are processes of their own

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
