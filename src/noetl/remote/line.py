"""A line to a server: requests go out, bounded answers come back, over HTTP with a token.

The standard library's client, so that looking at a list costs no more than it must. Proxies of the environment and
redirects are not followed: the token goes to the server that was named, and nowhere else. Whatever is in the way of an
answer is an `Unreachable` that says what to do; a refusal is the error that the server had (`remote.answers`).
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from noetl import __version__
from noetl.config import LOCAL_HOSTS, Settings
from noetl.errors import TokenUnusable, Unauthenticated, Unreachable
from noetl.remote.answers import error_of
from noetl.remote.stream import OVER, Message, messages
from noetl.secret import Secret

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 75.0  # a server gives up after 60
SILENCE_SECONDS = 60.0  # of a stream: a server says something more often than that, if only that it is there
PIECE_BYTES = 256 * 1024
FILE_NAME = re.compile(r'filename="([A-Za-z0-9_][A-Za-z0-9._-]{0,200})"')
ANSWER_BYTES_MAX = 64 * 1024 * 1024
JSON, EVENT_STREAM = "application/json", "text/event-stream"
TOKEN_VARIABLE = "NOETL_TOKEN"  # noqa: S105 - its name
NO_TOKEN = (
    f"the server {{url}} wants a token, and there is none: name a file that holds one with --token-file or "
    f"server.token_file, or set {TOKEN_VARIABLE}. The first server over a store leaves one in its "
    f"home, {{file}} if that is this one"
)


class Token(msgspec.Struct, frozen=True):
    """A token, and where it came from."""

    secret: Secret
    origin: str


def token_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> Token:
    """The token of a file that was named, of the variable, or of the home. Raises TokenUnusable.

    The one of the home goes to servers of this machine only: `--server` may name a stranger's.
    """
    from noetl.identity import token_files

    if settings.server_token_file is not None:
        file = settings.server_token_file
        return Token(Secret(token_files.read_named(file)), str(file))
    if given := environ.get(TOKEN_VARIABLE, "").strip():
        if not (given.isascii() and given.isprintable() and " " not in given):
            raise TokenUnusable(f"{TOKEN_VARIABLE} must hold one token and nothing else")
        return Token(Secret(given), TOKEN_VARIABLE)
    file = settings.home / token_files.OF_ADMIN
    if urlsplit(settings.server_url).hostname in LOCAL_HOSTS and (found := token_files.read_own(file)):
        return Token(Secret(found), str(file))
    raise TokenUnusable(NO_TOKEN.format(url=settings.server_url, file=file))


class Line:
    """Talks to one server; one connection, made when it is first needed, used again for what follows."""

    def __init__(self, settings: Settings, token: Token) -> None:
        parts = urlsplit(settings.server_url)
        self.url = settings.server_url
        self._host, self._port = parts.hostname or "", parts.port
        self._base = parts.path.rstrip("/")
        self._tls = self._context(settings) if parts.scheme == "https" else None
        self._token = token
        self.is_known = False  # whether it has ever answered
        self.is_closed = False
        self._connection: http.client.HTTPConnection | None = None
        self._streaming: http.client.HTTPConnection | None = None

    def _context(self, settings: Settings) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=settings.server_ca_file)
        except OSError as fault:
            why = fault.strerror or "it holds no certificates"
            raise Unreachable(f"server.ca_file {settings.server_ca_file} cannot be used: {why}") from None

    # --- one request, one answer -------------------------------------------------------------------------------------

    def get(self, path: str, /, **query: Any) -> Any:
        """A document. Asked once more where a connection that was kept had been closed meanwhile."""
        asked = f"{path}?{urlencode(given)}" if (given := _given(query)) else path
        try:
            return self._ask("GET", asked)
        except Interrupted:
            return self._ask("GET", asked)

    def post(self, path: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        """`key`: the request may be sent again under it, and counts once."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._ask("POST", path, body, headers)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._ask("PUT", path, body)

    def delete(self, path: str) -> Any:
        return self._ask("DELETE", path)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        data = None if body is None else msgspec.json.encode(body)
        sent = self._headers(JSON) | dict(headers or {}) | ({} if data is None else {"Content-Type": JSON})
        connection = self._connection or self._connected(ANSWER_SECONDS)
        self._connection = None
        try:
            connection.request(method, self._base + path, data, sent)
            response = connection.getresponse()
            content = response.read(ANSWER_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException) as fault:
            connection.close()
            raise Interrupted(self._unreachable(fault)) from None
        self.is_known = True
        if response.will_close or len(content) > ANSWER_BYTES_MAX:
            connection.close()
        else:
            self._connection = connection
        return self._read(response, content)

    def _read(self, response: http.client.HTTPResponse, content: bytes) -> Any:
        if len(content) > ANSWER_BYTES_MAX:
            raise Unreachable(f"the server {self.url} answered with more than {ANSWER_BYTES_MAX:,} bytes")
        if response.status >= http.client.MULTIPLE_CHOICES:
            raise self._refusal(response, content)
        if not content:
            return None
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Unreachable(self._stranger(response)) from None

    # --- a stream ----------------------------------------------------------------------------------------------------

    def stream(self, path: str, after: int) -> Iterator[Message | None]:
        """What a server tells as it happens, those after one; None: it only says that it is there. OVER: no more."""
        with closing(self._connected(SILENCE_SECONDS)) as connection:
            self._streaming = connection
            try:
                headers = self._headers(EVENT_STREAM) | {"Last-Event-ID": str(after)}
                connection.request("GET", self._base + path, headers=headers)
                response = connection.getresponse()
                self.is_known = True
                if response.status == http.client.NO_CONTENT:
                    yield OVER
                    return
                if response.status != http.client.OK:
                    raise self._refusal(response, response.read(ANSWER_BYTES_MAX))
                with closing(response):
                    yield from messages(response)
            except (OSError, http.client.HTTPException, ValueError) as fault:
                raise Interrupted(self._unreachable(fault)) from None
            finally:
                self._streaming = None

    # --- a file ------------------------------------------------------------------------------------------------------

    def download(self, path: str, default_name: str) -> tuple[str, Iterator[bytes]]:
        """What a server sends as a file: its name, and its bytes in pieces. Closes the line when they are through."""
        connection = self._connected(ANSWER_SECONDS)
        try:
            connection.request("GET", self._base + path, headers=self._headers("*/*"))
            response = connection.getresponse()
            self.is_known = True
            if response.status != http.client.OK:
                raise self._refusal(response, response.read(ANSWER_BYTES_MAX))
        except (OSError, http.client.HTTPException) as fault:
            connection.close()
            raise Interrupted(self._unreachable(fault)) from None
        except BaseException:
            connection.close()
            raise
        return _file_name(response, default_name), self._pieces(connection, response)

    def _pieces(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> Iterator[bytes]:  # fmt: skip
        with closing(connection):
            try:
                while piece := response.read(PIECE_BYTES):
                    yield piece
            except (OSError, http.client.HTTPException) as fault:
                raise Interrupted(self._unreachable(fault)) from None

    # --- what they share ---------------------------------------------------------------------------------------------

    def _connected(self, answer_seconds: float) -> http.client.HTTPConnection:
        connection = (
            http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)
            if self._tls is None
            else http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT_SECONDS, context=self._tls)
        )
        try:
            connection.connect()
        except (OSError, UnicodeError) as fault:
            connection.close()
            raise self._unreachable(fault) from None
        connection.sock.settimeout(answer_seconds)
        return connection

    def _headers(self, accepted: str) -> dict[str, str]:
        return {
            "Accept": accepted,
            "Authorization": f"Bearer {self._token.secret.reveal()}",
            "User-Agent": f"noetl/{__version__}",
        }

    def _refusal(self, response: http.client.HTTPResponse, content: bytes) -> Exception:
        error = error_of(response.status, response.getheader("Content-Type", ""), content)
        if error is None:
            return Unreachable(self._stranger(response))
        if isinstance(error, Unauthenticated):
            return Unauthenticated(f"{error} (the token is from {self._token.origin})")
        return error

    def _stranger(self, response: http.client.HTTPResponse) -> str:
        return f"what answers at {self.url} is no NoETL server (HTTP {response.status}); check the URL of --server"

    def _unreachable(self, fault: Exception) -> Unreachable:
        return Unreachable(
            f"cannot reach the server {self.url}: {_reason(fault)}. Start it (noetl server start), check --server, or "
            "leave it away to work on this machine's own store"
        )

    def close(self) -> None:
        """Hang up; whoever reads a stream in another thread is told that it broke."""
        self.is_closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        streaming = self._streaming
        if streaming is not None and streaming.sock is not None:
            with suppress(OSError):
                streaming.sock.shutdown(socket.SHUT_RDWR)


class Interrupted(Unreachable):
    """The connection broke after a request was on its way: it may have been heard."""


def open_line(settings: Settings) -> Line:
    return Line(settings, token_of(settings))


def word(text: str) -> str:
    """A word of a path, whatever is in it."""
    return quote(text, safe="")


def _file_name(response: http.client.HTTPResponse, default: str) -> str:
    """What a server calls a file, if that is a name and nothing else."""
    found = FILE_NAME.search(response.getheader("Content-Disposition", ""))
    return found[1] if found else default


def _given(query: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items() if value is not None}


def _reason(fault: Exception) -> str:
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({fault.verify_message}); name its authority with server.ca_file"
    if isinstance(fault, TimeoutError):
        return "it did not answer in time"
    if isinstance(fault, http.client.HTTPException):
        return "the connection broke" if isinstance(fault, http.client.RemoteDisconnected) else "it does not speak HTTP"
    with suppress(AttributeError):
        if fault.strerror:  # type: ignore[attr-defined]  # of an OSError
            return str(fault.strerror)  # type: ignore[attr-defined]
    return str(fault) or type(fault).__name__
