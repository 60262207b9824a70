"""A server of the API on a real socket, over an embedded engine in a folder, and ways to ask it."""

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from noetl.api.app import make_app
from noetl.api.operations import Operation
from noetl.api.parts import Parts
from noetl.api.table import OPERATIONS
from noetl.api_parts import Telling, embedded_parts
from noetl.control.prometheus import Prometheus
from noetl.embedded import Embedded, embedded
from noetl.identity.roles import ADMIN, AUTHOR, RUNNER, VIEWER, WORKER
from noetl.identity.tokens import Grant, Tokens
from noetl.serving import serve
from noetl.starts import Starts, with_starts
from tests.control.parts import settings_of, text_of

ROLES = (VIEWER, RUNNER, AUTHOR, ADMIN, WORKER)
NONE = "none"

HELLO = """
workflow:
  - step: start
    tool: {kind: noop, set: {ctx.greeting: "hello"}}
"""
WAITING = """
workflow:
  - step: start
    spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                   {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
"""


class Site:
    """A running server, with a token for each role."""

    def __init__(
        self, url: str, parts: Parts, engine: Embedded, tokens: dict[str, str], stopping: asyncio.Event
    ) -> None:
        self.url = url
        self.parts = parts
        self.engine = engine
        self.tokens = tokens
        self.stopping = stopping  # set it, and the server drains
        self.session = aiohttp.ClientSession()
        self.streams: list[Stream] = []

    def headers(self, role: str) -> dict[str, str]:
        return {} if role == NONE else {"Authorization": f"Bearer {self.tokens[role]}"}

    async def ask(
        self, method: str, path: str, body: Any = None, *, role: str = ADMIN, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status, and the document of the answer."""
        status, _, data = await self.raw(method, path, body, role=role, headers=headers)
        return status, json.loads(data) if data else None

    async def raw(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        role: str = ADMIN,
        headers: dict[str, str] | None = None,
        data: bytes | None = None,
    ) -> tuple[int, Any, bytes]:
        """Status, headers and body of an answer."""
        sent = dict(self.headers(role))
        if body is not None:
            data = msgspec.json.encode(body)
            sent["Content-Type"] = "application/json"
        url = URL(self.url + path, encoded=True)
        sent |= headers or {}
        body = io.BytesIO(data) if data else None
        async with self.session.request(method, url, data=body, headers=sent) as answer:
            return answer.status, answer.headers, await answer.read()

    async def token(self, **grant: Any) -> str:
        """A new token."""
        issued = await self.parts.tokens.create(Grant(**grant), "a test")
        return issued.token

    async def start(self, text: str, name: str = "trial", **payload: Any) -> str:
        """Start a playbook; gives the execution's id."""
        body = {"text": text_of(text, name).decode(), "payload": payload}
        status, found = await self.ask("POST", "/api/v1/executions", body)
        assert status == 201, found
        return found["execution_id"]

    async def run(self, text: str, name: str = "trial", **payload: Any) -> str:
        """Run a playbook until it has ended or waits."""
        execution_id = await self.start(text, name, **payload)
        await self.engine.until_quiet(int(execution_id))
        return execution_id

    async def stream(self, path: str, *, role: str = VIEWER, **headers: str) -> "Stream":
        url = self.url + path
        answer = await self.session.get(url, headers=self.headers(role) | headers, timeout=aiohttp.ClientTimeout(10))
        self.streams.append(Stream(answer))
        return self.streams[-1]

    async def close(self) -> None:
        for stream in self.streams:
            stream.close()
        await self.session.close()


class Stream:
    """Server-sent events, read one by one."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer
        self.comments: list[str] = []

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        fields: dict[str, Any] = {}
        async for line in self.answer.content:
            text = line.decode().rstrip("\n")
            if text.startswith(":"):
                self.comments.append(text[1:].strip())
            elif text:
                name, _, value = text.partition(": ")
                fields[name] = json.loads(value) if name == "data" else value
            elif "data" in fields:
                yield fields
                fields = {}

    async def all(self) -> list[dict[str, Any]]:
        return [event async for event in self]

    def close(self) -> None:
        self.answer.close()


@asynccontextmanager
async def site(folder: Path, operations: tuple[Operation, ...] = OPERATIONS, **settings: Any) -> AsyncIterator[Site]:
    """A server in a folder of its own, on a port of its own."""
    telling, ready, stopping = Telling(), asyncio.Event(), asyncio.Event()
    chosen = msgspec.structs.replace(settings_of(folder), server_port=0, **settings)
    telling.tick_seconds = 0.01  # looks often whether a run has come to rest
    urls: list[str] = []

    def told(url: str) -> None:
        urls.append(url)
        ready.set()

    async with embedded(chosen, telling) as engine:
        engine.work()
        tokens = Tokens(engine.store, engine.clock, lambda: os.urandom(32))
        numbers = Prometheus(engine.clock)
        parts = embedded_parts(engine, telling, tokens, meters=numbers, metrics=numbers)
        parts = with_starts(parts, Starts(chosen, engine.desk, engine.store, engine.clock))
        serving = asyncio.create_task(serve(make_app(parts, operations), chosen, told, stopping))
        await asyncio.wait({serving, asyncio.ensure_future(ready.wait())}, return_when="FIRST_COMPLETED")
        if serving.done():
            await serving
        made = {role: (await tokens.create(Grant(role=role), "a test")).token for role in ROLES}
        found = Site(urls[0], parts, engine, made, stopping)
        try:
            yield found
        finally:
            await found.close()
            stopping.set()
            await serving
