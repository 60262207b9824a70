"""What a kind is made of, so that a worker can run it and a plugin can be written.

A kind's module has `KIND` (its declaration, see dsl/kinds.py) and `make(hands) -> Tool`. A worker makes each tool
once, when a playbook first needs it, runs it many times at once, and closes it at its end: connection pools and warm
processes live in the tool. A tool answers with one `Output` whatever happens; it raises only `asyncio.CancelledError`
(after stopping what it started) and on faults of its own, which the worker records as error.kind exception.

The worker sees to the total time-out, retries, references and events; the tool to its own connect and read time-outs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from noetl.clock import Clock
from noetl.engine.output import Output
from noetl.references import Reference


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One invocation: everything a tool may know about it."""

    input: dict[str, Any]  # the tool's fields and all further named values, rendered
    fields: frozenset[str]  # which of them are the kind's own fields
    spec: Mapping[str, Any]  # knobs: the effective spec of the task, time-outs apart
    connect_seconds: float | None = None
    read_seconds: float | None = None
    total_seconds: float | None = None
    key: str = ""  # idempotency key, the same for every execution of this attempt
    folder: Path | None = None  # where the playbook's file is
    execution_id: int = 0
    task: str = ""
    attempt: int = 1
    trace_id: str = ""  # the same for an execution and all its children
    inherited: dict[str, Any] = {}  # the step's own input, which the task's overlays (TK-11)
    previous: Any = None  # what a noop without input passes on

    @property
    def values(self) -> dict[str, Any]:
        """The named values that are not fields of the kind: what `input` is for the code of a python task."""
        own = {name: value for name, value in self.input.items() if name not in self.fields}
        return {**self.inherited, **own}


class Results(Protocol):
    """As much of the result store as a tool needs (see results/contract.py)."""

    async def fetch(self, reference: Reference, bytes_max: int) -> bytes: ...


class Credentials(Protocol):
    """Names to secrets. Raises `LookupError` with a message for people when a name cannot be resolved."""

    async def resolve(self, name: str) -> Mapping[str, Any]: ...


class ToolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator set for tools."""

    http_allow: tuple[str, ...] = ()  # hosts and CIDRs that may be reached besides the public ones
    is_loopback_allowed: bool = True  # embedded: yes
    script_roots: tuple[Path, ...] = ()  # besides the playbook's own folder
    process_slots: int = 2  # children of python, shell and script at once
    python_memory_mb: int = 1024
    result_bytes_max: int = 64 * 1024 * 1024


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker hands to each tool it makes."""

    clock: Clock
    results: Results
    credentials: Credentials
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
