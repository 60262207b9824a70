"""An execution as one file: its row, the playbooks it runs, its whole log. Comes in: a store. Goes out: pieces of text.

    {"format": "noetl.execution", "version": 1, …, "execution": {…}, "playbooks": […], "events": 11}
    {"name": "playbook.execution.requested", …}
    …

A header, then one event a line, as stores keep them; the number of an event is that of its line. Nothing is in it that
is not in the log: secrets were redacted before they came there, and payloads kept elsewhere stay where they are. What
a worker proves itself with is left out.
`brought` reads it back.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import msgspec

from noetl import __version__
from noetl.control.catalog import Text
from noetl.control.reading import EVENTS_PER_READ, listed_row, row_of
from noetl.engine.events import Event, ExecutionForked, PlaybookExecutionRequested, encode, timestamp
from noetl.stores.contract import Entry, Execution, Store

FORMAT, VERSION = "noetl.execution", 1
PLAYBOOKS_MAX = 16
NAME_CHARACTERS_MAX = 100
A_LEASE = 1
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class ExportedPlaybook(msgspec.Struct, frozen=True, kw_only=True):
    """A playbook that the execution runs, or ran before it was forked."""

    path: str
    version: int
    sha: str
    text: str
    name: str = ""
    is_legacy: bool = False
    is_upstream: bool = False

    @property
    def as_text(self) -> Text:
        data = self.text.encode("utf-8", "surrogatepass")
        return Text(data=data, name=self.name, is_legacy=self.is_legacy, is_upstream=self.is_upstream)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    format: str
    version: int
    exported_at: str = ""
    noetl: str = ""  # the version that wrote it
    execution: dict[str, Any] = {}  # its row, for people: what counts is the log
    playbooks: list[ExportedPlaybook] = []
    events: int


class ExportedFile(NamedTuple):
    """An export on its way to whoever asked for it."""

    name: str
    pieces: Iterator[bytes]


def file_name(row: Execution) -> str:
    """`orders-4097.noetl`"""
    name = UNSAFE.sub("-", row.path.rpartition("/")[2])[:NAME_CHARACTERS_MAX].strip(".-")
    return f"{name or 'execution'}-{row.id}.noetl"


async def exported(store: Store, execution_id: int, now: float) -> AsyncIterator[bytes]:
    """The file, in pieces; what is committed while it is written is not in it."""
    row = await row_of(store, execution_id)
    yield encode(await header_of(store, row, now)) + b"\n"
    seq = 0
    while seq < row.head and (rows := await store.events(row.id, seq, min(EVENTS_PER_READ, row.head - seq))):
        seq = rows[-1][0]
        yield b"".join(encode(without_lease(event)) + b"\n" for _, event in rows)


def without_lease(event: Event) -> Event:
    """Of a lease all that is told is that there was one: a worker of an execution under way proves itself with it."""
    return msgspec.structs.replace(event, lease=A_LEASE) if event.lease else event


async def header_of(store: Store, row: Execution, now: float) -> Header:
    ended_at = None if row.ended_at is None else timestamp(row.ended_at)
    return Header(
        format=FORMAT,
        version=VERSION,
        exported_at=timestamp(now),
        noetl=__version__,
        execution={**listed_row(row), "sha": row.sha, "ended_at": ended_at, "digest": row.digest},
        playbooks=[playbook_of(entry) for entry in await entries_of(store, row)],
        events=row.head,
    )


async def entries_of(store: Store, row: Execution) -> list[Entry]:
    """The playbooks that a log names: its own, and those of the executions it was forked from."""
    shas, seq = {row.sha: None}, 0
    while seq < row.head and (rows := await store.events(row.id, seq, min(EVENTS_PER_READ, row.head - seq))):
        seq = rows[-1][0]
        named = (event.sha for _, event in rows if isinstance(event, PlaybookExecutionRequested | ExecutionForked))
        shas |= dict.fromkeys(named)
    found = [await store.entry_by_sha(sha) for sha in list(shas)[:PLAYBOOKS_MAX]]
    return [entry for entry in found if entry is not None]


def playbook_of(entry: Entry) -> ExportedPlaybook:
    return ExportedPlaybook(
        path=entry.path,
        version=entry.version,
        sha=entry.sha,
        text=entry.text.decode("utf-8", "replace"),
        name=entry.name,
        is_legacy=entry.is_legacy,
        is_upstream=entry.is_upstream,
    )
