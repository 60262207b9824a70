"""Trace and seed in, one crash image out: the files of a folder as a failure of power may leave them.

The trace is cut somewhere. What was synced before the cut is kept; of all else a draw decides, write by write and name
by name, and for a write that is kept, sector by sector. Pure: the same trace and seed give the same image.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from noetl.testing.crash_images import trace as did
from noetl.testing.crash_images.trace import Acknowledged, Entry, Trace, folder_of

SECTOR_BYTES = 512
NAMING = (did.Created, did.Renamed, did.Removed, did.FolderMade)


class CrashImage(msgspec.Struct, frozen=True, kw_only=True):
    """What is left, and what had been acknowledged by then."""

    seed: int
    cut: int  # so many entries of the trace came to pass
    files: dict[str, bytes]
    folders: tuple[str, ...]
    acknowledged: tuple[Acknowledged, ...]
    unsynced: int  # writes that the disk was free to lose

    def write(self, folder: Path) -> None:
        """Put it into an empty folder."""
        for name in self.folders:
            (folder / name).mkdir(mode=0o700)
        for name, data in self.files.items():
            (folder / name).write_bytes(data)


def drawn(trace: Trace, seed: int, cut: int | None = None) -> CrashImage:
    """The image of a seed; `cut`: after so many entries of the trace, instead of anywhere."""
    chance = random.Random(seed)  # noqa: S311 - it must repeat, not surprise
    if cut is None:
        cut = chance.randint(0, len(trace.entries))
    past = trace.entries[:cut]
    folders, files = _names(past, chance)
    contents, unsynced = _contents(past, chance)
    return CrashImage(
        seed=seed,
        cut=cut,
        files={name: bytes(contents.get(file, b"")) for name, file in files.items()},
        folders=folders,
        acknowledged=tuple(entry for entry in past if isinstance(entry, Acknowledged)),
        unsynced=unsynced,
    )


# --- names -----------------------------------------------------------------------------------------------------------


def _names(past: Sequence[Entry], chance: random.Random) -> tuple[tuple[str, ...], dict[str, int]]:
    """The folders that are there, outer ones first, and the files by their names."""
    synced = {entry.name: place for place, entry in enumerate(past) if isinstance(entry, did.FolderSynced)}
    folders: list[str] = []
    files: dict[str, int] = {}
    for place, entry in enumerate(past):
        if isinstance(entry, NAMING) and (place < synced.get(_home_of(entry), -1) or chance.random() < 0.5):
            _name(entry, folders, files)
    there = {"", *folders}
    return tuple(folders), {name: file for name, file in files.items() if folder_of(name) in there}


def _home_of(entry: Entry) -> str:
    """The folder that must be synced for a name to last."""
    return folder_of(entry.target if isinstance(entry, did.Renamed) else getattr(entry, "name", ""))


def _name(entry: Entry, folders: list[str], files: dict[str, int]) -> None:
    match entry:
        case did.Created():
            files[entry.name] = entry.file
        case did.Renamed():
            files.pop(entry.source, None)
            files[entry.target] = entry.file
        case did.Removed():
            files.pop(entry.name, None)
        case did.FolderMade():
            if folder_of(entry.name) in {"", *folders}:
                folders.append(entry.name)


# --- contents --------------------------------------------------------------------------------------------------------


def _contents(past: Sequence[Entry], chance: random.Random) -> tuple[dict[int, bytearray], int]:
    """What each file holds, and how many writes were not synced."""
    synced = {entry.file: place for place, entry in enumerate(past) if isinstance(entry, did.Synced)}
    contents: dict[int, bytearray] = {}
    unsynced = 0
    for place, entry in enumerate(past):
        if not isinstance(entry, did.Wrote | did.Truncated):
            continue
        content = contents.setdefault(entry.file, bytearray())
        is_free = place > synced.get(entry.file, -1)
        unsynced += is_free
        if isinstance(entry, did.Truncated):
            if not is_free or chance.random() < 0.5:
                _resize(content, entry.size_bytes)
        else:
            for start, end in _kept(entry, chance) if is_free else ((0, len(entry.data)),):
                _put(content, entry.offset + start, entry.data[start:end])
    return contents, unsynced


def _kept(write: did.Wrote, chance: random.Random) -> Iterable[tuple[int, int]]:
    """The parts of a write that reached the disk: all, none, those up to a sector, or some sectors."""
    sectors = _sectors(write)
    match chance.choice(("all", "none", "first", "some")):
        case "all":
            return sectors
        case "none":
            return ()
        case "first":
            return sectors[: chance.randint(0, len(sectors))]
        case _:
            return [sector for sector in sectors if chance.random() < 0.5]


def _sectors(write: did.Wrote) -> list[tuple[int, int]]:
    """Where in its data the sectors begin and end that a write touches."""
    first = -(write.offset % SECTOR_BYTES)
    starts = range(first, len(write.data), SECTOR_BYTES)
    return [(max(0, start), min(len(write.data), start + SECTOR_BYTES)) for start in starts]


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if offset > len(content):
        _resize(content, offset)  # what nobody wrote reads as zeros
    content[offset : offset + len(data)] = data


def _resize(content: bytearray, size_bytes: int) -> None:
    if size_bytes < len(content):
        del content[size_bytes:]
    else:
        content.extend(bytes(size_bytes - len(content)))
