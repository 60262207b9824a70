"""A wire between a client and its server that a test can cut, or make deaf in one direction."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

PIECE_BYTES = 64 * 1024


class Proxy:
    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname, parts.port)
        self._wires: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task] = set()
        self.is_deaf = False  # what the server says does not reach the client
        self.connections = 0
        self.url = ""

    def cut(self) -> None:
        """Every connection breaks; new ones may be made."""
        for writer in list(self._wires):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        there_reader, there_writer = await asyncio.open_connection(*self._target)
        self._wires |= {writer, there_writer}
        for source, sink, is_answer in ((reader, there_writer, False), (there_reader, writer, True)):
            task = asyncio.create_task(self._pipe(source, sink, is_answer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, is_answer: bool) -> None:
        try:
            while data := await source.read(PIECE_BYTES):
                if not (is_answer and self.is_deaf):
                    sink.write(data)
                    await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.transport.abort()
            self._wires.discard(sink)

    async def settle(self) -> None:
        self.cut()
        if self._tasks:
            await asyncio.wait(self._tasks)


@asynccontextmanager
async def proxied(target: str) -> AsyncIterator[Proxy]:
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.settle()
        await server.wait_closed()
