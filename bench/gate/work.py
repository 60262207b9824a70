"""python -m bench.gate.work counts|times: the gate's workloads in a process of its own; figures go out as JSON.

`counts` counts what they do, under a profiler that makes them slow; `times` takes processor time in turns with the
yardstick and gives the median of the rounds' ratios. Neither looks at a clock that runs while others use the machine.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec

from bench import workloads
from bench.embedded import Session, session
from bench.gate.yardstick import yardstick
from noetl.control.live import folded

STEPS = 60
ITERATIONS, IN_FLIGHT = 600, 100
WORKFLOWS, STEPS_EACH = 60, 3
COUNTED_RUNS = 4
ROUNDS, WARM_UP_ROUNDS = 12, 2
COMMIT = "COMMIT"


class Workload(NamedTuple):
    """Something that is done again and again, and of how many items it is."""

    name: str
    item: str
    items: int
    run: Callable[[], Awaitable[int]]  # gives the id of an execution that it ran


async def prepared(engine: Session) -> list[Workload]:
    """The workloads on an engine that is warm."""
    chain, small = workloads.chain(STEPS), workloads.chain(STEPS_EACH)
    loop = workloads.loop(ITERATIONS, IN_FLIGHT)

    async def run(text: str, executions: int = 1) -> int:
        started = await engine.start(text, executions, {})
        for execution_id in started:
            await engine.parts.until_quiet(execution_id)
        return started[-1]

    async def replay() -> int:
        await folded(engine.parts.store, logged, head)
        return logged

    await run(chain)
    await run(small)
    logged = await run(loop)
    head = await head_of(engine, logged)
    return [
        Workload("W1", "step", STEPS, lambda: run(chain)),
        Workload("W2", "iteration", ITERATIONS, lambda: run(loop)),
        Workload("W3", "workflow", WORKFLOWS, lambda: run(small, WORKFLOWS)),
        Workload("replay", "event", head, replay),
    ]


async def head_of(engine: Session, execution_id: int) -> int:
    """How many events its log has; it must have come to a good end."""
    row = await engine.parts.store.execution(execution_id)
    if row is None or row.status != "success":
        raise RuntimeError(f"execution {execution_id} did not succeed")
    return int(row.head)


# --- counts ----------------------------------------------------------------------------------------------------------


class Counting:
    """Calls of Python and of C functions in all threads, and commits."""

    def __init__(self) -> None:
        self._calls = itertools.count()  # its next() is one step for all threads; += would lose some
        self.commits = 0

    def profile(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event.endswith("call"):
            next(self._calls)

    def trace(self, statement: str) -> None:
        if statement == COMMIT:
            self.commits += 1

    def calls(self) -> int:
        return next(self._calls)

    @contextmanager
    def connections_traced(self) -> Iterator[None]:
        """Every database that is opened meanwhile tells its statements."""
        connect = sqlite3.connect

        def traced(*words: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*words, **options)
            connection.set_trace_callback(self.trace)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]
        try:
            yield
        finally:
            sqlite3.connect = connect

    @contextmanager
    def calls_counted(self) -> Iterator[None]:
        """In this thread, and in those that begin meanwhile."""
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


async def counts(home: Path) -> dict[str, float]:
    counting = Counting()
    found: dict[str, float] = {}
    with counting.connections_traced(), counting.calls_counted():
        async with session(home) as engine:
            for workload in await prepared(engine):
                found |= await counts_of(workload, engine, counting)
    return found


async def counts_of(workload: Workload, engine: Session, counting: Counting) -> dict[str, float]:
    """The least of several runs: how work falls into batches differs a little from run to run."""
    disk_bytes = engine.disk_bytes()
    runs = [await counted(workload, counting) for _ in range(COUNTED_RUNS)]
    found = {f"{workload.name} calls per {workload.item}": min(run.calls for run in runs) / workload.items}
    if commits := min(run.commits for run in runs):
        found[f"{workload.name} commits per {workload.item}"] = commits / workload.items
        found[f"{workload.name} events in a log"] = await head_of(engine, runs[-1].execution_id)
        grown_bytes = engine.disk_bytes() - disk_bytes
        found[f"{workload.name} bytes per {workload.item}"] = grown_bytes / workload.items / COUNTED_RUNS
    return found


class Counted(NamedTuple):
    """One run of a workload."""

    calls: int
    commits: int
    execution_id: int


async def counted(workload: Workload, counting: Counting) -> Counted:
    commits, calls = counting.commits, counting.calls()
    execution_id = await workload.run()
    return Counted(counting.calls() - calls, counting.commits - commits, execution_id)


# --- processor time --------------------------------------------------------------------------------------------------


async def times(home: Path) -> dict[str, float]:
    """Each workload between two runs of the yardstick, so that a slow moment of the machine hits both."""
    ratios: dict[str, list[float]] = {}
    async with session(home) as engine:
        prepared_workloads = await prepared(engine)
        before = yardstick_seconds()
        for _ in range(ROUNDS):
            for workload in prepared_workloads:
                began = time.process_time()
                await workload.run()
                seconds = time.process_time() - began
                after = yardstick_seconds()
                ratios.setdefault(workload.name, []).append(2 * seconds / (before + after))
                before = after
    return {f"{name} processor time": statistics.median(taken[WARM_UP_ROUNDS:]) for name, taken in ratios.items()}


def yardstick_seconds() -> float:
    began = time.process_time()
    yardstick()
    return time.process_time() - began


MODES = {"counts": counts, "times": times}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(msgspec.json.encode(asyncio.run(MODES[sys.argv[1]](Path(folder)))).decode())
