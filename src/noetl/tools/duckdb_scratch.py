"""Private folders for what a duckdb task reads, writes and spills; gone when the task is done.

A worker that is killed cannot tidy up. So its folders lie in one that it holds a lock on, and whoever comes next
removes those that nobody holds. Every folder is for this user only.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

FOLDER: Final = "scratch"
LOCK: Final = "lock"
YOUNG_SECONDS: Final = 60.0  # it may have been made a moment ago, and not be locked yet


class Scratch:
    """The folders of one tool."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._making = asyncio.Lock()
        self._top: Path | None = None
        self._lock: int | None = None

    @asynccontextmanager
    async def folder(self) -> AsyncIterator[Path]:
        """An empty folder for one task."""
        async with self._making:
            if self._top is None:
                self._top, self._lock = await asyncio.to_thread(_open, self._home)
        made = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=self._top))
        try:
            yield made
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, made, ignore_errors=True))

    async def close(self) -> None:
        if self._top is not None and self._lock is not None:
            await asyncio.to_thread(shutil.rmtree, self._top, ignore_errors=True)
            os.close(self._lock)
            self._top = self._lock = None


def _open(home: Path | None) -> tuple[Path, int]:
    """A folder that is ours, and the lock that says so; what dead workers left is removed."""
    parent = None
    if home is not None:
        parent = home / FOLDER
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(parent)
    top = Path(tempfile.mkdtemp(prefix="noetl-duckdb-", dir=parent))
    lock = os.open(top / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return top, lock


def _sweep(parent: Path) -> None:
    for folder in parent.iterdir():
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        if time.time() - folder.stat().st_mtime < YOUNG_SECONDS:
            return False
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True  # its worker died before it had a lock
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
