"""An execution as one file: its row, the playbooks it runs, its whole log, and the payloads that this refers to.

    {"format": "noetl.execution", "version": 2, …, "execution": {…}, "playbooks": […], "events": 11}
    {"name": "playbook.execution.requested", …}
    …

Comes in: a store, and stores of results. Goes out: pieces of text: a header, then one event a line, as stores keep
them; then, if the header says so, the payloads (`exported_payloads`). Secrets are not in it: they were redacted before
anything was recorded or stored. What a worker proves itself with is left out. `brought` reads it back.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import msgspec

from noetl import __version__
from noetl.control.catalog import Text
from noetl.control.exported_payloads import Payloads
from noetl.control.reading import EVENTS_PER_READ, listed_row, row_of
from noetl.engine.events import Event, ExecutionForked, PlaybookExecutionRequested, encode, timestamp
from noetl.stores.contract import Entry, Execution, Store

FORMAT, VERSION = "noetl.execution", 2
VERSIONS = (1, 2)  # that can be read: the first had no payloads
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
    events_sha256: str = ""  # of their lines; "": an older NoETL wrote it
    has_payloads: bool = False  # they follow on the events


class ExportedFile(NamedTuple):
    """An export on its way to whoever asked for it."""

    name: str
    pieces: Iterator[bytes]


def file_name(row: Execution) -> str:
    """`orders-4097.noetl`"""
    name = UNSAFE.sub("-", row.path.rpartition("/")[2])[:NAME_CHARACTERS_MAX].strip(".-")
    return f"{name or 'execution'}-{row.id}.noetl"


async def exported(
    store: Store, execution_id: int, now: float, payloads: Payloads | None = None
) -> AsyncIterator[bytes]:  # fmt: skip
    """The file, in pieces; what is committed while it is written is not in it. `payloads`: those are to come along."""
    row = await row_of(store, execution_id)
    yield encode(await header_of(store, row, now, has_payloads=payloads is not None)) + b"\n"
    seq = 0
    while seq < row.head and (rows := await store.events(row.id, seq, min(EVENTS_PER_READ, row.head - seq))):
        seq = rows[-1][0]
        if payloads is not None:
            payloads.look_at(event for _, event in rows)
        yield lines_of(rows)
    if payloads is not None:
        async for line in payloads.lines():
            yield line


def without_lease(event: Event) -> Event:
    """Of a lease all that is told is that there was one: a worker of an execution under way proves itself with it."""
    return msgspec.structs.replace(event, lease=A_LEASE) if event.lease else event


async def header_of(store: Store, row: Execution, now: float, *, has_payloads: bool) -> Header:
    ended_at = None if row.ended_at is None else timestamp(row.ended_at)
    entries, sha = await looked_through(store, row)
    return Header(
        format=FORMAT,
        version=VERSION,
        exported_at=timestamp(now),
        noetl=__version__,
        execution={**listed_row(row), "sha": row.sha, "ended_at": ended_at, "digest": row.digest},
        playbooks=[playbook_of(entry) for entry in entries],
        events=row.head,
        events_sha256=sha,
        has_payloads=has_payloads,
    )


async def looked_through(store: Store, row: Execution) -> tuple[list[Entry], str]:
    """The playbooks that a log names: its own, and those of the executions it was forked from; and the sha256 of its
    lines, by which a log that was altered on its way is known."""
    shas, seq, digest = {row.sha: None}, 0, hashlib.sha256()
    while seq < row.head and (rows := await store.events(row.id, seq, min(EVENTS_PER_READ, row.head - seq))):
        seq = rows[-1][0]
        digest.update(lines_of(rows))
        named = (event.sha for _, event in rows if isinstance(event, PlaybookExecutionRequested | ExecutionForked))
        shas |= dict.fromkeys(named)
    found = [await store.entry_by_sha(sha) for sha in list(shas)[:PLAYBOOKS_MAX]]
    return [entry for entry in found if entry is not None], digest.hexdigest()


def lines_of(rows: list[tuple[int, Event]]) -> bytes:
    return b"".join(encode(without_lease(event)) + b"\n" for _, event in rows)


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
