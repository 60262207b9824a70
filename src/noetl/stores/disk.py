"""The disk under a file store: private folders and files, free space, and which faults mean that it is full.

Folders made here are 0700 and files 0600 (security 15); a `.noetl` folder gets a `.gitignore`, so that no log is ever
committed by accident. Nothing here knows what is in the files.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noetl.errors import DiskFull, StoreUnusable

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
HOME_NAME = ".noetl"
FULL = frozenset((errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)))
PROBE_BYTES = 64 * 1024


def prepare_folder(folder: Path) -> None:
    """Make a folder, and those above it, if it is not there. Their names are on disk when this returns: whatever is
    synced within a folder is lost with it."""
    if folder.is_dir():
        return
    missing = [one for one in (folder, *folder.parents) if not one.is_dir()]
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    for one in missing:
        _bring_to_disk(one.parent)
    if folder.name == HOME_NAME:
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _bring_to_disk(folder: Path) -> None:
    """The names in a folder, as far as this user may: one that he cannot read is as lasting as its file system is."""
    if os.name == "nt":  # folders cannot be opened there; new names are journalled
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def prepare_file(path: Path) -> None:
    """Make an empty private file, if it is not there; what SQLite puts beside a file gets the file's mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))


def identity(path: Path) -> tuple[int, int] | None:
    """What stays the same as long as a path means the same file; None: there is none. The file is not opened."""
    try:
        found = os.stat(path)  # noqa: PTH116 - with every commit; pathlib takes twice as long
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def disk_faults(path: Path) -> Iterator[None]:
    """What the operating system refuses, as an error that says what to do."""
    try:
        yield
    except OSError as fault:
        if fault.errno in FULL:
            raise DiskFull(str(path)) from fault
        reason = fault.strerror or type(fault).__name__
        raise StoreUnusable(
            f"the store {path} cannot be used: {reason}. It needs a folder that this user may write to: "
            "mend its permissions, or choose another store with --store or NOETL_HOME"
        ) from fault


def is_out_of_room(folder: Path, offset: int) -> bool:
    """Whether a file in this folder may not grow to `offset` and beyond: full disk, quota, or file size limit.

    SQLite tells a full disk from other faults, but not a quota or a size limit. So a file of the same size is tried;
    up to the offset it is a hole and takes no room.
    """
    probe = folder / f".room-{os.urandom(8).hex()}"
    try:
        with os.fdopen(os.open(probe, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb", buffering=0) as file:
            file.seek(offset)
            file.write(bytes(PROBE_BYTES))
            os.fsync(file.fileno())
    except OSError as fault:
        return fault.errno in FULL
    finally:
        probe.unlink(missing_ok=True)
    return False


if sys.platform == "win32":

    def free_bytes(folder: Path) -> int:
        """What an ordinary user may still write to the disk of this folder."""
        import shutil

        return shutil.disk_usage(folder).free
else:

    def free_bytes(folder: Path) -> int:
        """What an ordinary user may still write to the disk of this folder."""
        disk = os.statvfs(folder)
        return disk.f_bavail * disk.f_frsize
