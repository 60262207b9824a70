"""Requests to an execution that another process is running: a folder beside the store.

The process that has the store's lock looks into the folder; whoever cannot get the lock puts a request there and waits
for the answer. A request is a small JSON file, written whole under a temporary name and then renamed; so is its answer.
Both are removed by whoever asked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.errors import NoetlError, OperatorError, RequestError

LOOK_SECONDS = 0.1
ANSWER_SECONDS_MAX = 10.0
REQUEST_BYTES_MAX = 1024 * 1024
REQUEST, ANSWER, PART = ".request", ".answer", ".part"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a running execution."""

    do: str  # cancel, signal
    execution_id: int
    reason: str = ""
    patches: dict[str, Any] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    result: dict[str, Any] = {}
    error: str = ""


Handler = Callable[[Request], Awaitable[dict[str, Any]]]


class Inbox:
    """The side of the process that has the store."""

    def __init__(self, folder: Path, clock: Clock, handle: Handler) -> None:
        self.folder = folder
        self.clock = clock
        self.handle = handle

    async def run(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            await self.clock.sleep(LOOK_SECONDS)
            for name in self._waiting():
                await self._answer(name)

    def _waiting(self) -> list[Path]:
        try:
            found = [Path(entry.path) for entry in os.scandir(self.folder) if entry.name.endswith(REQUEST)]
        except FileNotFoundError:
            return []
        return sorted(found)

    async def _answer(self, file: Path) -> None:
        try:
            request = msgspec.json.decode(file.read_bytes()[:REQUEST_BYTES_MAX], type=Request)
            answer = Answer(result=await self.handle(request))
        except (NoetlError, msgspec.DecodeError, OSError) as error:
            answer = Answer(error=str(error))
        file.unlink(missing_ok=True)
        write_whole(file.with_suffix(ANSWER), msgspec.json.encode(answer))


def write_whole(file: Path, data: bytes) -> None:
    part = file.with_suffix(PART)
    part.write_bytes(data)
    part.chmod(0o600)
    part.replace(file)


def ask(folder: Path, request: Request, holder: str) -> dict[str, Any]:
    """Hand a request to the process that has the store, and wait for its answer."""
    if not folder.is_dir():
        raise OperatorError(f"{holder} has the store, but takes no requests; try again when it has started")
    file = folder / f"{os.getpid()}-{time.monotonic_ns()}{REQUEST}"
    write_whole(file, msgspec.json.encode(request))
    answer_file = file.with_suffix(ANSWER)
    try:
        answer = _awaited(answer_file)
    finally:
        file.unlink(missing_ok=True)
        answer_file.unlink(missing_ok=True)
    if answer is None:
        raise OperatorError(f"{holder} did not answer within {ANSWER_SECONDS_MAX:.0f} s; try again")
    if answer.error:
        raise RequestError(answer.error)
    return answer.result


def _awaited(file: Path) -> Answer | None:
    until = time.monotonic() + ANSWER_SECONDS_MAX
    while time.monotonic() < until:
        if file.exists():
            return msgspec.json.decode(file.read_bytes(), type=Answer)
        time.sleep(LOOK_SECONDS / 2)
    return None
