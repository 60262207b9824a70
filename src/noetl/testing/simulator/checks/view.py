"""What the checker sees of a store: rows, logs as bytes, jobs, snapshots. It only looks.

A cluster's database and the disk of one process show the same face, so that every check is written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import msgspec

from noetl.engine.commands import Key
from noetl.queues import memory
from noetl.queues.memory import MemoryQueue
from noetl.stores.contract import Execution, Snapshot
from noetl.stores.shared import PARKED
from noetl.testing.simulator.database.tables import ExecutionRow, Tables
from noetl.testing.simulator.disk import Disk
from noetl.testing.simulator.results import Bucket


class Row(msgspec.Struct, frozen=True):
    """An execution as it is listed. `tag` 0: there are none; `is_followed` None: nobody marks what is owed."""

    execution: Execution
    tag: int = 0
    is_followed: bool | None = None


class JobSeen(msgspec.Struct, frozen=True):
    """A job as the queue has it. `lease` 0: none stands; `child_key` None: the queue does not say."""

    lease: int
    worker: str
    is_for_child: bool
    child_key: str | None = None
    ready_at: float | None = None


class View(Protocol):
    def rows(self) -> Iterable[Row]: ...

    def row(self, execution_id: int) -> Row | None: ...

    def bodies(self, execution_id: int, after: int = 0) -> list[bytes]:
        """The events of a log from seq after + 1 on, as they are kept."""
        ...

    def jobs(self) -> Mapping[Key, JobSeen] | None:
        """None: there is no queue that could be compared with the log now."""
        ...

    def snapshots(self) -> Iterable[Snapshot]: ...

    def texts(self) -> Iterator[tuple[str, bytes]]:
        """Whatever else is kept, with the name of where."""
        ...


class DatabaseView:
    """Of a cluster's database."""

    def __init__(self, tables: Tables, bucket: Bucket) -> None:
        self.tables = tables
        self.bucket = bucket

    def rows(self) -> Iterator[Row]:
        return map(_row, self.tables.executions.values())

    def row(self, execution_id: int) -> Row | None:
        found = self.tables.executions.get(execution_id)
        return _row(found) if found else None

    def bodies(self, execution_id: int, after: int = 0) -> list[bytes]:
        return [body for body, _ in self.tables.logs.get(execution_id, ())[after:]]

    def jobs(self) -> Mapping[Key, JobSeen]:
        return {
            job.key: JobSeen(max(job.lease, 0), job.worker, job.state == PARKED, job.child_key, job.ready_at)
            for job in self.tables.jobs.values()
        }

    def snapshots(self) -> Iterable[Snapshot]:
        return self.tables.snapshots.values()

    def texts(self) -> Iterator[tuple[str, bytes]]:
        for record in self.tables.records.values():
            yield f"record {record.room}/{record.name}", record.body
        for versions in self.tables.entries.values():
            for entry in versions:
                yield f"playbook {entry.path}", entry.text
        yield from self.bucket.texts()


def _row(row: ExecutionRow) -> Row:
    return Row(row.execution, row.tag, bool(row.follow_until))


class DiskView:
    """Of the disk of one process. `queue`: the process's, while its memory is up to its log; None: it is not."""

    def __init__(self, disk: Disk, bucket: Bucket, queue: MemoryQueue | None = None) -> None:
        self.disk = disk
        self.bucket = bucket
        self.queue = queue

    def rows(self) -> Iterator[Row]:
        return map(Row, self.disk.rows)

    def row(self, execution_id: int) -> Row | None:
        found = next((row for row in self.disk.rows if row.id == execution_id), None)
        return Row(found) if found else None

    def bodies(self, execution_id: int, after: int = 0) -> list[bytes]:
        return self.disk.bodies(execution_id)[after:]

    def jobs(self) -> Mapping[Key, JobSeen] | None:
        if self.queue is None:
            return None
        return {
            key: JobSeen(job.lease, job.worker, job.state == memory.PARKED and not job.until)
            for key, job in self.queue._jobs.items()  # it shows its jobs to nobody else
        }

    def snapshots(self) -> Iterable[Snapshot]:
        return self.disk.snapshots()

    def texts(self) -> Iterator[tuple[str, bytes]]:
        for entry in self.disk.texts():
            yield f"playbook {entry.path}", entry.text
        yield from self.bucket.texts()
