"""Bodies of the API, in process and without a socket: whatever is sent, the answer is no fault of ours, and each
refusal is problem+json.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import inspect

from noetl.api.app import make_app
from noetl.api.operations import Operation
from noetl.api.table import OPERATIONS
from noetl.api_parts import Telling, embedded_parts
from noetl.embedded import embedded
from noetl.identity.roles import ADMIN
from noetl.identity.tokens import Grant, Tokens
from noetl.starts import Starts, with_starts
from tests.control.parts import settings_of, text_of
from tests.fuzz.growing import TEXTS, anything, changed, encoded, grown, written

PROBLEM = "application/problem+json"
PLAYBOOK = text_of("workflow: [{step: start, tool: {kind: noop}}]").decode()
WORDS = ("1", "2", "0", "-1", "trial", "99999999999999999999", "x" * 400, "..", "%2e%2e", "a%00b", "é")
WITH_BODY = tuple(one for one in OPERATIONS if one.takes_body and not one.is_stream)
VALID: dict[str, Any] = {  # a body that means something, to be changed in one place
    "start_execution": {"text": PLAYBOOK, "payload": {"a": 1}},
    "register_playbook": {"text": PLAYBOOK},
    "check_playbook": {"text": PLAYBOOK},
}
REQUESTS_PER_TOKEN = 500


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """An input."""

    method: str
    path: str
    content_type: str
    body: bytes


class Bodies:
    """See the module."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self._asked = 0
        self._token = ""
        self.statuses: dict[int, int] = {}

    def __enter__(self) -> Self:
        self._loop.run_until_complete(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._stack.aclose())
        self._loop.close()

    async def _open(self) -> None:
        telling, settings = Telling(), settings_of(self._folder)
        engine = await self._stack.enter_async_context(embedded(settings, telling))
        self._tokens = Tokens(engine.store, engine.clock, lambda: os.urandom(32))
        parts = embedded_parts(engine, telling, self._tokens)
        parts = with_starts(parts, Starts(settings, engine.desk, engine.store, engine.clock))
        self._app = make_app(parts)

    def make(self, chance: random.Random) -> bytes:
        operation = chance.choice(WITH_BODY)
        path = operation.path
        for name in operation.parameters:
            path = path.replace(f"{{{name}}}", chance.choice(WORDS))
        media = (*operation.body_media, "application/json", "text/html", "", "application/json; charset=utf-16")
        content_type = media[0] if chance.random() < 0.9 else chance.choice(media)
        return msgspec.json.encode(
            Request(method=operation.method, path=path, content_type=content_type, body=body_of(chance, operation))
        )

    def attempt(self, data: bytes) -> None:
        self._loop.run_until_complete(self._attempt(msgspec.json.decode(data, type=Request)))

    async def _renew_token(self, each: int = REQUESTS_PER_TOKEN) -> None:
        """One may ask so often and no more."""
        if self._asked % each == 0:
            self._token = (await self._tokens.create(Grant(role=ADMIN), "a test")).token
        self._asked += 1

    async def _attempt(self, request: Request) -> None:
        await self._renew_token()
        status, headers, body = await self._ask(request)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        assert status < 500, f"{request.method} {request.path} gave {status}: {body[:300]!r}"
        if status >= 400:
            assert headers.get("content-type", "").startswith(PROBLEM), f"{status} with {headers}"
            assert msgspec.json.decode(body)["status"] == status

    async def _ask(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        sent: list[dict[str, Any]] = []
        coming = [{"type": "http.request", "body": request.body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return coming.pop() if coming else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(self._scope(request), receive, send)
        start = sent[0]
        headers = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return start["status"], headers, b"".join(one.get("body", b"") for one in sent[1:])

    def _scope(self, request: Request) -> dict[str, Any]:
        path, _, query = request.path.partition("?")
        raw = path.encode("utf-8", "replace")
        headers = [
            (b"host", b"127.0.0.1"),
            (b"authorization", f"Bearer {self._token}".encode()),
            (b"content-type", request.content_type.encode()),
            (b"content-length", str(len(request.body)).encode()),
        ]
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": path,
            "raw_path": raw,
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }


def body_of(chance: random.Random, operation: Operation) -> bytes:
    kind = chance.random()
    valid = VALID.get(operation.id)
    if kind < 0.4 and valid is not None:
        return written(chance, changed(chance, valid))
    if kind < 0.85 and operation.body is not None:
        return written(chance, grown(chance, inspect.type_info(operation.body)))
    if kind < 0.95:
        return encoded(anything(chance, 0))
    return chance.choice((b"", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 5000, *(text.encode() for text in TEXTS)))
