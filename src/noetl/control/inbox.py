"""Requests to an execution that another process is running: a folder beside the store.

The process that has the store's lock looks into the folder; whoever cannot get the lock puts a request there and waits
for the answer. A request is a small JSON file, written whole under a temporary name and then renamed; so is its answer.
Both are removed by whoever asked.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.errors import NoetlError

LOOK_SECONDS = 0.1
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
        except (NoetlError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
            answer = Answer(error=str(error))
        file.unlink(missing_ok=True)
        write_whole(file.with_suffix(ANSWER), msgspec.json.encode(answer))


def write_whole(file: Path, data: bytes) -> None:
    part = file.with_suffix(PART)
    part.write_bytes(data)
    part.chmod(0o600)
    part.replace(file)
