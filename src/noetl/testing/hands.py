"""What a worker hands to a tool, made for a test: the real clock, results in memory, credentials from a mapping.

    tool = python.make(hands(credentials={"api": {"token": "…"}}))
    output = await run(tool, call(python.KIND, code="result = 1"))

Nothing here opens a file or a connection.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noetl.clock import Clock, SystemClock
from noetl.dsl.kinds import Kind
from noetl.engine.output import Output
from noetl.errors import ReferenceCorrupt, ReferenceMissing, ResultTooLarge
from noetl.references import JSON, Reference
from noetl.tools.contract import Call, Hands, Tool, ToolSettings


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


class CredentialsInMemory:
    """A keychain for one test: the names and secrets of a mapping, and no others."""

    def __init__(self, secrets: Mapping[str, Mapping[str, Any]]) -> None:
        self.secrets = secrets

    async def resolve(self, name: str) -> Mapping[str, Any]:
        if name not in self.secrets:
            raise LookupError(
                f'there is no credential "{name}"; known are: {", ".join(sorted(self.secrets)) or "none"}'
            )
        return self.secrets[name]


def hands(
    *,
    credentials: Mapping[str, Mapping[str, Any]] | None = None,
    settings: ToolSettings | None = None,
    results: ResultsInMemory | None = None,
    clock: Clock | None = None,
) -> Hands:
    """Hands for a tool under test; what is not given is empty or the default."""
    return Hands(
        clock=clock or SystemClock(),
        results=results or ResultsInMemory(),
        credentials=CredentialsInMemory(credentials or {}),
        settings=settings or ToolSettings(),
    )


def call(
    kind: Kind,
    *,
    spec: Mapping[str, Any] | None = None,
    connect_seconds: float | None = None,
    read_seconds: float | None = None,
    total_seconds: float | None = None,
    key: str = "1/1/1/1",
    folder: Path | None = None,
    **values: Any,
) -> Call:
    """One invocation of a kind: its fields and further named values as keywords, its default spec below `spec`."""
    return Call(
        input=values,
        fields=frozenset(field.name for field in kind.fields),
        spec={**kind.defaults, **(spec or {})},
        connect_seconds=connect_seconds,
        read_seconds=read_seconds,
        total_seconds=total_seconds,
        key=key,
        folder=folder,
        execution_id=1,
        task="task",
    )


async def run(tool: Tool, of: Call, *, seconds_max: float = 60.0) -> Output:
    """Run a tool once and wait for its output, whether it comes at once or later."""
    answer = tool.run(of)
    if isinstance(answer, Output):
        return answer
    return await asyncio.wait_for(answer, seconds_max)
