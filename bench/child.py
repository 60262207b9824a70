"""python -m bench.child: one embedded engine in a process of its own, so that its memory and its state are its own.

On standard input comes an errand as a line of JSON; when all is warm, `ready` goes out. Then each line that comes in is
a round, and its figures go out as a line of JSON. The parent's half is here too: `child`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from bench.embedded import Session

READY = "ready"
LIVE_AT_ONCE = 100


class Errand(msgspec.Struct, frozen=True, kw_only=True):
    """What a child measures."""

    text: str
    warm_up_text: str
    executions: int = 1
    payload: dict[str, Any] = {}
    warm_up_payload: dict[str, Any] = {}
    times: int = 1  # so often, one after another, in one round; figures are sums
    variables: dict[str, str] = {}  # NOETL_… settings
    waiting_text: str = ""  # a playbook that waits for ever
    waiting: int = 0  # so many of it live meanwhile
    steps: int = 0  # at the end of the log, whose time is asked for
    is_verified: bool = False  # the log is replayed and verified, too


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """What a round gave; see `bench.embedded.Measured`."""

    seconds: float
    cpu_seconds: float
    peak_mebibytes: float
    grown_mebibytes: float
    events: int
    disk_bytes: int
    tenths: list[float] = []
    steps_seconds: float = 0.0
    warm_up_seconds: float = 0.0
    replay_seconds: float = 0.0
    verify_seconds: float = 0.0


class Child:
    """A child that is ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def round(self) -> Round:
        return msgspec.json.decode(self._ask("go"), type=Round)

    def _ask(self, line: str) -> str:
        _pipe(self._process.stdin).write(line + "\n")
        _pipe(self._process.stdin).flush()
        return self.answer()

    def answer(self) -> str:
        found = _pipe(self._process.stdout).readline()
        if not found:
            raise RuntimeError("a process that measures has died; its message is above")
        return found


@contextmanager
def child(errand: Errand, variables: dict[str, str] | None = None) -> Iterator[Child]:
    """Start one, and wait until it is warm; `variables`: of its environment, such as credentials."""
    command = [sys.executable, "-m", "bench.child"]
    environment = os.environ | (variables or {})
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process:
        _pipe(process.stdin).write(msgspec.json.encode(errand).decode() + "\n")
        _pipe(process.stdin).flush()
        made = Child(process)
        if made.answer().strip() != READY:
            raise RuntimeError("a process that measures did not become ready")
        yield made
        _pipe(process.stdin).close()


def one_round(errand: Errand, variables: dict[str, str] | None = None) -> Round:
    """A round in a process that has done nothing before but warm up."""
    with child(errand, variables) as made:
        return made.round()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


# --- the child's half ------------------------------------------------------------------------------------------------


async def _work(errand: Errand, home: Path) -> None:
    from bench.embedded import session

    async with session(home, errand.variables) as engine:
        warm_up = await engine.run(errand.warm_up_text, payload=errand.warm_up_payload or errand.payload)
        await _fill(engine, errand)
        print(READY, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            found = await _round(engine, errand)
            found = msgspec.structs.replace(found, warm_up_seconds=warm_up.seconds)
            print(msgspec.json.encode(found).decode(), flush=True)


async def _fill(engine: Session, errand: Errand) -> None:
    for first in range(0, errand.waiting, LIVE_AT_ONCE):
        await engine.start(errand.waiting_text, min(LIVE_AT_ONCE, errand.waiting - first), {})


async def _round(engine: Session, errand: Errand) -> Round:
    runs, steps_seconds = [], 0.0
    for _ in range(errand.times):
        runs.append(await engine.run(errand.text, errand.executions, errand.payload))
        if errand.steps:
            steps_seconds += await engine.seconds_between_steps(runs[-1].execution_id, errand.steps)
    replay_seconds, verify_seconds = await _read_again(engine, runs[-1].execution_id) if errand.is_verified else (0, 0)
    return Round(
        seconds=sum(run.seconds for run in runs),
        cpu_seconds=sum(run.cpu_seconds for run in runs),
        peak_mebibytes=runs[-1].peak_mebibytes,
        grown_mebibytes=sum(run.grown_mebibytes for run in runs),
        events=sum(run.events for run in runs),
        disk_bytes=sum(run.disk_bytes for run in runs),
        tenths=runs[-1].tenths,
        steps_seconds=steps_seconds,
        replay_seconds=replay_seconds,
        verify_seconds=verify_seconds,
    )


async def _read_again(engine: Session, execution_id: int) -> tuple[float, float]:
    """Seconds of folding a log, and of verifying it."""
    from noetl.control.live import folded
    from noetl.control.verify import verify

    began = time.perf_counter()
    row = await engine.parts.store.execution(execution_id)
    await folded(engine.parts.store, execution_id, row.head if row else None)
    replayed = time.perf_counter()
    found = await verify(engine.parts.store, execution_id)
    if not found["is_equal"]:
        raise RuntimeError(f"the log of execution {execution_id} does not verify")
    return replayed - began, time.perf_counter() - replayed


def main() -> None:
    """As the command line does it: with its modules in memory, and looking for garbage as seldom."""
    from noetl.cli.main import GARBAGE_THRESHOLD

    gc.set_threshold(GARBAGE_THRESHOLD)
    errand = msgspec.json.decode(sys.stdin.readline(), type=Errand)
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(_work(errand, Path(home)))


if __name__ == "__main__":
    main()
