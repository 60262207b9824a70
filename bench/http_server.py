"""python -m bench.http_server: answers GETs on loopback as fast as asyncio can. Prints its address.

`/` is a little JSON. `/ROUND/items/N?page=P` is page P of an item: ten rows, and whether there are more. In each round,
one page in seventeen is refused with 429 the first time it is asked for.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PAGES = 4
ROWS_PER_PAGE = 10
REFUSED_EVERY = 17
BACKLOG = 1024
END = b"\r\n\r\n"
ITEM = re.compile(rb"^GET /([^/ ]+)/items/(\d+)\?page=(\d+) ")


def response(status: bytes, body: bytes) -> bytes:
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


HELLO = response(b"200 OK", b'{"status":"ok"}')
TOO_MANY = response(b"429 Too Many Requests", b'{"error":"too many requests"}')


class Answers(asyncio.Protocol):
    """One connection. A GET has no body, so the end of its head is its end."""

    def __init__(self, refused: set[tuple[bytes, int, int]]) -> None:
        self.refused = refused  # of all connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport, self.rest = transport, b""

    def data_received(self, data: bytes) -> None:
        *whole, self.rest = (self.rest + data).split(END)
        self.transport.write(b"".join(map(self.answer, whole)))

    def answer(self, head: bytes) -> bytes:
        asked = ITEM.match(head)
        return HELLO if asked is None else self.page(asked[1], int(asked[2]), int(asked[3]))

    def page(self, of_round: bytes, item: int, number: int) -> bytes:
        key = (of_round, item, number)
        if (item * PAGES + number) % REFUSED_EVERY == 0 and key not in self.refused:
            self.refused.add(key)
            return TOO_MANY
        first = (number - 1) * ROWS_PER_PAGE
        rows = [{"id": n, "name": f"row {n} of item {item}"} for n in range(first, first + ROWS_PER_PAGE)]
        return response(b"200 OK", json.dumps({"rows": rows, "has_more": number < PAGES}).encode())


@contextmanager
def http_server() -> Iterator[str]:
    """Its address. A process of its own, so that it does not share our interpreter's lock."""
    command = [sys.executable, "-m", "bench.http_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip() if server.stdout else ""
        finally:
            server.terminate()


async def main() -> None:
    refused: set[tuple[bytes, int, int]] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answers(refused), "127.0.0.1", 0, backlog=BACKLOG)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
