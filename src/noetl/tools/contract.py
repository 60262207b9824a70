"""What a kind is made of, so that a worker can run it and a plugin can be written.

A kind's module has `KIND` (its declaration, see dsl/kinds.py) and `make(hands) -> Tool`. A worker makes each tool
once, when a playbook first needs it, runs it many times at once, and closes it at its end: connection pools and warm
processes live in the tool. A tool answers with one `Output` whatever happens; it raises only `asyncio.CancelledError`
(after stopping what it started) and on faults of its own, which the worker records as error.kind exception.

The worker sees to the total time-out, retries, references and events; the tool to its own connect and read time-outs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from noetl import traceparent
from noetl.clock import Clock
from noetl.engine.output import Output
from noetl.ids import key_abroad
from noetl.references import JSON, Reference
from noetl.secret import revealed


class Results(Protocol):
    """The result stores, as one call may use them: what it stores goes where its playbook says (RS-06), and it reads
    what its playbook may read (security 23). Raises ResultError."""

    async def fetch(self, reference: Reference, bytes_max: int) -> bytes:
        """The whole payload, its size and sha256 checked."""
        ...

    def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        """The payload in pieces, of any size; the check comes with the last piece."""
        ...

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        """Keep a payload; durable when this returns, and free of every known secret."""
        ...

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        """Keep a payload that comes in pieces, in bounded memory; free of every known secret."""
        ...


class Credentials(Protocol):
    """The credentials that one call's playbook declares; no others can be had (KC-07, security 12)."""

    async def resolve(self, name: str) -> Mapping[str, Any]:
        """The fields of a credential, those that are secret as `Secret` (see noetl.secret.revealed).

        Raises `LookupError` with a message for people when there is no such credential or it cannot be had now.
        """
        ...

    async def renew(self, name: str) -> bool:
        """Give up what was made from a credential and then refused, such as a token; False: there is nothing to renew.

        A `resolve` after it gives a new one.
        """
        ...

    def remember(self, secret: str) -> None:
        """Redact this from now on too: a secret that the tool made from a credential."""
        ...


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One invocation: everything a tool may know about it."""

    given: dict[str, Any]  # the tool's fields and all further named values, rendered; secrets sealed
    credentials: Credentials
    results: Results
    fields: frozenset[str]  # which of them are the kind's own fields
    spec: Mapping[str, Any]  # knobs: the effective spec of the task, time-outs apart
    connect_seconds: float | None = None
    read_seconds: float | None = None
    total_seconds: float | None = None
    key: str = ""  # idempotency key within this store, the same for every execution of this attempt
    folder: Path | None = None  # where the playbook's file is
    execution_id: int = 0
    task: str = ""
    attempt: int = 1
    trace_id: str = ""  # the same for an execution and all its children
    placement: Any = None  # hints of executor.spec.policy.placement, as the playbook has them (TL-02)
    inherited: dict[str, Any] = {}  # the step's own input, which the task's overlays (TK-11)
    context: Mapping[str, Any] = {}  # UP-02: step values and the workload, under the upstream surface
    previous: Any = None  # what a noop without input passes on
    is_transparent: bool = False  # the playbook has the upstream surface (UP-01)
    has_secrets: bool = True  # False: surely nothing in `given` is sealed

    @property
    def key_abroad(self) -> str:
        """The idempotency key to give to other systems."""
        return key_abroad(self.trace_id, self.key) if self.key else ""

    @property
    def traceparent(self) -> str:
        """This attempt's place in the trace, as a header for other systems; empty: there is none."""
        if not self.key or not self.trace_id:
            return ""
        task_run = self.key.rpartition(".")[0]
        return traceparent.written(self.trace_id, traceparent.attempt_span_id(self.trace_id, task_run, self.attempt))

    @property
    def input(self) -> dict[str, Any]:
        """The tool's fields and all further named values, secrets opened."""
        opened: dict[str, Any] = revealed(self.given) if self.has_secrets else self.given
        return opened

    @property
    def values(self) -> dict[str, Any]:
        """The named values that are not fields of the kind: what `input` is for the code of a python task."""
        own = {name: value for name, value in self.input.items() if name not in self.fields}
        inherited: dict[str, Any] = revealed(self.inherited) if self.has_secrets else self.inherited
        return {**inherited, **own}


class ToolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator set for tools."""

    http_allow: tuple[str, ...] = ()  # hosts and CIDRs that may be reached besides the public ones
    is_loopback_allowed: bool = True  # embedded: yes
    script_roots: tuple[Path, ...] = ()  # besides the playbook's own folder
    process_slots: int = 2  # children of python, shell and script at once
    python_memory_mb: int = 1024
    is_inline_allowed: bool = False  # python tasks may run inside the worker
    is_duckdb_external_allowed: bool = False  # SQL of duckdb tasks may reach files and networks, if it asks to
    home: Path | None = None  # the worker's own data, which no sandbox shows
    result_bytes_max: int = 64 * 1024 * 1024


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker hands to each tool it makes."""

    clock: Clock
    settings: ToolSettings = ToolSettings()


class Tool(Protocol):
    """A kind at work. `times_itself = True`: it sees to the total time-out, from when it has what it waits for."""

    def run(self, call: Call) -> Output | Awaitable[Output]:
        """Do it once. A plain Output: it took no time and needed no waiting."""
        ...

    async def close(self) -> None:
        """Give back connections and processes."""
        ...


Make = Callable[[Hands], Tool]
