"""python -m bench.http_server: answers every GET with a little JSON, as fast as asyncio can. Prints its address."""

from __future__ import annotations

import asyncio

BODY = b'{"status":"ok"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)
END = b"\r\n\r\n"
BACKLOG = 1024


class Answers(asyncio.Protocol):
    """One connection. A GET has no body, so the end of its head is its end."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport, self.rest = transport, b""

    def data_received(self, data: bytes) -> None:
        *whole, self.rest = (self.rest + data).split(END)
        self.transport.write((HEAD + BODY) * len(whole))


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Answers, "127.0.0.1", 0, backlog=BACKLOG)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
