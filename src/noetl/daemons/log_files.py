"""The log file of a program that has no terminal: everything it and its children print, rotated by size.

A file is appended to by several processes that know nothing of each other, some of which only inherited it. So rotation
keeps the file and moves its content: what is in it is copied to `<name>.1`, and the file is cut to nothing. Appending
goes on at the new end. A line that is written between the copy's last byte and the cut is lost; where every line
counts, run in the foreground and let systemd or the container's engine keep the log.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noetl.stores.disk import PRIVATE_FILE, prepare_folder

FILE_BYTES_MAX = 10 * 1024 * 1024
FILES_KEPT_MAX = 5  # besides the one that grows
LOOK_SECONDS = 5.0
TAIL_BYTES_MAX = 16 * 1024
TAIL_LINES_MAX = 20


@contextmanager
def writing_to(path: Path, bytes_max: int = FILE_BYTES_MAX, look_seconds: float = LOOK_SECONDS) -> Iterator[None]:
    """From here on, what this process prints goes to the file."""
    sys.stdout.flush()
    sys.stderr.flush()
    file = opened(path)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    ended = threading.Event()
    keeper = threading.Thread(target=_watch, args=(path, bytes_max, look_seconds, ended), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def opened(path: Path) -> int:
    """A descriptor that appends, so that several processes can have one."""
    prepare_folder(path.parent)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)


def rotate(path: Path) -> None:
    """Move the content on: log → log.1 → log.2 …"""
    for number in range(FILES_KEPT_MAX - 1, 0, -1):
        if (kept := numbered(path, number)).exists():
            kept.replace(numbered(path, number + 1))
    newest = os.open(numbered(path, 1), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    with path.open("r+b") as source, os.fdopen(newest, "wb") as copy:
        shutil.copyfileobj(source, copy)
        source.truncate(0)


def numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def tail(path: Path, after: int = 0) -> str:
    """The last lines, of what was written from `after` on."""
    with suppress(OSError), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(after if after <= size else 0, size - TAIL_BYTES_MAX))
        lines = file.read(TAIL_BYTES_MAX).decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-TAIL_LINES_MAX:])
    return ""


def _watch(path: Path, bytes_max: int, look_seconds: float, ended: threading.Event) -> None:
    while not ended.wait(look_seconds):
        with suppress(OSError):  # a full disk, or a file that somebody removed: the program itself goes on
            if path.stat().st_size > bytes_max:
                rotate(path)
