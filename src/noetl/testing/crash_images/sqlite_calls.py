"""What SQLite does to its files, noted by a VFS inside the very library that Python's `sqlite3` uses.

The VFS is a copy of the system's own, with other functions in the places of opening and deleting; a file that it opens
is the system's own too, with other functions in the places of writing, truncating, syncing and closing. Each of them
calls the one it replaces and notes what was done when that has succeeded. While `SqliteCalls` is entered it is the
default VFS, so nothing in the program under test knows of it.

SQLite syncs the folder of a journal that it has made from within the first sync of that journal. It asks the system
for the folder by a function that can be exchanged ("openDirectory"), and this is where it is noted.

The shared memory of the WAL (`-shm`) is no file that SQLite reads after a crash, and is not recorded.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path
from typing import Any, NamedTuple, Self

from noetl.testing.crash_images.trace import FolderSynced, Synced, Trace, Truncated, Wrote, folder_of

OK = 0
OPEN_TEMPORARY = 0x8 | 0x200 | 0x400 | 0x1000 | 0x2000  # deleted on close: no crash leaves anything of it to read
VFS_VERSION = 3  # from then on system calls can be exchanged
VFS_NAME = b"noetl-crash-images"
FOLDER_CALL = b"openDirectory"

CLOSE = CFUNCTYPE(c_int, c_void_p)
WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)  # the name stays a pointer: it is SQLite's own
DELETE = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
SET_SYSTEM_CALL = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p)
GET_SYSTEM_CALL = CFUNCTYPE(c_void_p, c_void_p, c_char_p)
OPEN_FOLDER = CFUNCTYPE(c_int, c_char_p, c_void_p)


class FileMethods(ctypes.Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = (
        ("version", c_int),
        ("close", CLOSE),
        ("read", c_void_p),
        ("write", WRITE),
        ("truncate", TRUNCATE),
        ("sync", SYNC),
        *((f"other_{number}", c_void_p) for number in range(13)),
    )


class Vfs(ctypes.Structure):
    """sqlite3_vfs, version 3."""

    _fields_ = (
        ("version", c_int),
        ("file_bytes", c_int),
        ("path_bytes_max", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("application_data", c_void_p),
        ("open", OPEN),
        ("delete", DELETE),
        *((f"other_{number}", c_void_p) for number in range(11)),
        ("set_system_call", SET_SYSTEM_CALL),
        ("get_system_call", GET_SYSTEM_CALL),
        ("next_system_call", c_void_p),
    )


class File(ctypes.Structure):
    """sqlite3_file, as far as it is everybody's."""

    _fields_ = (("methods", POINTER(FileMethods)),)


class UnreachableLibrary(Exception):
    """Python's SQLite has no door for a VFS from outside: it is built into the interpreter, or not a Unix one."""


class SqliteCalls:
    """See above. A connection that outlives it goes on, unseen."""

    def __init__(self, trace: Trace, folder: Path) -> None:
        self._trace = trace
        self._folder = folder
        self._library = _library()
        self._files: dict[int, _Opened] = {}  # by their addresses
        self._tables: dict[int, _Table] = {}  # by the addresses of the system's
        self._system: Any = self._library.sqlite3_vfs_find(None)
        if not self._system or self._system.contents.version < VFS_VERSION:
            raise UnreachableLibrary("its VFS has no system calls that can be exchanged")
        self._own = self._own_vfs()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._own))  # a connection left open needs it, however late it ends
        self._open_folder = OPEN_FOLDER(self._on_open_folder)
        self._system_open_folder: Any = None

    def _own_vfs(self) -> Vfs:
        own = Vfs.from_buffer_copy(self._system.contents)
        own.name = VFS_NAME
        own.open = OPEN(self._on_open)
        own.delete = DELETE(self._on_delete)
        return own

    def __enter__(self) -> Self:
        system = self._system.contents
        self._system_open_folder = OPEN_FOLDER(system.get_system_call(self._system, FOLDER_CALL))
        system.set_system_call(self._system, FOLDER_CALL, ctypes.cast(self._open_folder, c_void_p))
        self._library.sqlite3_vfs_register(ctypes.byref(self._own), 1)
        return self

    def __exit__(self, *_: object) -> None:
        self._library.sqlite3_vfs_register(self._system, 1)
        self._library.sqlite3_vfs_unregister(ctypes.byref(self._own))
        system = self._system.contents
        system.set_system_call(self._system, FOLDER_CALL, None)  # back to its own
        self._own.open, self._own.delete = system.open, system.delete
        for address, opened in self._files.items():
            ctypes.cast(address, POINTER(File)).contents.methods = ctypes.pointer(opened.system)

    # --- called by SQLite --------------------------------------------------------------------------------------------

    def _on_open(self, vfs: int, name: int | None, file: int, flags: int, flags_out: int | None) -> int:
        code: int = self._system.contents.open(vfs, name, file, flags, flags_out)
        path = self._named(ctypes.string_at(name)) if name else None
        if code == OK and path is not None and not flags & OPEN_TEMPORARY:
            opened = ctypes.cast(file, POINTER(File)).contents
            table = self._table(opened.methods)
            self._files[file] = _Opened(self._trace.created(path), table.system)
            opened.methods = ctypes.pointer(table.own)
        return code

    def _on_delete(self, vfs: int, name: bytes, is_folder_synced: int) -> int:
        path = self._named(name)
        if path is not None:
            self._trace.removed(path)  # noted first: the folder is synced from within
        code: int = self._system.contents.delete(vfs, name, is_folder_synced)
        return code

    def _on_open_folder(self, name: bytes, descriptor: int) -> int:
        code: int = self._system_open_folder(name, descriptor)
        path = self._named(name)
        if code == OK and path is not None:
            self._trace.note(FolderSynced(name=folder_of(path)))
        return code

    def _on_write(self, file: int, data: int, count: int, offset: int) -> int:
        opened = self._files[file]
        code: int = opened.system.write(file, data, count, offset)
        if code == OK:
            self._trace.note(Wrote(file=opened.number, offset=offset, data=ctypes.string_at(data, count)))
        return code

    def _on_truncate(self, file: int, size_bytes: int) -> int:
        opened = self._files[file]
        code: int = opened.system.truncate(file, size_bytes)
        if code == OK:
            self._trace.note(Truncated(file=opened.number, size_bytes=size_bytes))
        return code

    def _on_sync(self, file: int, flags: int) -> int:
        opened = self._files[file]
        code: int = opened.system.sync(file, flags)
        if code == OK:
            self._trace.note(Synced(file=opened.number))
        return code

    def _on_close(self, file: int) -> int:
        code: int = self._files.pop(file).system.close(file)
        return code

    # --- names and tables --------------------------------------------------------------------------------------------

    def _named(self, name: bytes) -> str | None:
        """A path within the folder; None: it is outside."""
        path = Path(os.fsdecode(name))
        return path.relative_to(self._folder).as_posix() if path.is_relative_to(self._folder) else None

    def _table(self, methods: Any) -> _Table:
        """Our functions for files that have these."""
        address = ctypes.addressof(methods.contents)
        if address not in self._tables:
            own = FileMethods.from_buffer_copy(methods.contents)
            own.close = CLOSE(self._on_close)
            own.write = WRITE(self._on_write)
            own.truncate = TRUNCATE(self._on_truncate)
            own.sync = SYNC(self._on_sync)
            self._tables[address] = _Table(methods.contents, own)
        return self._tables[address]


class _Opened(NamedTuple):
    """A file that is open: its number in the trace, and what the system does with it."""

    number: int
    system: Any


class _Table(NamedTuple):
    system: Any
    own: FileMethods


def _library() -> Any:
    """The SQLite that Python's own module calls, whichever that is. Raises UnreachableLibrary."""
    try:
        library = ctypes.CDLL(_sqlite3.__file__)  # its symbols, and those of what it is linked with
        library.sqlite3_vfs_find.argtypes = [c_char_p]
        library.sqlite3_vfs_find.restype = POINTER(Vfs)
        library.sqlite3_vfs_register.argtypes = [c_void_p, c_int]
        library.sqlite3_vfs_unregister.argtypes = [c_void_p]
    except (AttributeError, OSError) as fault:
        raise UnreachableLibrary(str(fault)) from fault
    return library
