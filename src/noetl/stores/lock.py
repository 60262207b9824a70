"""One writer per store: an exclusive lock on `<database>.lock` that the operating system takes back with its process.

In: the path of the lock file. Out: a held Lock, or None while another process holds it. The file's content only tells
people who that is; what excludes is the lock on it, so a file left behind by a dead process is no obstacle. The file is
never removed: whoever waits for it would then hold a lock on a name that is gone.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import msgspec

from noetl.stores.disk import PRIVATE_FILE

COMMAND_WORDS_MAX = 3
WORD_CHARACTERS_MAX = 100
CONTENT_BYTES_MAX = 4096
UNKNOWN_HOLDER = "another process"


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who has the lock, as the lock file says."""

    pid: int
    command: str
    since: float

    def __str__(self) -> str:
        began = time.localtime(self.since)
        is_today = began[:3] == time.localtime()[:3]
        since = time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S", began)
        return f"process {self.pid} ({self.command}), since {since}"


class Lock:
    """A lock that this process holds until it is released, or until the process ends."""

    def __init__(self, file: int) -> None:
        self._file = file

    def release(self) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)


def take_lock(path: Path, now: float) -> Lock | None:
    """The lock, or None if another process has it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        is_taken = _try_exclusive(file)
    except BaseException:
        os.close(file)
        raise
    if not is_taken:
        os.close(file)
        return None
    holder = Holder(pid=os.getpid(), command=_own_command(), since=now)
    os.ftruncate(file, 0)
    os.write(file, msgspec.json.encode(holder))
    return Lock(file)


def holder_of(path: Path) -> str:
    """Who holds the lock, for a message."""
    try:
        with path.open("rb") as file:
            return str(msgspec.json.decode(file.read(CONTENT_BYTES_MAX), type=Holder))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # it is just being taken or released
        return UNKNOWN_HOLDER


def _own_command() -> str:
    """The program and what stands before its first option: options may carry values that nobody else should see."""
    program, *words = sys.argv or [""]
    shown = [Path(program.removesuffix("__main__.py")).name or "python"]
    for word in words[:COMMAND_WORDS_MAX]:
        if word.startswith("-"):
            break
        shown.append("".join(filter(str.isprintable, word))[:WORD_CHARACTERS_MAX])
    return " ".join(shown)


if sys.platform == "win32":
    import msvcrt

    LOCKED_BYTE = 1 << 30  # beyond the content: a locked byte cannot be read by others there

    def _try_exclusive(file: int) -> bool:
        os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True
else:
    import fcntl

    def _try_exclusive(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
