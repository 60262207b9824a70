"""Small files with secrets in them: read from a file only, since a device or a pipe of that name may never end."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path


def read_plain_file(path: Path, bytes_max: int, *, follows_link: bool = True) -> tuple[bytes, os.stat_result]:
    """Its bytes (of one too large, one more than `bytes_max`) and what the system knows of it. Raises OSError."""
    no_link = 0 if follows_link else getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, os.O_RDONLY | no_link | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(bytes_max + 1), found
    finally:
        os.close(handle)


def text_of(data: bytes, bytes_max: int, what: str) -> str:
    """The secret that a file holds: its text without the last line end. Raises LookupError, which shows nothing."""
    if len(data) > bytes_max:
        raise LookupError(f"{what} may have {bytes_max} bytes, but has more")
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise LookupError(f"{what} is not UTF-8 text") from None


def sync_folder(folder: Path) -> None:
    """A new name is on disk when its folder is; Windows has no such call and needs none. Raises OSError."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
