"""What Python code does to plain files by the functions of `os`: open, fsync, replace, unlink, mkdir.

That is what `results/files.py` uses. A write goes through a buffered file and is not seen by itself: what a file holds
is noted when it is synced, and when it is renamed, whichever comes first. So a file that is renamed without having been
synced is in the trace as written and not on disk, which is what it is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from noetl.testing.crash_images.trace import FolderMade, FolderSynced, Synced, Trace, Wrote

PATCHED = ("open", "fsync", "replace", "unlink", "mkdir")


class FileCalls:
    """Notes the calls of this process that concern one folder, while it is entered."""

    def __init__(self, trace: Trace, folder: Path) -> None:
        self._trace = trace
        self._folder = folder
        self._names: dict[int, str] = {}  # of descriptors, by what they were last opened as
        self._noted: dict[str, bytes] = {}  # what files held when they were last looked at
        self._real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in PATCHED}

    def __enter__(self) -> Self:
        for name in PATCHED:
            setattr(os, name, getattr(self, f"_{name}"))
        return self

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _open(self, path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        descriptor: int = self._real["open"](path, flags, mode, **options)
        name = self._named(path)
        if name is None:
            self._names.pop(descriptor, None)
        else:
            self._names[descriptor] = name
            if flags & os.O_CREAT:
                self._trace.created(name)
        return descriptor

    def _fsync(self, descriptor: int) -> None:
        self._real["fsync"](descriptor)
        name = self._names.get(descriptor)
        if name is None:
            return
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            self._trace.note(FolderSynced(name="" if name == "." else name))
        else:
            self._look_at(name)
            self._trace.note(Synced(file=self._trace.files[name]))

    def _replace(self, source: Any, target: Any, **options: Any) -> None:
        old, new = self._named(source), self._named(target)
        if old is not None:
            self._look_at(old)
        self._real["replace"](source, target, **options)
        if old is not None and new is not None:
            self._trace.renamed(old, new)

    def _unlink(self, path: Any, **options: Any) -> None:
        self._real["unlink"](path, **options)
        name = self._named(path)
        if name is not None:
            self._trace.removed(name)

    def _mkdir(self, path: Any, mode: int = 0o777, **options: Any) -> None:
        self._real["mkdir"](path, mode, **options)
        name = self._named(path)
        if name is not None:
            self._trace.note(FolderMade(name=name))

    def _look_at(self, name: str) -> None:
        """Note what a file holds, if it is not noted yet."""
        data = (self._folder / name).read_bytes()
        if self._noted.get(name) != data:
            self._noted[name] = data
            self._trace.note(Wrote(file=self._trace.files[name], offset=0, data=data))

    def _named(self, path: Any) -> str | None:
        """A path within the folder; None: it is outside."""
        given = Path(os.fsdecode(path))
        return given.relative_to(self._folder).as_posix() if given.is_relative_to(self._folder) else None
