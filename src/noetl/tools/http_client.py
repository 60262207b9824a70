"""Sending a request and reading the answer, through the guard: one `Request` in, one `Answer` out.

One session and its pool of connections for as long as the tool lives. aiohttp does the talking; what it would decide by
itself is switched off: environment proxies, cookies, redirects, decompression. Raises what aiohttp raises, `Refused`,
`OverLimit` and `Undecodable`; http_failures.py knows what each means.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from urllib.parse import urljoin

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from noetl.tools.http_answer import Answer
from noetl.tools.http_coding import ACCEPTED, PIECE_BYTES_MAX, BodyReader
from noetl.tools.http_guard import Guard, Lookup, Refused, target_of
from noetl.tools.http_request import Request

CONNECTIONS_MAX = 256
CONNECTIONS_PER_HOST_MAX = 64
REDIRECTS_MAX = 5
IDLE_SECONDS_MAX = 30.0
LOOKUP_CACHE_SECONDS = 10
CERTIFICATE_FILES_MAX = 64

REDIRECTS = frozenset((301, 302, 303, 307, 308))
REDIRECTS_OF_POST_TO_GET = frozenset((301, 302))
HEADERS_OF_ORIGIN = frozenset(("authorization", "cookie", "proxy-authorization"))
HEADERS_OF_BODY = frozenset(("content-type", "content-encoding", "content-language", "idempotency-key"))


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


class Client:
    """The one way out of kind http."""

    def __init__(self, guard: Guard, lookup: Lookup) -> None:
        self._guard = guard
        self._lookup = lookup
        self._session: aiohttp.ClientSession | None = None
        self._certificates: dict[str, ssl.SSLContext] = {}

    async def send(self, request: Request) -> Answer:
        """Send it, follow its redirects, and read the answer within its limits."""
        for _ in range(REDIRECTS_MAX + 1):
            answer = await self._send_once(request)
            location = answer.headers.get("location")
            if not request.follows_redirects or answer.status not in REDIRECTS or not location:
                return answer
            request = redirected(request, answer.status, location)
        raise Refused(f"{request.target.host} redirects more than {REDIRECTS_MAX} times")

    async def _send_once(self, request: Request) -> Answer:
        self._guard.check_literal(request.target.host)
        session = self._open_session()
        async with session.request(
            request.method,
            request.target.url,
            headers={"accept-encoding": ACCEPTED, **request.headers},
            data=request.body,
            allow_redirects=False,
            ssl=await self._ssl_of(request.verify),
            timeout=aiohttp.ClientTimeout(sock_connect=request.connect_seconds, sock_read=request.read_seconds),
        ) as response:
            body = b"" if request.method == "HEAD" else await _read_body(response, request.response_bytes_max)
            return Answer(
                status=response.status,
                headers=_headers_of(response),
                url=request.target.url,
                host=request.target.host,
                body=body,
                content_type=response.content_type.lower() if "Content-Type" in response.headers else "",
                charset=response.charset,
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

    async def _ssl_of(self, verify: bool | str) -> bool | ssl.SSLContext:
        if isinstance(verify, bool):
            return verify
        if verify not in self._certificates:
            if len(self._certificates) >= CERTIFICATE_FILES_MAX:
                self._certificates.clear()
            try:
                self._certificates[verify] = await asyncio.to_thread(ssl.create_default_context, cafile=verify)
            except (OSError, ssl.SSLError):
                raise Refused(f'spec.verify names "{verify}", which is not a readable file of certificates') from None
        return self._certificates[verify]

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
    if target.origin != request.target.origin:
        left_behind = HEADERS_OF_ORIGIN | request.secret_headers
        headers = {name: value for name, value in headers.items() if name not in left_behind}
    return msgspec.structs.replace(request, target=target, method=method, body=body, headers=headers)


async def _read_body(response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    reader = BodyReader(response.headers.get("Content-Encoding", ""), bytes_max)
    reader.expect(response.content_length)
    async for piece in response.content.iter_chunked(PIECE_BYTES_MAX):
        reader.feed(piece)
    return reader.finish()


def _headers_of(response: aiohttp.ClientResponse) -> dict[str, str]:
    """Lower-case names; of several lines of one name, one text: cookies by line, all others by comma."""
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        key = name.lower()
        joint = "\n" if key == "set-cookie" else ", "
        headers[key] = f"{headers[key]}{joint}{value}" if key in headers else value
    return headers
