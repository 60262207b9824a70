"""Pid files: who runs under a name, on this machine.

In: a path, which is the name. Out: the record of the process that runs, or nothing. The first line is the process id,
for scripts; the second a JSON record. A file that a dead process left behind is no obstacle: a record counts only while
the very process that wrote it runs (`identity`). Two that start at the same time are told apart by a lock, which is
held for the moment of claiming and not longer, so that no child can inherit it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from noetl.daemons.identity import mark_of, own_mark
from noetl.errors import AlreadyRunning, OperatorError
from noetl.stores.disk import PRIVATE_FILE, prepare_folder
from noetl.stores.lock import take_lock

SUFFIX = ".pid"
LOCK_NAME = "run.lock"
FILE_BYTES_MAX = 64 * 1024
LOCK_SECONDS_MAX = 10.0
LOCK_LOOK_SECONDS = 0.02

Facts = Mapping[str, str | int]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A process, and what it says of itself."""

    pid: int
    mark: str
    since: float  # seconds since 1970
    version: str
    is_ready: bool = False
    facts: dict[str, str | int] = {}

    @property
    def is_running(self) -> bool:
        return bool(self.mark) and mark_of(self.pid) == self.mark


class PidFile:
    """One name, and the process under it. A program claims it, says when it is ready, and releases it at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def record(self) -> Record | None:
        """What the file says, whether or not it still holds; None: nothing that can be read."""
        try:
            with self.path.open("rb") as file:
                _, _, line = file.read(FILE_BYTES_MAX).partition(b"\n")
            return msgspec.json.decode(line, type=Record)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def running(self) -> Record | None:
        """The process that runs under this name now."""
        found = self.record()
        return found if found is not None and found.is_running else None

    def claim(self, what: str, version: str, facts: Facts) -> None:
        """Take the name for this process. Raises AlreadyRunning; `what` is what people call it."""
        record = Record(
            pid=os.getpid(),
            mark=own_mark(),
            since=time.time(),
            version=version,
            facts=dict(facts),
        )
        with _alone(self.path.parent):
            other = self.running()
            if other is not None and other.pid != record.pid:
                raise AlreadyRunning(what, other.pid, str(self.path))
            self._write(record)

    def tell(self, facts: Facts) -> None:
        """This process is ready, and says more of itself. A file that is not its own any more is left alone."""
        with _alone(self.path.parent):
            found = self.record()
            if found is not None and _is_own(found):
                whole = {**found.facts, **facts}
                self._write(msgspec.structs.replace(found, is_ready=True, facts=whole))

    def release(self) -> None:
        """This process ends."""
        with _alone(self.path.parent):
            found = self.record()
            if found is not None and _is_own(found):
                self.path.unlink(missing_ok=True)

    def _write(self, record: Record) -> None:
        """Whole or not at all: whoever reads sees the old text or the new one."""
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE), "wb") as file:
                file.write(f"{record.pid}\n".encode() + msgspec.json.encode(record) + b"\n")
            new.replace(self.path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise


def pid_files(folder: Path, prefix: str) -> list[PidFile]:
    """Those of one role, by name."""
    with suppress(OSError):
        return [PidFile(path) for path in sorted(folder.glob(f"{prefix}-*{SUFFIX}"))]
    return []


def _is_own(record: Record) -> bool:
    return record.pid == os.getpid() and record.mark == own_mark()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else claims or releases a name of this folder meanwhile."""
    prepare_folder(folder)
    path, until = folder / LOCK_NAME, time.monotonic() + LOCK_SECONDS_MAX
    while (lock := take_lock(path, time.time())) is None:
        if time.monotonic() > until:
            raise OperatorError(f"{path} is locked by a process that does not let go of it; look who has it open")
        time.sleep(LOCK_LOOK_SECONDS)
    try:
        yield
    finally:
        lock.release()
