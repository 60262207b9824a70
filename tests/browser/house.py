"""A real server with a token for each role, and ways to fill it: what the browser tests look at."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cli.remote_server import Server

ROLES = ("viewer", "runner", "author", "admin")
ANSWER_SECONDS_MAX = 60.0
API = "/api/v1"


class House:
    """A server, as its pages and its tests see it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.tokens = {"admin": (server.home / "server.token").read_text().strip()}
        for role in ROLES[:-1]:
            self.tokens[role] = self.post("/tokens", {"role": role, "label": f"a {role}"})["token"]

    @property
    def url(self) -> str:
        return self.server.url

    def token(self, **grant: Any) -> str:
        """A token of its own: role, path_prefix."""
        return self.post("/tokens", grant)["token"]

    def get(self, path: str, role: str = "admin") -> Any:
        return self.ask("GET", path, role=role)

    def post(self, path: str, body: Any, role: str = "admin") -> Any:
        return self.ask("POST", path, json.dumps(body).encode(), role=role)

    def ask(
        self, method: str, path: str, body: bytes | None = None, *, role: str = "admin", media: str = "application/json"
    ) -> Any:
        """The document of an answer; an answer that is none is an AssertionError with its words."""
        headers = {"Authorization": f"Bearer {self.tokens[role]}"} | ({"Content-Type": media} if body else {})
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=ANSWER_SECONDS_MAX)) as line:
            line.request(method, API + path, body, headers)
            answer = line.getresponse()
            data = answer.read()
        assert answer.status < 300, f"{method} {path}: {answer.status} {data.decode()}"
        return json.loads(data) if data else None

    def register(self, text: str) -> dict[str, Any]:
        """Keep a playbook under its own path."""
        found: dict[str, Any] = self.ask("POST", "/catalog", text.encode(), media="application/yaml")
        return found

    def start(self, path: str, role: str = "admin", **payload: Any) -> str:
        """Start a registered playbook; gives the execution's id."""
        return str(self.post("/executions", {"path": path, "payload": payload}, role)["execution_id"])

    def run(self, path: str, **payload: Any) -> str:
        """The same, and wait until it has ended."""
        execution_id = self.start(path, **payload)
        self.follow(execution_id)
        return execution_id

    def follow(self, execution_id: str, until: str = "playbook.processed") -> None:
        """Wait for an event of an execution: the server tells of it."""
        headers = {"Authorization": f"Bearer {self.tokens['admin']}"}
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=ANSWER_SECONDS_MAX)) as line:
            line.request("GET", f"{API}/executions/{execution_id}/events/stream", headers=headers)
            answer = line.getresponse()
            while row := answer.readline():
                if row.decode().strip() == f"event: {until}":
                    return
        raise AssertionError(f"execution {execution_id} ended without {until}")

    def status(self, execution_id: str) -> str:
        return str(self.get(f"/executions/{execution_id}")["status"])


@contextmanager
def house(folder: Path, **settings: str) -> Iterator[House]:
    """A server in a home of its own, until the block ends."""
    home = folder / ".noetl"
    home.mkdir(mode=0o700)
    server = Server(home, **settings)
    server.start()
    try:
        yield House(server)
    finally:
        server.stop()
