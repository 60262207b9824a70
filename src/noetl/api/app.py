"""The front door: a request comes in, one answer goes out; what is between follows from its operation's declaration.

    host ─→ route ─→ token ─→ role ─→ rate ─→ query ─→ body ─→ handler ─→ answer
      421     404      401      403     429      400     413 …              any of the table of `problems`

Every refusal is problem+json and every fault of ours a 500 without a traceback. Nothing here knows a single route.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from noetl import traceparent
from noetl.api import table
from noetl.api.allowance import Allowances
from noetl.api.hosts import Hosts
from noetl.api.identity import NOBODY, Doorkeeper, demand
from noetl.api.operations import HOOK, JSON, PUBLIC, Call, Operation, Reply
from noetl.api.parts import Parts
from noetl.api.problems import Refusal, refused
from noetl.api.reading import read_body, read_query
from noetl.api.routing import Found, Router
from noetl.api.sight import EXECUTION_ID
from noetl.clock import Clock
from noetl.identity.roles import VIEWER, Identity

ANSWER_SECONDS_MAX = 60.0
SEND_SECONDS_MAX = 30.0
TRACE_BYTES = 16
ASKED_ALL_THE_TIME = ("/healthz", "/metrics")
SAFETY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
log = logging.getLogger("noetl.api")


def make_app(parts: Parts, operations: tuple[Operation, ...] = table.OPERATIONS) -> Starlette:
    """The API over the parts of a server. Its lifespan runs the live view."""

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncIterator[None]:
        watching = asyncio.get_running_loop().create_task(parts.watching.run())
        try:
            yield
        finally:
            parts.watching.close()
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    app = Starlette(routes=[FrontDoor(parts, operations)], lifespan=alive)
    app.state.parts = parts
    return app


class FrontDoor(BaseRoute):
    """Takes every request of HTTP."""

    def __init__(self, parts: Parts, operations: tuple[Operation, ...]) -> None:
        self._parts = parts
        self._router = Router(table.check_table(operations))
        self._hosts = Hosts(parts.settings)
        self._doorkeeper = Doorkeeper(parts.authority)
        self._allowances = Allowances(parts.clock)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.FULL, {}) if scope["type"] == "http" else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = self._parts.clock.monotonic()
        sending = Sending(send, self._parts.clock)
        request = Request(scope, receive, sending)
        route, execution_id = "", ""
        try:
            found = self._found(request)
            route, execution_id = found.operation.path, found.path.get("execution_id", "")
            await self._serve(found, request, receive, sending)
        except TooSlow:
            log.warning("a client reads too slowly", extra={"action": "client_too_slow", "route": route})
        except Exception as error:
            if sending.status:  # half an answer is on its way: all that is left is to break it off
                raise
            await refused(error, trace_of(request))(scope, receive, sending)
        finally:
            ended = self._parts.clock.monotonic()
            method = request.method if route else ""
            # A stream lasts for hours, and a large result as long as its reader likes: neither says how fast we are.
            answered = (sending.head_at or ended) - began
            self._parts.meters.answered(method=method, route=route, status=sending.status, seconds=answered)
            note(request, method, route, execution_id, sending.status, ended - began)

    def _found(self, request: Request) -> Found:
        own_address = (request.scope.get("server") or ("", 0))[0]
        hosts = request.headers.getlist("host")
        if len(hosts) != 1:
            raise Refusal(400, "wrong-host", "a request has one Host header")
        self._hosts.check(hosts[0], own_address)
        return self._router.find(request.method, request.scope["raw_path"])

    async def _serve(self, found: Found, request: Request, receive: Receive, sending: Sending) -> None:
        operation = found.operation
        identity = await self._admitted(operation, request)
        key = identity.token_id or identity.name or f"address {request.client.host if request.client else ''}"
        with self._allowances.taken(key, is_stream=operation.is_stream), self._allowances.shared(operation):
            response = await self._answer(found, request, identity)
            await response(request.scope, receive, sending)

    async def _admitted(self, operation: Operation, request: Request) -> Identity:
        """Who asks, if they may: by the operation that was found, and nothing else."""
        if operation.role in (PUBLIC, HOOK):
            return NOBODY
        identity = await self._doorkeeper.identify(request)
        demand(identity, operation.role, f"{operation.method} {operation.path}")
        return identity

    async def _answer(self, found: Found, request: Request, identity: Identity) -> Response:
        operation = found.operation
        query = read_query(operation, request.scope["query_string"])
        raw, body = await read_body(operation, request)
        for field, role in operation.body_roles.items():
            if getattr(body, field, None):
                demand(identity, role, f'"{field}" in the body of {operation.method} {operation.path}')
        call = Call(
            parts=self._parts,
            identity=identity,
            path=found.path,
            query=query,
            body=body,
            raw=raw,
            request=request,
            trace_id=trace_of(request),
            is_acting=operation.role != VIEWER,
        )
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                return response_of(operation, await operation.handler(call))
        except TimeoutError:
            message = f"there was no answer within {ANSWER_SECONDS_MAX:.0f} s; what was asked may still happen"
            raise Refusal(503, "too-slow", message) from None


def note(request: Request, method: str, route: str, execution_id: str, status: int, seconds: float) -> None:
    """A line of the log: the route and not the path, which may hold anything; of its words an execution's number."""
    extra = {"action": "http_request", "status": status, "ms": round(seconds * 1000, 1), "trace_id": trace_of(request)}
    extra["client"] = request.client.host if request.client else ""
    if EXECUTION_ID.fullmatch(execution_id):
        extra["execution_id"] = execution_id
    level = logging.DEBUG if route in ASKED_ALL_THE_TIME else logging.INFO
    log.log(level, "%s %s", method or "?", route or "?", extra=extra)


def response_of(operation: Operation, answer: Any) -> Response:
    """What a handler gave, as a response."""
    if isinstance(answer, Response):
        return answer
    reply = answer if isinstance(answer, Reply) else Reply(status=operation.usual_status, body=answer)
    if operation.answers[reply.status] is None:
        return Response(status_code=reply.status, headers=reply.headers)
    return Response(msgspec.json.encode(reply.body), reply.status, reply.headers, JSON)


def trace_of(request: Request) -> str:
    """The trace that the caller is in, or one that begins here."""
    found = request.scope.setdefault("noetl.trace", "")
    if not found:
        given = traceparent.read(request.headers.get("traceparent", ""))
        found = request.scope["noetl.trace"] = given.trace_id if given else secrets.token_hex(TRACE_BYTES)
    return str(found)


class TooSlow(Exception):
    """A client does not take what it asked for."""


class Sending:
    """The way out: adds the headers that every answer has, and does not wait for ever."""

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self.status = 0  # 0: nothing was sent yet
        self.head_at: float | None = None

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.head_at = message["status"], self._clock.monotonic()
            given = {name for name, _ in message.get("headers", ())}
            safety = [header for header in SAFETY if header[0] not in given]
            message["headers"] = [*message.get("headers", ()), *safety]
        try:
            async with asyncio.timeout(SEND_SECONDS_MAX):
                await self._send(message)
        except TimeoutError:
            raise TooSlow from None
