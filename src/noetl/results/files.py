"""Results as private files named by their content: `<root>/ab/cdef…` for the sha256 `abcdef…`.

A payload is written beside its place, brought to disk, and only then given its name; the folder comes to disk last, and
the folders above it came first. So a file under its name is whole, and a crash leaves at most a `.incoming-…` that
nothing refers to. A file that is there already is taken as it is, unless its size is wrong: then it is written anew.
Files are never changed in place; their time of change is when they were last stored.

Storing and removing need no lock. What is to be removed first loses its name; if it turns out to have been stored again
just before that, it gets its name back. Whoever stores it after that finds nothing there, and writes it.

Small payloads are handled on the event loop's thread; over 1 MiB the trip to another thread is nothing beside the disk.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from noetl.errors import DiskFull, ReferenceCorrupt, ReferenceMissing, StoreUnusable
from noetl.references import JSON, Reference
from noetl.results.blobs import BLOB, CHUNK_BYTES, check_sha, check_size, each, sha_of
from noetl.results.contract import RESULT_BYTES_MAX, Kept

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
INCOMING, LEAVING = ".incoming-", ".leaving-"
FOLDER_NAMES = tuple(f"{number:02x}" for number in range(256))
FILE_NAME = re.compile(r"[0-9a-f]{62}")
UNNAMED = re.compile(r"\.(incoming|leaving)-[0-9a-f]{16}")  # half-written or half-removed, after a crash
FULL = frozenset((errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)))
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)  # each of them is missing somewhere


class FileResults:
    """Results in a folder; see `noetl.results.contract.Results`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders = Folders(root)

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        if len(data) <= CHUNK_BYTES:
            sha = self._keep(data)
        else:
            sha = await asyncio.to_thread(self._keep, data)
        return BLOB.reference_to(sha, len(data), content_type)

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        with write_faults(self._root):
            self._folders.need(self._root)
            incoming = Incoming(self._root)
        try:
            async for chunk in each(chunks):
                with write_faults(self._root):
                    incoming.add(chunk)
        except BaseException:
            incoming.discard()
            raise
        sha = await asyncio.to_thread(self._finish, incoming)
        return BLOB.reference_to(sha, incoming.size, content_type)

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        sha = BLOB.sha_named_by(reference)
        with self._opened(reference, sha) as file:
            size = _size(file)
            check_size(reference, size, bytes_max)
            if size <= CHUNK_BYTES:
                return _read_checked(file, size, reference, sha)
            return await asyncio.to_thread(_read_checked, file, size, reference, sha)

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        sha = BLOB.sha_named_by(reference)
        with self._opened(reference, sha) as file:
            check_size(reference, _size(file))
            digest = hashlib.sha256()
            held = b""  # the last piece is given away only when the whole is right
            while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
                digest.update(chunk)
                if held:
                    yield held
                held = chunk
            check_sha(reference, sha, digest.hexdigest())
            if held:
                yield held

    async def walk(self) -> AsyncIterator[Kept]:
        for kept in await asyncio.to_thread(_kept_in, self._root, UNNAMED, ""):
            yield kept
        for start in FOLDER_NAMES:
            for kept in await asyncio.to_thread(_kept_in, self._root / start, FILE_NAME, BLOB.prefix + start):
                yield kept

    async def remove(self, locator: str, *, stored_before: float) -> bool:
        sha = BLOB.sha_in(locator)
        if sha is None and not UNNAMED.fullmatch(locator):
            return False
        place = self._root / locator if sha is None else self._place(sha)
        return await asyncio.to_thread(self._leave, place, stored_before)

    async def close(self) -> None:
        """No file stays open between calls, so nothing is let go."""

    def _place(self, sha: str) -> Path:
        return self._root / sha[:2] / sha[2:]

    def _keep(self, data: bytes) -> str:
        sha = sha_of(data)
        place = self._place(sha)
        with write_faults(self._root):
            self._folders.need(place.parent)
            if not _is_kept(place, len(data)):
                incoming = Incoming(self._root)
                try:
                    incoming.add(data)
                    incoming.become(place)
                finally:
                    incoming.discard()
        return sha

    def _finish(self, incoming: Incoming) -> str:
        """Name what has come in; or drop it, if it is there already or cannot be kept."""
        sha = incoming.digest.hexdigest()
        place = self._place(sha)
        try:
            with write_faults(self._root):
                self._folders.need(place.parent)
                if not _is_kept(place, incoming.size):
                    incoming.become(place)
        finally:
            incoming.discard()
        return sha

    def _leave(self, place: Path, stored_before: float) -> bool:
        """Take a file away, unless it is stored again meanwhile."""
        try:
            if _stored_at(place) >= stored_before:
                return False
            leaving = self._root / f"{LEAVING}{os.urandom(8).hex()}"
            place.replace(leaving)
            if _stored_at(leaving) >= stored_before:
                leaving.replace(place)
                return False
            leaving.unlink()
        except FileNotFoundError:  # somebody else removed it
            return False
        except OSError as fault:
            raise StoreUnusable(f"{place} cannot be removed: {fault.strerror}. Mend its permissions") from fault
        return True

    @contextmanager
    def _opened(self, reference: Reference, sha: str) -> Iterator[BinaryIO]:
        try:
            with os.fdopen(os.open(self._place(sha), os.O_RDONLY | NO_LINK), "rb") as file:
                yield file
        except FileNotFoundError as fault:
            raise ReferenceMissing(reference.locator) from fault
        except OSError as fault:
            why = f"it cannot be read ({fault.strerror})"
            raise ReferenceCorrupt(reference.locator, why) from fault


class Folders:
    """The folders of a store, each on disk under its own name before anything in it counts as stored.

    One that is there already may be the work of a process that died before it saw to that. So every process does, once.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lasting: set[Path] = set()

    def need(self, folder: Path) -> None:
        """Make the root, or a folder in it, if it is not there."""
        if folder in self._lasting and folder.is_dir():
            return
        if folder != self._root:
            self.need(self._root)
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        _bring_folder_to_disk(folder.parent)
        self._lasting.add(folder)


class Incoming:
    """A payload that is being written and has no name yet."""

    def __init__(self, root: Path) -> None:
        self._path = root / f"{INCOMING}{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK
        self._file = os.fdopen(os.open(self._path, flags, PRIVATE_FILE), "wb")
        self.digest = hashlib.sha256()
        self.size = 0

    def add(self, data: bytes) -> None:
        self._file.write(data)
        self.digest.update(data)
        self.size += len(data)

    def become(self, place: Path) -> None:
        """Give it its name, on disk when this returns."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        _mark_stored(self._path)
        self._path.replace(place)
        _bring_folder_to_disk(place.parent)

    def discard(self) -> None:
        """Leave nothing behind of what did not become a file of the store."""
        with suppress(OSError):  # what it still wanted to write is not wanted
            self._file.close()
        self._path.unlink(missing_ok=True)


@contextmanager
def write_faults(root: Path) -> Iterator[None]:
    """What the operating system refuses, as an error that says what to do."""
    try:
        yield
    except OSError as fault:
        if fault.errno in FULL:
            raise DiskFull(str(root)) from fault
        raise StoreUnusable(
            f"results cannot be stored in {root}: {fault.strerror}. It must be a folder that this user may write to: "
            "mend its permissions, or choose another one with NOETL_HOME"
        ) from fault


def _is_kept(place: Path, size: int) -> bool:
    """Whether the payload is there, and its name on disk: another process may have given it just now."""
    try:
        found = place.stat(follow_symlinks=False)
        if found.st_size != size or not stat.S_ISREG(found.st_mode):
            return False
        _mark_stored(place)
    except FileNotFoundError:
        return False
    _bring_folder_to_disk(place.parent)
    return True


def _mark_stored(path: Path) -> None:
    """Note that it is stored now: by the clock, because the kernel's own times lag behind it by some milliseconds."""
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def _stored_at(path: Path) -> float:
    return path.stat(follow_symlinks=False).st_mtime


def _kept_in(folder: Path, name: re.Pattern[str], prefix: str) -> list[Kept]:
    """The files of one folder whose names fit."""
    found: list[Kept] = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                with suppress(FileNotFoundError):
                    facts = entry.stat(follow_symlinks=False)
                    found.append(Kept(locator=prefix + entry.name, bytes=facts.st_size, stored_at=facts.st_mtime))
    return found


def _bring_folder_to_disk(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there; renaming is journalled
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _read_checked(file: BinaryIO, size: int, reference: Reference, sha: str) -> bytes:
    data = file.read(size)
    check_sha(reference, sha, sha_of(data))
    return data
