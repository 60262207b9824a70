"""The web API that the examples talk to. On loopback, in memory, without passwords; standard library only.

    python examples/api.py                 # serves on port 8080, where the examples look for it; prints its address

    GET    /users, /orders ?page=1&size=50   {rows, has_more}
    POST   /pages                            {list, page, rows}: keeps a page    GET /pages: {list: rows kept}
    POST   /reports                          {id}                                GET /reports/<id>: working, then ready
    POST   /flights                          {id}                                DELETE /flights/<id>
    POST   /hotels                           409: the hotel is full              GET /flights: {booked}
    GET    /measure/visitors                 {count}
    POST   /alarms, /messages                {}
    GET    /payouts                          {rows}                              POST /payouts/<id>/pay
    GET    /feed                             {articles}                          GET /articles/<id>: 404 for one of them
    PUT    /review/<id>                      {}

A POST with an Idempotency-Key that was seen before changes nothing and gets the answer it got.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"
PORT = 8080
BODY_BYTES_MAX = 1024 * 1024
ROWS = {"users": 230, "orders": 120}
ASKS_UNTIL_READY = 3  # of a report
VISITORS = 12
PAYOUTS = [{"id": 1, "amount": 900}, {"id": 2, "amount": 600}]
ARTICLES = {
    "lakes": {"title": "Data lakes, ten years on", "text": "What became of the data, and what it cost in the cloud."},
    "tea": {"title": "How to make tea", "text": "Water first."},
    "pipes": {"title": "A pipeline is a promise", "text": "Each pipeline tells somebody that data will be there."},
}

Answer = tuple[int, Any]


class Shop:
    """All that the API knows. Its methods are called under one lock."""

    def __init__(self) -> None:
        self.pages: dict[tuple[str, int], list[Any]] = {}
        self.reports: dict[str, int] = {}  # id → how often somebody asked
        self.flights: dict[str, str] = {}  # id → traveller
        self.flight_count = 0

    def rows(self, name: str, query: dict[str, str], _body: Any) -> Answer:
        page, size = int(query.get("page", 1)), int(query.get("size", 50))
        numbers = range((page - 1) * size + 1, min(page * size, ROWS[name]) + 1)
        return 200, {"rows": [{"id": number} for number in numbers], "has_more": page * size < ROWS[name]}

    def keep_page(self, _id: str, _query: dict[str, str], body: Any) -> Answer:
        self.pages[body["list"], body["page"]] = body["rows"]
        return 201, {"kept": len(body["rows"])}

    def kept(self, _id: str, _query: dict[str, str], _body: Any) -> Answer:
        names = sorted({name for name, _ in self.pages})
        return 200, {name: sum(len(rows) for (of, _), rows in self.pages.items() if of == name) for name in names}

    def begin_report(self, _id: str, _query: dict[str, str], _body: Any) -> Answer:
        report = str(len(self.reports) + 1)
        self.reports[report] = 0
        return 201, {"id": report}

    def ask_report(self, report: str, _query: dict[str, str], _body: Any) -> Answer:
        if report not in self.reports:
            return 404, {"error": f"there is no report {report}"}
        self.reports[report] += 1
        return 200, {"id": report, "state": "ready" if self.reports[report] >= ASKS_UNTIL_READY else "working"}

    def book_flight(self, _id: str, _query: dict[str, str], body: Any) -> Answer:
        self.flight_count += 1
        self.flights[f"F{self.flight_count}"] = body["traveller"]
        return 201, {"id": f"F{self.flight_count}"}

    def cancel_flight(self, flight: str, _query: dict[str, str], _body: Any) -> Answer:
        return 200, {"cancelled": flight, "traveller": self.flights.pop(flight, None)}

    def booked(self, _id: str, _query: dict[str, str], _body: Any) -> Answer:
        return 200, {"booked": self.flights}

    def book_hotel(self, _id: str, _query: dict[str, str], _body: Any) -> Answer:
        return 409, {"error": "the hotel is full"}

    def measure(self, what: str, _query: dict[str, str], _body: Any) -> Answer:
        return 200, {"what": what, "count": VISITORS}

    def payouts(self, _id: str, _query: dict[str, str], _body: Any) -> Answer:
        return 200, {"rows": PAYOUTS}

    def feed(self, _id: str, _query: dict[str, str], _body: Any) -> Answer:
        return 200, {"articles": [*ARTICLES, "gone"]}

    def article(self, name: str, _query: dict[str, str], _body: Any) -> Answer:
        return (200, ARTICLES[name]) if name in ARTICLES else (404, {"error": f"there is no article {name}"})

    def take(self, _id: str, _query: dict[str, str], _body: Any) -> Answer:
        return 201, {}


Route = Callable[[Shop, str, dict[str, str], Any], Answer]
ROUTES: list[tuple[str, str, Route]] = [
    ("GET", r"/(users|orders)", Shop.rows),
    ("POST", r"/(pages)", Shop.keep_page),
    ("GET", r"/(pages)", Shop.kept),
    ("POST", r"/(reports)", Shop.begin_report),
    ("GET", r"/reports/(\w+)", Shop.ask_report),
    ("POST", r"/(flights)", Shop.book_flight),
    ("GET", r"/(flights)", Shop.booked),
    ("DELETE", r"/flights/(\w+)", Shop.cancel_flight),
    ("POST", r"/(hotels)", Shop.book_hotel),
    ("GET", r"/measure/(\w+)", Shop.measure),
    ("POST", r"/(alarms|messages)", Shop.take),
    ("GET", r"/(payouts)", Shop.payouts),
    ("POST", r"/payouts/(\w+)/pay", Shop.take),
    ("GET", r"/(feed)", Shop.feed),
    ("GET", r"/articles/(\w+)", Shop.article),
    ("PUT", r"/review/(\w+)", Shop.take),
]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((HOST, port), Handler)
        self.shop = Shop()
        self.lock = threading.Lock()
        self.answered: dict[str, Answer] = {}  # by idempotency key

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal belongs to the run."""

    def handle_request(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(min(length, BODY_BYTES_MAX))
        key = self.headers.get("Idempotency-Key", "")
        with self.server.lock:
            answer = self.server.answered.get(key) or self.answer(json.loads(body or "null"))
            if key and self.command == "POST":
                self.server.answered[key] = answer
        self.send(*answer)

    do_GET = do_POST = do_PUT = do_DELETE = handle_request

    def answer(self, body: Any) -> Answer:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        for method, pattern, route in ROUTES:
            found = re.fullmatch(pattern, url.path)
            if found and method == self.command:
                return route(self.server.shop, found[1], query, body)
        return 404, {"error": f"there is no {self.command} {url.path}"}

    def send(self, status: int, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    parser = argparse.ArgumentParser(description="The web API that the examples talk to.")
    parser.add_argument("--port", type=int, default=PORT, help="0: any free one")
    with Server(parser.parse_args().port) as server:
        print(server.url, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
