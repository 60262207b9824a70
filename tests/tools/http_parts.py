"""For the tests of kind http: one request through a tool of its own, and servers that say exactly these bytes."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from noetl.engine.output import Output
from noetl.testing.hands import call, hands, run
from noetl.tools import http
from noetl.tools.contract import ToolSettings

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def http_tool(
    *, credentials: Mapping[str, Mapping[str, Any]] | None = None, settings: ToolSettings | None = None
) -> AsyncIterator[Callable[..., Awaitable[Output]]]:
    """A function that sends a request with one tool: the fields of the kind, and the words of a call."""
    tool = http.make(hands(settings=settings))

    async def send(url: str, **values: Any) -> Output:
        return await run(tool, call(http.KIND, url=url, credentials=credentials, **values))

    try:
        yield send
    finally:
        await tool.close()


async def answer_to(url: str, **values: Any) -> Output:
    """The output of one request."""
    async with http_tool() as send:
        return await send(url, **values)


class RawServer:
    """A server that answers each connection with its handler, and counts them."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.connection_count = 0
        self.open: set[int] = set()  # connections, by number
        self.port = 0
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        number = self.connection_count
        self.open.add(number)
        try:
            await self._handler(reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):  # the client went away
            pass
        finally:
            self.open.discard(number)
            writer.close()


@asynccontextmanager
async def raw_server(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    raw = RawServer(handler)
    server = await asyncio.start_server(raw.handle, "127.0.0.1", 0, ssl=tls)
    raw.port = server.sockets[0].getsockname()[1]
    raw.url = f"{'https' if tls else 'http'}://127.0.0.1:{raw.port}"
    try:
        yield raw
    finally:
        server.close()


def saying(*pieces: bytes) -> Handler:
    """Read the head of a request, then say these bytes."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return handler


def response(body: bytes, **headers: str) -> bytes:
    """The bytes of an answer with status 200; a header's _ stands for -."""
    lines = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), b"Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}".encode() for name, value in headers.items()]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
