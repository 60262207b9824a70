"""What a server keeps: executions, their logs, the catalog, snapshots. One writer; many readers.

`commit` is the only way anything gets into a log: one batch, one transaction, durable when it returns. A batch either
stands whole or not at all. Events are never changed and never removed. The suite in `noetl.testing.store_suite` holds
for every implementation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

import msgspec

from noetl.engine.events import Event
from noetl.stores.wanted import ALL, ANY_PATH, Paths, Wanted

RUNNING, WAITING, INCIDENT = "running", "waiting", "incident"
SUCCESS, FAILED, CANCELLED = "success", "failed", "cancelled"
LIVE = (RUNNING, WAITING, INCIDENT)
STATUSES = (*LIVE, SUCCESS, FAILED, CANCELLED)  # all there are


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the list of executions."""

    id: int
    sha: str  # the catalog entry that runs
    path: str
    version: int
    status: str = RUNNING
    head: int = 0  # the last seq
    folder: str = ""  # where the playbook's file was; "": it came from the catalog
    request_key: str | None = None  # one execution per key, ever
    parent_id: int | None = None
    parent_key: str | None = None  # the task run that called it: one child per key, ever
    created_at: float = 0.0
    ended_at: float | None = None
    digest: str = ""  # of the state at its end, as the engine had it in memory (replay --verify)


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Events that go to the end of one log, and what its row says afterwards."""

    execution_id: int
    first_seq: int  # must be head + 1
    events: list[Event]
    status: str
    ended_at: float | None = None
    digest: str = ""
    # Of a shared store only: the earliest time by which somebody must look at the execution (`SharedStore.overdue`),
    # if this append sets one; and until when this server follows up what it decided (`SharedStore.abandoned`).
    deadline_at: float | None = None
    follow_until: float | None = None  # 0.0: nothing is left to follow up; None: as it was


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an execution after `seq`: a cache. `engine` tells which engine wrote it."""

    execution_id: int
    seq: int
    engine: int
    body: bytes


class Batch(msgspec.Struct, kw_only=True):
    """What one commit writes, in this order."""

    executions: list[Execution] = []
    appends: list[Append] = []
    snapshots: list[Snapshot] = []


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A registered playbook: path and version, by content. It never changes."""

    path: str
    version: int  # 1, 2, 3… for each path
    sha: str  # of the text and the flags it is read with
    text: bytes
    name: str = ""  # what the file was called, for messages
    label: str = ""  # metadata.version
    is_legacy: bool = False
    is_upstream: bool = False
    created_at: float = 0.0


class Title(msgspec.Struct, frozen=True, kw_only=True):
    """A playbook in its newest version, without its text."""

    path: str
    version: int
    sha: str
    name: str
    label: str
    is_legacy: bool
    is_upstream: bool
    created_at: float


class HeadMoved(Exception):
    """The log does not end where the batch begins: somebody else wrote to it."""


class Unforeseen(Exception):
    """Logs or leases are not as they were thought to be; nothing was done. Of a store that several servers share."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A small document that is changed by compare and set: a token, a schedule, a worker that was seen."""

    room: str  # what kind of thing it is: token, schedule, trigger, worker, …
    name: str  # unique within its room
    version: int = 0  # counts up with every change; 0: not kept yet
    body: bytes = b""  # JSON
    due_at: float | None = None  # when somebody should look at it next


class Records(Protocol):
    """Small documents beside the log. All of a room's are read by name, or by when they are due."""

    async def record(self, room: str, name: str) -> Record | None: ...

    async def records(self, room: str, after: str = "", limit: int = 1000) -> list[Record]:
        """By name, those after one."""
        ...

    async def record_versions(self, room: str) -> dict[str, int]:
        """The version of each, by name: whether anything has changed."""
        ...

    async def due_records(self, room: str, now: float, limit: int = 100) -> list[Record]:
        """Those whose due_at has come, the longest due first."""
        ...

    async def put_record(self, record: Record) -> bool:
        """Keep it as version + 1, if what is there has exactly `record.version` (0: nothing is there); else False."""
        ...

    async def remove_record(self, room: str, name: str) -> bool:
        """False: there was none."""
        ...


class Store(Records, Protocol):
    name: str  # as people know it: sqlite:///path; never with a password

    async def reserve_ids(self, count: int) -> int:
        """The first of `count` execution ids that nobody else ever gets."""
        ...

    async def commit(self, batch: Batch) -> None:
        """Write a batch, durably, or nothing of it. Raises HeadMoved, DiskFull."""
        ...

    async def execution(self, execution_id: int) -> Execution | None: ...

    async def execution_by_request(self, request_key: str) -> Execution | None: ...

    async def execution_by_parent(self, parent_key: str) -> Execution | None: ...

    async def executions(self, limit: int = 100, before: int | None = None, wanted: Wanted = ALL) -> list[Execution]:
        """Those that are wanted, newest first; `before`: only those older than this one."""
        ...

    async def executions_by_id(self, digits: str, limit: int, paths: Paths = ANY_PATH) -> list[Execution]:
        """The one with exactly this id, alone; if there is none, those whose id begins so, the largest ids first."""
        ...

    async def recent_executions(self, paths: Sequence[str], limit: int) -> dict[str, list[Execution]]:
        """The last ones of each path, newest first; a path without any need not be there."""
        ...

    async def ended_executions(self, since: float, limit: int = 100) -> list[Execution]:
        """Those that ended then or later, the first to end first."""
        ...

    async def count_live(self, paths: Paths = ANY_PATH) -> dict[str, int]:
        """How many executions under way have each of the statuses in LIVE; a status without any need not be there."""
        ...

    async def count_ended(self, since: float, paths: Paths = ANY_PATH) -> dict[tuple[int, str], int]:
        """How many ended then or later, by the hour (of those since 1970) and the status they ended with."""
        ...

    async def children(self, execution_id: int) -> list[Execution]:
        """Oldest first."""
        ...

    async def events(self, execution_id: int, after: int = 0, limit: int = 1000) -> list[tuple[int, Event]]:
        """(seq, event) in order, from seq after + 1 on."""
        ...

    def iteration_outputs(self, execution_id: int, run: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        """(index, output envelope) of each `loop.iteration.done` of a run, by index, in bounded memory."""
        ...

    async def snapshot(self, execution_id: int) -> Snapshot | None:
        """The newest one."""
        ...

    async def register(self, entry: Entry) -> Entry:
        """Keep a playbook. The same sha under the same path: the entry there is; else the path's next version."""
        ...

    async def entry(self, path: str, version: int | None = None) -> Entry | None:
        """One version of a path; the newest if none is named."""
        ...

    async def entry_by_sha(self, sha: str) -> Entry | None: ...

    async def entries(self) -> list[Entry]:
        """All versions of all paths, by path, newest version first."""
        ...

    async def titles(self, limit: int, after: str = "", paths: Paths = ANY_PATH, text: str = "") -> list[Title]:
        """The newest version of each path after one, by path, without its text. `text`: somewhere in the path."""
        ...

    async def catalog_size(self) -> int:
        """How many versions of playbooks there are. It never goes down."""
        ...

    async def close(self) -> None: ...
