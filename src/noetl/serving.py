"""The API on a socket: uvicorn inside our own event loop, with bounds on what a connection may take (security 20, 21).

Comes in: an application and where to listen. It says where it listens once it does, and drains when it is told to stop:
no new connections, requests under way are finished, streams end with a word to connect again.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import uvicorn
from starlette.applications import Starlette

from noetl.config import LOCAL_HOSTS, Settings
from noetl.errors import OperatorError, RequestError

CONNECTIONS_MAX = 10_000
HEAD_SECONDS_MAX = 10  # from the first byte of a request, or of a connection, to the end of its headers
HEAD_BYTES_MAX = 64 * 1024
KEEP_ALIVE_SECONDS = 30
DRAIN_SECONDS_MAX = 20
BACKLOG = 2048
CORKED_BYTES_MAX = 64 * 1024


class Corked:
    """A connection's way out on which what is written in one turn of the loop goes in one go: the head of an answer and
    its body, which cost the client and us as much as two answers if they go by themselves."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []
        self._bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)
        self._bytes += len(data)
        if self._bytes > CORKED_BYTES_MAX:  # so that whoever sends much is told when the client does not keep up
            self.flush()

    def flush(self) -> None:
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if waiting and not self._transport.is_closing():
            self._transport.write(b"".join(waiting))

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._waiting = []
        self._transport.abort()


class Impatient:
    """Closes a connection that takes too long, or too much, to say what it wants: laid over uvicorn's own protocol."""

    cycle: Any
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.Transport) -> None:
        way_out = Corked(transport, self.loop)
        super().connection_made(way_out)  # type: ignore[misc]  # of the protocol that this is laid over
        self._patience: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        if self._is_between_requests:
            if self._head_bytes > HEAD_BYTES_MAX:  # before this piece, which may hold the end and a body too
                self.transport.abort()
                return
            self._head_bytes += len(data)
        super().data_received(data)  # type: ignore[misc]
        if not self._is_between_requests:
            self._stop_waiting()
        elif self._patience is None:
            self._wait_for_head()

    def connection_lost(self, error: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(error)  # type: ignore[misc]

    @property
    def _is_between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_head(self) -> None:
        self._patience = self.loop.call_later(HEAD_SECONDS_MAX, self._lose_patience)

    def _stop_waiting(self) -> None:
        self._head_bytes = 0
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._patience = None
        if self._is_between_requests:
            self.transport.abort()


def protocol_class() -> type[asyncio.Protocol]:
    """Uvicorn's fast parser where it is installed, else the other."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Protocol  # type: ignore[assignment]
    return type("ImpatientProtocol", (Impatient, Protocol), {})


# --- where to listen -------------------------------------------------------------------------------------------------


def check_transport(settings: Settings) -> None:
    """Refuse to carry tokens over a network in the clear, unless that is asked for in so many words."""
    has_tls = settings.server_tls_cert is not None and settings.server_tls_key is not None
    if (settings.server_tls_cert is None) != (settings.server_tls_key is None):
        raise RequestError("server.tls_cert and server.tls_key go together: set both, or none")
    if has_tls or settings.server_insecure or is_loopback(settings.server_host):
        return
    raise RequestError(
        f'server.host is "{settings.server_host}", which others can reach; without TLS they could read every token. '
        "Set server.tls_cert and server.tls_key; or listen on 127.0.0.1; or, where something in front of this server "
        "does TLS, say so with server.insecure (--insecure)"
    )


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() in LOCAL_HOSTS


def listening_socket(settings: Settings) -> socket.socket:
    """A bound socket; bound here, so that a port that is taken is an error of ours with words."""
    host, port = settings.server_host.strip("[]"), settings.server_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends at once (TCP_NODELAY) only on sockets that name it: else the body of
    # an answer, and each event of a stream, waits up to 40 ms for the client to acknowledge what came before.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise OperatorError(
            f"cannot listen on {settings.server_host} port {port}: {error.strerror or error}. "
            "Stop what listens there, or choose another with --port"
        ) from None
    sock.setblocking(False)
    return sock


def url_of(settings: Settings, port: int) -> str:
    scheme = "https" if settings.server_tls_cert else "http"
    host = settings.server_host
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


# --- serving ---------------------------------------------------------------------------------------------------------


class Embedded(uvicorn.Server):
    """A uvicorn that leaves the signals to whoever started the loop."""

    def capture_signals(self) -> Any:
        from contextlib import nullcontext

        return nullcontext()


async def serve(app: Starlette, settings: Settings, ready: Callable[[str], None], stopping: asyncio.Event) -> None:
    """Serve until `stopping` is set, then drain. `ready` is told the URL once connections are taken."""
    check_transport(settings)
    server = Embedded(config_of(app, settings))
    sock = listening_socket(settings)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    try:
        await until_started(server, serving)
        ready(url_of(settings, sock.getsockname()[1]))
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
    finally:
        app.state.parts.watching.close()  # streams end now, or draining would wait for them
        server.should_exit = True
        await serving
        sock.close()


async def until_started(server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
    while not server.started:
        if serving.done():
            await serving
            raise OperatorError("the HTTP server ended before it began")
        await asyncio.sleep(0.01)


def config_of(app: Starlette, settings: Settings) -> uvicorn.Config:
    try:
        config = uvicorn.Config(
            app,
            http=protocol_class(),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=CONNECTIONS_MAX,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS_MAX,
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
            ssl_certfile=settings.server_tls_cert,
            ssl_keyfile=settings.server_tls_key,
        )
        config.load()
    except (OSError, ssl.SSLError) as error:
        files = f"{settings.server_tls_cert}) and server.tls_key ({settings.server_tls_key}"
        why = error.strerror if not isinstance(error, ssl.SSLError) else f"they are no such pair of PEM files ({error})"
        raise OperatorError(f"server.tls_cert ({files}) cannot be used: {why}") from None
    return config
