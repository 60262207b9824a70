"""Results as private files named by their content: `<root>/ab/cdef…` for the sha256 `abcdef…`.

A payload is written beside its place, brought to disk, and only then given its name; the folder comes to disk last. So
a file under its name is whole, and a crash leaves at most a `.incoming-…` that nothing refers to. A file that is there
already is taken as it is, unless its size is wrong: then it is written anew. Files are never changed in place.

Small payloads are handled on the event loop's thread; over 1 MiB the trip to another thread is nothing beside the disk.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from noetl.errors import DiskFull, ReferenceCorrupt, ReferenceMissing, StoreUnusable
from noetl.references import JSON, Reference
from noetl.results.blobs import CHUNK_BYTES, check_sha, check_size, each, reference_to, sha_named_by, sha_of
from noetl.results.contract import RESULT_BYTES_MAX

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
INCOMING = ".incoming-"
FULL = frozenset((errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)))
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)  # each of them is missing somewhere


class FileResults:
    """Results in a folder; see `noetl.results.contract.Results`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def store(self, data: bytes, content_type: str = JSON) -> Reference:
        if len(data) <= CHUNK_BYTES:
            sha = self._keep(data)
        else:
            sha = await asyncio.to_thread(self._keep, data)
        return reference_to(sha, len(data), content_type)

    async def store_stream(self, chunks: AsyncIterator[bytes] | Iterable[bytes], content_type: str = JSON) -> Reference:
        with write_faults(self._root):
            incoming = Incoming(self._root)
        try:
            async for chunk in each(chunks):
                with write_faults(self._root):
                    incoming.add(chunk)
        except BaseException:
            incoming.discard()
            raise
        sha = await asyncio.to_thread(self._finish, incoming)
        return reference_to(sha, incoming.size, content_type)

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        sha = sha_named_by(reference)
        with self._opened(reference, sha) as file:
            size = _size(file)
            check_size(reference, size, bytes_max)
            if size <= CHUNK_BYTES:
                return _read_checked(file, size, reference, sha)
            return await asyncio.to_thread(_read_checked, file, size, reference, sha)

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        sha = sha_named_by(reference)
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

    async def close(self) -> None:
        """No file stays open between calls, so nothing is let go."""

    def _place(self, sha: str) -> Path:
        return self._root / sha[:2] / sha[2:]

    def _keep(self, data: bytes) -> str:
        sha = sha_of(data)
        with write_faults(self._root):
            if not _is_kept(self._place(sha), len(data)):
                incoming = Incoming(self._root)
                try:
                    incoming.add(data)
                    incoming.become(self._place(sha))
                finally:
                    incoming.discard()
        return sha

    def _finish(self, incoming: Incoming) -> str:
        """Name what has come in; or drop it, if it is there already or cannot be kept."""
        sha = incoming.digest.hexdigest()
        try:
            with write_faults(self._root):
                if not _is_kept(self._place(sha), incoming.size):
                    incoming.become(self._place(sha))
        finally:
            incoming.discard()
        return sha

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


class Incoming:
    """A payload that is being written and has no name yet."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
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
        if not place.parent.is_dir():
            place.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            _bring_folder_to_disk(place.parent.parent)
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
        if place.stat(follow_symlinks=False).st_size != size:
            return False
    except FileNotFoundError:
        return False
    _bring_folder_to_disk(place.parent)
    return True


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
