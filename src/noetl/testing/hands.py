"""What a worker hands to a tool, made for a test: the real clock, results in memory, credentials from a mapping.

    tool = python.make(hands())
    output = await run(tool, call(python.KIND, code="result = 1", credentials={"api": {"token": "…"}}))

Nothing here opens a file or a connection.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any

from noetl.clock import Clock, SystemClock
from noetl.dsl.kinds import Kind
from noetl.engine.output import Output
from noetl.errors import ReferenceCorrupt, ReferenceMissing, ResultTooLarge
from noetl.keychain.contract import Keychain
from noetl.references import JSON, Reference
from noetl.secret import Declared, sealed
from noetl.tools.contract import Call, Credentials, Hands, Results, Tool, ToolSettings

PIECE_BYTES = 64 * 1024


class ResultsInMemory:
    """A result store for one test: `keep` puts a payload in, a tool fetches it."""

    def __init__(self) -> None:
        self.payloads: dict[str, bytes] = {}

    def keep(self, payload: bytes, content_type: str = JSON) -> Reference:
        """Store a payload and give its reference."""
        sha256 = hashlib.sha256(payload).hexdigest()
        self.payloads[sha256] = payload
        return Reference(
            type="blob", locator=sha256, content_type=content_type, bytes=len(payload), sha256=sha256, ttl=None
        )

    async def fetch(self, reference: Reference, bytes_max: int) -> bytes:
        payload = self.payloads.get(reference.locator)
        if payload is None:
            raise ReferenceMissing(reference.locator)
        if len(payload) > bytes_max:
            raise ResultTooLarge(len(payload), bytes_max)
        if hashlib.sha256(payload).hexdigest() != (reference.sha256 or reference.locator):
            raise ReferenceCorrupt(reference.locator, "its sha256 is another")
        return payload

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        payload = await self.fetch(reference, len(self.payloads.get(reference.locator, b"")))
        for start in range(0, len(payload), PIECE_BYTES):
            yield payload[start : start + PIECE_BYTES]

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        return self.keep(data, content_type)

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        if isinstance(chunks, AsyncIterator):
            return self.keep(b"".join([chunk async for chunk in chunks]), content_type)
        return self.keep(b"".join(chunks), content_type)


class CredentialsInMemory:
    """A keychain for one test: the names and secrets of a mapping, and no others."""

    def __init__(self, secrets: Mapping[str, Mapping[str, Any]]) -> None:
        self.secrets = secrets
        self.renewed: list[str] = []
        self.remembered: list[str] = []

    async def resolve(self, name: str) -> Mapping[str, Any]:
        if name not in self.secrets:
            raise LookupError(
                f'there is no credential "{name}"; known are: {", ".join(sorted(self.secrets)) or "none"}'
            )
        entry: dict[str, Any] = sealed(dict(self.secrets[name]))
        return entry

    async def renew(self, name: str) -> bool:
        self.renewed.append(name)
        return False

    def remember(self, secret: str) -> None:
        self.remembered.append(secret)


class CredentialsOfKeychain:
    """What a real keychain has for these declarations, as a call's playbook would declare them."""

    def __init__(self, keychain: Keychain, *declared: Declared) -> None:
        self._keychain = keychain
        self._declared = {one.name: one for one in declared}

    async def resolve(self, name: str) -> Mapping[str, Any]:
        return await self._keychain.resolve(self._declared[name])

    async def renew(self, name: str) -> bool:
        return await self._keychain.renew(self._declared[name])

    def remember(self, secret: str) -> None:
        self._keychain.remember(secret)


def hands(*, settings: ToolSettings | None = None, clock: Clock | None = None) -> Hands:
    """Hands for a tool under test; what is not given is the default."""
    return Hands(clock=clock or SystemClock(), settings=settings or ToolSettings())


def call(
    kind: Kind,
    *,
    spec: Mapping[str, Any] | None = None,
    credentials: Mapping[str, Mapping[str, Any]] | Credentials | None = None,
    results: Results | None = None,
    connect_seconds: float | None = None,
    read_seconds: float | None = None,
    total_seconds: float | None = None,
    idempotency_key: str = "1:1:-1:task:1.0",
    trace_id: str = "",
    folder: Path | None = None,
    placement: Any = None,
    **values: Any,
) -> Call:
    """One invocation of a kind: its fields and further named values as keywords, its default spec below `spec`."""
    if credentials is None or isinstance(credentials, Mapping):
        credentials = CredentialsInMemory(credentials or {})
    return Call(
        given=values,
        credentials=credentials,
        results=results or ResultsInMemory(),
        fields=frozenset(field.name for field in kind.fields),
        spec={**kind.defaults, **(spec or {})},
        connect_seconds=connect_seconds,
        read_seconds=read_seconds,
        total_seconds=total_seconds,
        key=idempotency_key,
        trace_id=trace_id,
        folder=folder,
        placement=placement,
        execution_id=1,
        task="task",
    )


async def run(tool: Tool, of: Call, *, seconds_max: float = 60.0) -> Output:
    """Run a tool once and wait for its output, whether it comes at once or later."""
    answer = tool.run(of)
    if isinstance(answer, Output):
        return answer
    return await asyncio.wait_for(answer, seconds_max)
