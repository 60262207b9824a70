"""Workloads through the parts that `noetl run` puts together, each in a home of its own.

What is timed begins when executions are asked for, with the playbook checked and registered, and ends when the last
event of the last one is on disk.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import msgspec

from bench import machine
from noetl.clock import SystemClock
from noetl.config import load
from noetl.control.requests import Nobody, RunRequest
from noetl.embedded import Embedded, kinds_of, made
from noetl.engine.events import Event, StepDone
from noetl.stores.sqlite import SqliteStore

EVENTS_READ_MAX = 20_000


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a workload."""

    seconds: float
    cpu_seconds: float  # of this process and of those it has started
    peak_mebibytes: float  # of this process, since it began
    grown_mebibytes: float  # by how much the run raised that
    events: int
    disk_bytes: int  # by which the database grew
    tenths: list[float]  # seconds for each tenth of the events
    execution_id: int


class Marks(Nobody):
    """An observer that notes how far the log is, and when: twenty million events in a list of ten thousand."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        self.seen.append((time.perf_counter(), first_seq + len(events) - 1))

    def tenths(self, began: float) -> list[float]:
        """Seconds for each tenth of the log of the one execution that was watched."""
        if not self.seen:
            return []
        total = self.seen[-1][1]
        ends = [next(when for when, seq in self.seen if seq * 10 >= total * tenth) for tenth in range(1, 11)]
        return [end - start for start, end in zip([began, *ends], ends, strict=False)]


class Session:
    """One embedded engine at work, in a home that is gone afterwards."""

    def __init__(self, parts: Embedded, marks: Marks) -> None:
        self.parts, self.marks = parts, marks

    async def start(self, text: str, executions: int, payload: Mapping[str, Any]) -> list[int]:
        """Ask for so many executions of a playbook at once."""
        request = request_of(text, payload)
        started = await asyncio.gather(*(self.parts.start(request) for _ in range(executions)))
        return [execution_id for execution_id, _ in started]

    async def run(self, text: str, executions: int = 1, payload: Mapping[str, Any] | None = None) -> Measured:
        """Ask for so many executions of a playbook at once, and wait for all of them."""
        await self.parts.desk.register(request_of(text, payload or {}))
        disk_bytes, peak = self.disk_bytes(), machine.peak_mebibytes()
        self.marks.seen.clear()
        cpu, began = _cpu_seconds(), time.perf_counter()
        started = await self.start(text, executions, payload or {})
        for execution_id in started:
            await self.parts.until_quiet(execution_id)
        seconds, cpu = time.perf_counter() - began, _cpu_seconds() - cpu
        return Measured(
            seconds=seconds,
            cpu_seconds=cpu,
            peak_mebibytes=machine.peak_mebibytes(),
            grown_mebibytes=machine.peak_mebibytes() - peak,
            events=await self._events_of(started),
            disk_bytes=self.disk_bytes() - disk_bytes,
            tenths=self.marks.tenths(began) if executions == 1 else [],
            execution_id=started[0],
        )

    async def _events_of(self, execution_ids: list[int]) -> int:
        """How many events they have; each must have come to a good end."""
        count = 0
        for execution_id in execution_ids:
            row = await self.parts.store.execution(execution_id)
            if row is None or row.status != "success":
                raise RuntimeError(f"execution {execution_id} did not succeed: {getattr(row, 'status', 'missing')}")
            count += row.head
        return count

    async def seconds_between_steps(self, execution_id: int, steps: int) -> float:
        """From the end of the first to the end of the last of an execution's last steps, as its log has them."""
        rows = await self.parts.store.events(execution_id, 0, EVENTS_READ_MAX)
        ends = [event.ts for _, event in rows if isinstance(event, StepDone)][-steps:]
        return ends[-1] - ends[0]

    def disk_bytes(self) -> int:
        """The database, with what is still in its WAL."""
        with closing(sqlite3.connect(self.parts.settings.store_path)) as connection:
            (pages,), (size,) = (
                connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
            )
        return int(pages) * int(size)


def request_of(text: str, payload: Mapping[str, Any]) -> RunRequest:
    return RunRequest(data=text.encode(), name="bench.yaml", payload=dict(payload))


@asynccontextmanager
async def session(home: Path, variables: Mapping[str, str] | None = None) -> AsyncIterator[Session]:
    """An engine over a home; `variables`: NOETL_… settings."""
    settings = load(home=str(home), environ=dict(variables or {}), folder=home)
    marks = Marks()
    store = await SqliteStore.open(settings.store_path)
    async with made(settings, store, marks, SystemClock(), kinds_of(settings)) as parts:
        parts.work()
        yield Session(parts, marks)


def run(text: str, *, executions: int = 1, payload: Mapping[str, Any] | None = None) -> Measured:
    """One workload in this process, in a new home."""

    async def whole(home: Path) -> Measured:
        async with session(home) as engine:
            return await engine.run(text, executions, payload)

    with tempfile.TemporaryDirectory() as home:
        return asyncio.run(whole(Path(home)))


def _cpu_seconds() -> float:
    """Of this process, exactly; of what it has started, in ticks."""
    return time.process_time() + machine.cpu_seconds(machine.tree(os.getpid())[1:])
