"""Sending a request and reading the answer, through the guard: one `Request` in, one `Answer` out, or, for a body that
is not to be held in memory, an answer that is still coming in.

One session and its pool of connections for as long as the tool lives. aiohttp does the talking; what it would decide by
itself is switched off: environment proxies, cookies, redirects, decompression. Raises what aiohttp raises, `Refused`,
`OverLimit` and `Undecodable`; http_failures.py knows what each means.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from noetl.web.coding import ACCEPTED, PIECE_BYTES_MAX, BodyDecoder, OverLimit, Undecodable
from noetl.web.guard import Guard, Lookup, Refused, target_of
from noetl.web.messages import Answer, Request, Upload
from noetl.web.tls import TlsContexts

CONNECTIONS_MAX = 256
CONNECTIONS_PER_HOST_MAX = 64
REDIRECTS_MAX = 5
IDLE_SECONDS_MAX = 30.0
LOOKUP_CACHE_SECONDS = 10
TIMEOUTS_KEPT_MAX = 256

BODILESS_STATUSES = frozenset((204, 304))
REDIRECTS = frozenset((301, 302, 303, 307, 308))
REDIRECTS_OF_POST_TO_GET = frozenset((301, 302))
HEADERS_OF_ORIGIN = frozenset(("authorization", "cookie", "proxy-authorization"))
HEADERS_OF_BODY = frozenset(("content-type", "content-encoding", "content-language", "idempotency-key"))

UNANSWERED = (aiohttp.ClientError, OSError, OverLimit, Undecodable)  # what ends a request besides Refused


class GuardedResolver(AbstractResolver):
    """Looks a name up once and gives its addresses to the connector, if all of them are allowed."""

    def __init__(self, guard: Guard, lookup: Lookup) -> None:
        self._guard = guard
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await self._lookup(host, port)
        for address in addresses:
            self._guard.check(host, address)
        return [_resolved(host, address, port) for address in addresses]

    async def close(self) -> None:
        """There is nothing to give back."""


def _resolved(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=flags)


class Incoming:
    """An answer whose head is there and whose body is still to be read, once."""

    __slots__ = ("_request", "_response", "has_body", "status")

    def __init__(self, response: aiohttp.ClientResponse, request: Request) -> None:
        self._response = response
        self._request = request
        self.status = response.status
        self.has_body = request.method != "HEAD" and self.status not in BODILESS_STATUSES

    @property
    def head(self) -> Answer:
        """The answer without its body."""
        return self._answer(b"")

    async def pieces(self, bytes_max: int) -> AsyncIterator[bytes]:
        """The body, decoded, in pieces; OverLimit before more than bytes_max have been given."""
        if not self.has_body:
            return
        decoder = self._decoder(bytes_max)
        async for piece in self._response.content.iter_chunked(PIECE_BYTES_MAX):
            for decoded in decoder.decoded(piece):
                yield decoded
        decoder.finish()

    async def read(self) -> Answer:
        """The whole answer, within the limit of its request."""
        if not self.has_body:
            return self._answer(b"")
        decoder, content = self._decoder(self._request.response_bytes_max), self._response.content
        pieces: list[bytes] = []
        is_over = False
        while not is_over:  # by hand: most bodies are one piece, for which two generators cost more than the reading
            piece = await content.readany()
            pieces += decoder.decoded(piece) if decoder.is_coded else (decoder.counted(piece),)
            is_over = content.at_eof() and content.exception() is None
        decoder.finish()
        return self._answer(b"".join(pieces))

    def _decoder(self, bytes_max: int) -> BodyDecoder:
        decoder = BodyDecoder(self._response.headers.get("Content-Encoding", ""), bytes_max)
        decoder.expect(self._response.content_length)
        return decoder

    def _answer(self, body: bytes) -> Answer:
        response, target = self._response, self._request.target
        headers = _headers_of(response)
        return Answer(
            status=self.status,
            headers=headers,
            url=target.url,
            host=target.host,
            body=body,
            content_type=response.content_type.lower() if "content-type" in headers else "",
            charset=response.charset,
        )


class Exchange:
    """One request and its answer: sent when the block begins; the connection is free again when it ends.

    A class and not a generator, which takes longer to enter, and every request does.
    """

    __slots__ = ("_client", "_request", "_response")

    def __init__(self, client: Client, request: Request) -> None:
        self._client = client
        self._request = request

    async def __aenter__(self) -> Incoming:
        self._response, request = await self._client.answered(self._request)
        return Incoming(self._response, request)

    async def __aexit__(self, *_: object) -> None:
        await _let_go(self._response, self._request)


async def _let_go(response: aiohttp.ClientResponse, request: Request) -> None:
    """Give the connection back. One whose answer was read to its end is back already, unless a body is being sent."""
    if request.body is not None or not response.closed:
        await response.__aexit__(None, None, None)


class Client:
    """The one way out of kind http."""

    def __init__(self, guard: Guard, lookup: Lookup) -> None:
        self._guard = guard
        self._lookup = lookup
        self._session: aiohttp.ClientSession | None = None
        self._contexts = TlsContexts()

    async def send(self, request: Request) -> Answer:
        """Send it, follow its redirects, and read the answer within its limits."""
        async with self.open(request) as incoming:
            return await incoming.read()

    def open(self, request: Request) -> Exchange:
        """Send it, follow its redirects, and give the answer as it comes in: `async with client.open(…) as incoming`"""
        return Exchange(self, request)

    async def answered(self, request: Request) -> tuple[aiohttp.ClientResponse, Request]:
        """The first answer that leads nowhere else, and the request that it answers."""
        for _ in range(REDIRECTS_MAX + 1):
            response = await self._sent(request)
            if not request.follows_redirects or response.status not in REDIRECTS:
                return response, request
            location = response.headers.get("Location")
            if not location:
                return response, request
            await _let_go(response, request)
            request = redirected(request, response.status, location)
        raise Refused(f"{request.target.host} redirects more than {REDIRECTS_MAX} times")

    async def _sent(self, request: Request) -> aiohttp.ClientResponse:
        self._guard.check_literal(request.target.host)
        length, data = _content_of(request.body)
        return await self._open_session().request(
            request.method,
            request.target.url,
            headers={"accept-encoding": ACCEPTED, **request.headers, **length},
            data=data,
            allow_redirects=False,
            ssl=await self._contexts.of(request.verify, request.identity),
            timeout=_timeout_of(request.connect_seconds, request.read_seconds),
        )

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=GuardedResolver(self._guard, self._lookup),
                limit=CONNECTIONS_MAX,
                limit_per_host=CONNECTIONS_PER_HOST_MAX,
                keepalive_timeout=IDLE_SECONDS_MAX,
                ttl_dns_cache=LOOKUP_CACHE_SECONDS,
            )
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, auto_decompress=False
            )
        return self._session

    async def close(self) -> None:
        session, self._session = self._session, None
        if session:
            await session.close()


def redirected(request: Request, status: int, location: str) -> Request:
    """The request that a redirect asks for; what is meant for one origin does not reach another."""
    target = target_of(urljoin(request.target.url, location))
    method, body, headers = request.method, request.body, request.headers
    if (status == 303 and method != "HEAD") or (status in REDIRECTS_OF_POST_TO_GET and method == "POST"):
        method, body = "GET", None
        headers = {name: value for name, value in headers.items() if name not in HEADERS_OF_BODY}
    identity = request.identity
    if target.origin != request.target.origin:
        identity = None
        left_behind = HEADERS_OF_ORIGIN | request.secret_headers
        headers = {name: value for name, value in headers.items() if name not in left_behind}
    return msgspec.structs.replace(request, target=target, method=method, body=body, headers=headers, identity=identity)


def _content_of(body: bytes | Upload | None) -> tuple[dict[str, str], Any]:
    """A body as the HTTP library takes it, and the header that says its length where the library cannot know."""
    if not isinstance(body, Upload):
        return {}, body
    length = {} if body.length is None else {"content-length": str(body.length)}
    return length, body.open()


@lru_cache(TIMEOUTS_KEPT_MAX)
def _timeout_of(connect_seconds: float, read_seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(sock_connect=connect_seconds, sock_read=read_seconds)


def _headers_of(response: aiohttp.ClientResponse) -> dict[str, str]:
    """Lower-case names; of several lines of one name, one text: cookies by line, all others by comma."""
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        key = name.lower()
        joint = "\n" if key == "set-cookie" else ", "
        headers[key] = f"{headers[key]}{joint}{value}" if key in headers else value
    return headers
