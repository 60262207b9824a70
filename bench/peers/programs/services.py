"""What a peer's program needs beside the peer: the size of its job, a free port, a service that ends with it.

Standard library only: every peer's interpreter reads it. Nothing here listens beyond this machine, and every process
that is started is ended.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).parent
READY_SECONDS_MAX = 120.0
STOP_SECONDS_MAX = 15.0
ANSWER_SECONDS_MAX = 600.0
LOOK_SECONDS = 0.02


class Job(NamedTuple):
    """One workload: how much of it, and where."""

    count: int
    in_flight: int
    folder: Path  # empty, and removed afterwards
    url: str  # what W5 asks


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str], folder: Path, *, port: int | None = None, variables: Mapping[str, str] | None = None
) -> Iterator[None]:
    """A service, until it listens on `port`; what it says goes to a file in `folder`."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("ab") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=PROGRAMS, env=variables
        )
    try:
        if port is not None:
            until(lambda: is_listening(port, process, log), f"{log.stem} listens")
        yield
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def is_listening(port: int, process: subprocess.Popen[bytes], log: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"{log.stem} ended with {process.returncode}: {log.read_text(errors='replace')[-500:]}")
    try:
        socket.create_connection(("127.0.0.1", port), 0.5).close()
    except OSError:
        return False
    return True


def until(is_so: Callable[[], bool], what: str, seconds_max: float = READY_SECONDS_MAX) -> None:
    deadline = time.monotonic() + seconds_max
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds_max:.0f} s: {what}")
        time.sleep(LOOK_SECONDS)


def answer_of(url: str, body: Any) -> Any:
    """What a service on this machine answers to a POST of JSON."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as answer:  # noqa: S310 - the same
        return json.loads(answer.read() or b"null")


async def bounded(count: int, in_flight: int, one: Callable[[int], Awaitable[Any]]) -> int:
    """So many of them, at most `in_flight` at once; how many were done."""
    gate = asyncio.Semaphore(in_flight)

    async def gated(number: int) -> None:
        async with gate:
            await one(number)

    await asyncio.gather(*(gated(number) for number in range(count)))
    return count
