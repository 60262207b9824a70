"""What a program did to the files of one folder, and what it told others meanwhile: one list, in order.

A file is a number, so that it stays itself when its name changes; names are relative to the folder. Nothing here
touches a disk.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import msgspec


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was done."""


class Wrote(Entry, frozen=True, kw_only=True):
    file: int
    offset: int
    data: bytes


class Truncated(Entry, frozen=True, kw_only=True):
    file: int
    size_bytes: int


class Synced(Entry, frozen=True, kw_only=True):
    """All that was written to a file before is on disk."""

    file: int


class Created(Entry, frozen=True, kw_only=True):
    name: str
    file: int


class Renamed(Entry, frozen=True, kw_only=True):
    source: str
    target: str
    file: int


class Removed(Entry, frozen=True, kw_only=True):
    name: str


class FolderMade(Entry, frozen=True, kw_only=True):
    name: str


class FolderSynced(Entry, frozen=True, kw_only=True):
    """All names that were given and taken in a folder before are on disk; `""`: the recorded folder itself."""

    name: str


class Acknowledged(Entry, frozen=True, kw_only=True):
    """Somebody was told that this is so: from here on it must be so, whatever happens."""

    what: str
    facts: tuple[Any, ...]


class Trace:
    """The list, and the names that the files have at its end."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.files: dict[str, int] = {}
        self._last_file = 0

    def note(self, entry: Entry) -> None:
        self.entries.append(entry)

    def acknowledge(self, what: str, *facts: Any) -> None:
        self.note(Acknowledged(what=what, facts=facts))

    def created(self, name: str) -> int:
        """The file of that name; a new one if there is none."""
        found = self.files.get(name)
        if found is None:
            self._last_file += 1
            found = self.files[name] = self._last_file
            self.note(Created(name=name, file=found))
        return found

    def renamed(self, source: str, target: str) -> None:
        file = self.files.pop(source)
        self.files[target] = file
        self.note(Renamed(source=source, target=target, file=file))

    def removed(self, name: str) -> None:
        if self.files.pop(name, None) is not None:
            self.note(Removed(name=name))


def folder_of(name: str) -> str:
    """The folder that a name stands in; `""`: the recorded one."""
    parent = PurePosixPath(name).parent.as_posix()
    return "" if parent == "." else parent
