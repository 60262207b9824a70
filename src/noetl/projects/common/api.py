"""The small shop that this project's playbook talks to, until you put your own address in its place.

    python api.py            # serves on http://127.0.0.1:8080 until Ctrl-C; Python alone is enough

    GET     /orders?page=1&size=10      {rows: [{id, customer, amount, day}], has_more}; ?day=2026-03-01 for one day
    POST    /reservations, /payments, /shipments    {id}; nothing is shipped to Atlantis (409)
    DELETE  /reservations/ID, …                     gives it back          GET /reservations, …: those there are
    POST    /alarms                                 hears an alarm

The same POST again (one Idempotency-Key) gets the answer that it got. All of it is in memory.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, urlsplit

NAMES = ["Ada", "Grace", "Linus", "Edsger", "Barbara"]
ORDERS = [
    {"id": n, "customer": NAMES[n % 5], "amount": n * 1.5, "day": f"2026-03-{1 + n % 3:02}"} for n in range(1, 26)
]
KEPT: dict[str, dict[str, object]] = {"reservations": {}, "payments": {}, "shipments": {}, "alarms": {}}
NUMBERS = count(1)
ANSWERED: dict[str, tuple[int, object]] = {}


def answer(method: str, path: str, query: dict[str, str], body: object) -> tuple[int, object]:
    name, _, number = path.strip("/").partition("/")
    if name == "orders":
        page, size = int(query.get("page", 1)), int(query.get("size", 10))
        rows = [order for order in ORDERS if query.get("day") in (None, order["day"])]
        return 200, {"rows": rows[(page - 1) * size : page * size], "has_more": page * size < len(rows)}
    if name not in KEPT:
        return 404, {"error": f"there is no {path}"}
    if method == "GET":
        return 200, KEPT[name]
    if method == "DELETE":
        return 200, {"given_back": KEPT[name].pop(number, None)}
    if isinstance(body, dict) and body.get("city") == "Atlantis":
        return 409, {"error": "nothing is shipped to Atlantis"}
    made = f"{name[0].upper()}{next(NUMBERS)}"
    KEPT[name][made] = body
    return 201, {"id": made}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together

    def handle_request(self) -> None:
        url, key = urlsplit(self.path), self.headers.get("Idempotency-Key", "")
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        status, data = ANSWERED.get(key) or answer(self.command, url.path, query, body)
        if key and self.command == "POST":
            ANSWERED[key] = status, data
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = handle_request


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The small shop that this project's playbook talks to.")
    parser.add_argument("--port", type=int, default=8080, help="0: any free one")
    port = parser.parse_args().port
    try:
        found = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        also = "python api.py --port 0, and give the playbook the address it prints: --set api_url=http://127.0.0.1:…"
        parser.exit(1, f"port {port} cannot be used ({error.strerror}); {also}\n")
    with found as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("stopped")
