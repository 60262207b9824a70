"""Plans run in children: a plan in, what its statements gave out, or one of the failures below.

    references ─ streamed into ─→ files of a private folder ─→ child (duckdb_child.py) ─→ rows, or a file of them

The folder is there until the block ends that was given its file; then everything in it goes. A query that is over its
time or cancelled is killed with its child, so DuckDB takes back what it had not committed.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from noetl.config import cores
from noetl.references import Reference
from noetl.secret import MASK, Secret, revealed
from noetl.tools.children import AnswerTooLarge, ChildDied, Children
from noetl.tools.contract import Results, ToolSettings
from noetl.tools.duckdb_claims import Claims
from noetl.tools.duckdb_plan import DatabaseFile, Plan, Read
from noetl.tools.duckdb_scratch import Scratch
from noetl.tools.refused import Refused

CHILD_MODULE: Final = "noetl.tools.duckdb_child"
THREADS_MAX: Final = 4
ANSWER_EXTRA_BYTES_MAX: Final = 1024 * 1024  # beside the rows: names of columns, or the fault
MESSAGE_CHARACTERS_MAX: Final = 1_000
PIECE_BYTES: Final = 1024 * 1024
MEBIBYTE: Final = 1024 * 1024

_encode = msgspec.json.Encoder().encode


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one statement gave. `columns` is None if it gives no rows."""

    columns: tuple[str, ...] | None = None
    rows: list[dict[str, Any]] = []
    affected_rows: int = 0


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Why a statement failed, as the child says it; its message may quote a secret."""

    kind: str
    retryable: bool
    message: str
    hint: str
    line: int | None
    exception_type: str


class ChildAnswer(msgspec.Struct, frozen=True, kw_only=True):
    answers: list[Answer]
    fault: Fault | None


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan came to; `file` has the rows of the last statement, if they were to be written."""

    answers: list[Answer]
    file: Path | None

    @property
    def affected_rows(self) -> int:
        return sum(answer.affected_rows for answer in self.answers)


class QueryFailed(Exception):
    """The SQL failed; the message is for people and shows no secret."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class Runs:
    """Runs plans, as many at once as there are slots."""

    def __init__(self, settings: ToolSettings) -> None:
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.process_slots)
        self._children = Children(CHILD_MODULE, slots=settings.process_slots)
        self._scratch = Scratch(settings.home)
        self._claims = Claims()

    @asynccontextmanager
    async def done(self, plan: Plan, results: Results, seconds: float | None) -> AsyncIterator[Done]:
        """What a plan gives. `seconds` count from when it has its files and a slot, and the block is part of it.

        Raises QueryFailed, Refused, ResultError, ChildDied, AnswerTooLarge, TimeoutError.
        """
        async with (
            self._claims.held(plan.files),
            self._slots,
            asyncio.timeout(seconds),
            self._scratch.folder() as folder,
        ):
            files = [await _stage(read, folder / str(place), plan, results) for place, read in enumerate(plan.reads)]
            out = folder / "out" if plan.write_format else None
            question = self._question(plan, folder, files, out)
            bytes_max = self._settings.result_bytes_max
            if plan.keeps_all:
                bytes_max *= max(1, len(plan.statements))
            found = await self._children.ask(
                question, answer_bytes_max=bytes_max + ANSWER_EXTRA_BYTES_MAX, seconds=None
            )
            answer = msgspec.json.decode(found, type=ChildAnswer)
            if answer.fault is not None:
                raise QueryFailed(answer.fault, _message(answer.fault, plan))
            yield Done(answers=answer.answers, file=out)

    async def close(self) -> None:
        await self._children.close()
        await self._scratch.close()

    def _question(self, plan: Plan, folder: Path, files: list[Path], out: Path | None) -> bytes:
        asked = {
            "statements": [
                {"text": one.text, "values": revealed(one.values), "line": one.line} for one in plan.statements
            ],
            "database": _place(plan.database) if plan.database else None,
            "attached": {alias: _place(file) for alias, file in plan.attached.items()},
            "reads": [
                {"name": read.name, "format": read.format, "path": str(file)}
                for read, file in zip(plan.reads, files, strict=True)
            ],
            "out": str(out) if out else "",
            "write_format": plan.write_format,
            "folder": str(folder),
            "threads": min(cores(), THREADS_MAX),
            "memory_mb": plan.memory_mb,
            "disk_mb": plan.disk_mb,
            "rows_bytes_max": self._settings.result_bytes_max,
            "keeps_all": plan.keeps_all,
            "is_autocommit": plan.is_autocommit,
            "is_external_allowed": plan.is_external_allowed,
        }
        return json.dumps(asked).encode()  # NaN is no JSON, but Python's reader of the other end knows it


def why_it_died(error: ChildDied | AnswerTooLarge) -> str:
    """A child that gave no answer, in words."""
    if isinstance(error, AnswerTooLarge):
        return "the answer of the query is larger than it may be; ask for fewer rows, or store them with write"
    return f"the process of the query {error} before there was a result"


async def pieces_of(file: Path) -> AsyncIterator[bytes]:
    """A file that a plan wrote, in pieces."""
    with await asyncio.to_thread(file.open, "rb") as opened:
        while piece := await asyncio.to_thread(opened.read, PIECE_BYTES):
            yield piece


def _place(file: DatabaseFile) -> dict[str, Any]:
    return {"path": str(file.path), "read_only": file.is_read_only}


async def _stage(read: Read, file: Path, plan: Plan, results: Results) -> Path:
    """A payload as a file of its own, for this user only."""
    bytes_left = plan.disk_mb * MEBIBYTE
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as opened:
        async for piece in _payload(read, results):
            bytes_left -= len(piece)
            if bytes_left < 0:
                raise Refused(
                    "limit", f"read.{read.name} is larger than {plan.disk_mb} MiB, the disk it may use (spec.disk_mb)"
                )
            await asyncio.to_thread(opened.write, piece)
    return file


async def _payload(read: Read, results: Results) -> AsyncIterator[bytes]:
    if isinstance(read.payload, Reference):
        async for piece in results.stream(read.payload):
            yield piece
        return
    try:
        yield _encode(read.payload)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused("type", f"read.{read.name} cannot be written as JSON: {error}") from error


def _message(fault: Fault, plan: Plan) -> str:
    """Where it failed and why. Secrets go before anything is cut: half a secret is found by no redactor."""
    words = fault.message
    for secret in sorted(set(_secrets([one.values for one in plan.statements])), key=len, reverse=True):
        words = words.replace(secret, MASK)
    place = f", in line {fault.line} of the SQL" if fault.line else ""
    hint = f". {fault.hint[0].upper()}{fault.hint[1:]}" if fault.hint else ""
    return words[:MESSAGE_CHARACTERS_MAX] + place + hint


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, Secret):
        if value:
            yield value.reveal()
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _secrets(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets(inner)
