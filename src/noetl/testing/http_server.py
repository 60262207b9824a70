"""A web API to test against: on loopback, in threads of this process or as a process of its own.

    with running_api() as api:                       # or: python -m noetl.testing.http_server --port 0
        api.script("/orders", Answer(status=503, headers={"Retry-After": "1"}), Answer(json=[1, 2]))
        …
        assert [seen.status for seen in api.requests("/orders")] == [503, 200]

Routes that are always there:

    /echo              the request: method, path, query, headers, body, and its JSON
    /items?page=1      {items, page, per_page, total, has_more}; per_page if given; `item_count` items in all
    /delay/0.5         an answer after half a second
    /status/503        that status
    /_script           POST {"path": "/orders", "answers": [{"status": 503}, {"json": []}]}: what script() does
    /_log              GET: {requests, concurrency_max}, as requests() and concurrency_max() give them; DELETE forgets

A scripted path gives its answers in order, the last one from then on; "/items?page=3" scripts that target alone.
Nothing here needs more than the standard library and msgspec, and nothing checks who is asking: loopback only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

HOST = "127.0.0.1"
BODY_BYTES_MAX = 16 * 1024 * 1024
REQUESTS_KEPT_MAX = 100_000
ITEMS_PER_PAGE = 10
ITEM_COUNT = 25
BACKLOG = 512  # connections that wait to be accepted
IDLE_SECONDS_MAX = 60.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a scripted path answers: JSON, or text if that is given."""

    status: int = 200
    json: Any = None
    text: str | None = None
    headers: dict[str, str] = {}
    delay_seconds: float = 0.0
    hangs_up: bool = False  # ends the connection instead of answering


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it came in, and what became of it."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]  # lower-case names
    body: str
    connection: int  # the same number: the same connection
    status: int  # 0: hung up
    started_at: float  # seconds since 1970
    ended_at: float


class RequestLog:
    """Every request, and how many there were at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._now: Counter[str] = Counter()
        self._most: Counter[str] = Counter()

    def clear(self) -> None:
        with self._lock:
            self._seen.clear()
            self._most = Counter(self._now)

    @contextmanager
    def in_flight(self, path: str) -> Iterator[None]:
        """Count a request while it is being answered, for its path and for all ("")."""
        with self._lock:
            for name in ("", path):
                self._now[name] += 1
                self._most[name] = max(self._most[name], self._now[name])
        try:
            yield
        finally:
            with self._lock:
                self._now.subtract(("", path))

    def add(self, seen: Seen) -> None:
        with self._lock:
            if len(self._seen) < REQUESTS_KEPT_MAX:
                self._seen.append(seen)

    def requests(self, path: str | None = None) -> list[Seen]:
        with self._lock:
            return [seen for seen in self._seen if path in (None, seen.path)]

    def concurrency_max(self, path: str = "") -> int:
        with self._lock:
            return self._most[path]

    def as_data(self) -> dict[str, Any]:
        with self._lock:
            return {"requests": msgspec.to_builtins(self._seen), "concurrency_max": dict(self._most)}


class Scripts:
    """The answers still to come, by path or by whole target."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[str, list[Answer]] = {}

    def set(self, path: str, answers: tuple[Answer, ...]) -> None:
        with self._lock:
            self._answers[path] = list(answers)

    def take(self, target: str, path: str) -> Answer | None:
        with self._lock:
            answers = self._answers.get(target) or self._answers.get(path)
            if not answers:
                return None
            return answers.pop(0) if len(answers) > 1 else answers[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for them, so that no socket is left open behind a test
    request_queue_size = BACKLOG

    def __init__(self, port: int, item_count: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.item_count = item_count
        self.log = RequestLog()
        self.scripts = Scripts()
        self.closing = threading.Event()
        self.connection_numbers = itertools.count(1)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client may go away whenever it likes
            super().handle_error(request, client_address)

    def stop(self) -> None:
        self.closing.set()
        self.shutdown()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads from it
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave together
    timeout = IDLE_SECONDS_MAX
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection_number = next(self.server.connection_numbers)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on standard error: the log is for that."""

    def _handle(self) -> None:
        started_at = time.time()
        url = urlsplit(self.path)
        body = self._read_body()
        if url.path.startswith("/_"):
            self._send(self._operate(url.path, body))
            return
        with self.server.log.in_flight(url.path):
            answer = self.server.scripts.take(self.path, url.path) or self._built_in(url.path, body)
            self.server.closing.wait(answer.delay_seconds)
        self.server.log.add(self._seen(body, answer, started_at))
        self._send(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _handle

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return self._read_chunks()
        return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), BODY_BYTES_MAX))

    def _read_chunks(self) -> bytes:
        body = b""
        while (size := int(self.rfile.readline().split(b";")[0], 16)) and len(body) < BODY_BYTES_MAX:
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _seen(self, body: bytes, answer: Answer, started_at: float) -> Seen:
        url = urlsplit(self.path)
        return Seen(
            method=self.command,
            path=url.path,
            query=parse_qs(url.query, keep_blank_values=True),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body.decode("utf-8", "replace"),
            connection=self.connection_number,
            status=0 if answer.hangs_up else answer.status,
            started_at=started_at,
            ended_at=time.time(),
        )

    def _operate(self, path: str, body: bytes) -> Answer:
        if path == "/_script" and self.command == "POST":
            order = json.loads(body)
            self.server.scripts.set(order["path"], msgspec.convert(order["answers"], tuple[Answer, ...]))
            return Answer(json={})
        if path == "/_log":
            if self.command == "DELETE":
                self.server.log.clear()
            return Answer(json=self.server.log.as_data())
        return Answer(status=404, json={"error": f"there is no {self.command} {path}"})

    def _built_in(self, path: str, body: bytes) -> Answer:
        first, _, rest = path.lstrip("/").partition("/")
        if first == "echo":
            return Answer(json=self._echo(body))
        if first == "items":
            return Answer(json=self._page())
        if first == "delay":
            return Answer(json={"delayed": float(rest)}, delay_seconds=float(rest))
        if first == "status":
            return Answer(status=int(rest), json={"status": int(rest)})
        return Answer(status=404, json={"error": f"there is no {path}"})

    def _echo(self, body: bytes) -> dict[str, Any]:
        seen = self._seen(body, Answer(), 0.0)
        try:
            data = json.loads(body)
        except ValueError:
            data = None
        fields = ("method", "path", "query", "headers", "body")
        return {**{name: getattr(seen, name) for name in fields}, "json": data}

    def _page(self) -> dict[str, Any]:
        query = parse_qs(urlsplit(self.path).query)
        page = int(query.get("page", ["1"])[0])
        per_page = int(query.get("per_page", [str(ITEMS_PER_PAGE)])[0])
        total = self.server.item_count
        numbers = range((page - 1) * per_page + 1, min(page * per_page, total) + 1)
        items = [{"id": number, "name": f"item {number}"} for number in numbers]
        return {"items": items, "page": page, "per_page": per_page, "total": total, "has_more": page * per_page < total}

    def _send(self, answer: Answer) -> None:
        if answer.hangs_up:
            self.close_connection = True
            return
        body = (json.dumps(answer.json) if answer.text is None else answer.text).encode()
        kind = "application/json" if answer.text is None else "text/plain; charset=utf-8"
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), **answer.headers}
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and answer.status not in (204, 304):
            self.wfile.write(body)


class ApiServer:
    """A running server: its address, its script, its log."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self.url = f"http://{HOST}:{server.server_port}"
        self.clear = server.log.clear
        self.requests = server.log.requests
        self.concurrency_max = server.log.concurrency_max

    def script(self, path: str, *answers: Answer) -> None:
        """Answer this path, or this path with its query, with these in order; the last one from then on."""
        self._server.scripts.set(path, answers)

    @property
    def connection_count(self) -> int:
        """Connections on which a request came in."""
        return len({seen.connection for seen in self.requests()})


@contextmanager
def running_api(*, port: int = 0, item_count: int = ITEM_COUNT) -> Iterator[ApiServer]:
    """Serve in threads of this process until the end of the block."""
    server = _Server(port, item_count)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="test-api")
    thread.start()
    try:
        yield ApiServer(server)
    finally:
        server.stop()
        thread.join()


def main(words: list[str] | None = None) -> None:
    """Serve until the process is stopped; the first line printed is the URL."""
    parser = argparse.ArgumentParser(
        prog="python -m noetl.testing.http_server", description="A web API to test against."
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--items", type=int, default=ITEM_COUNT, help="how many items /items has")
    chosen = parser.parse_args(words)
    with running_api(port=chosen.port, item_count=chosen.items) as api, suppress(KeyboardInterrupt):
        print(api.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
