"""Files for the authoring verbs: which ones are meant, their bytes, and writing one back whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from errno import ENOENT

from noetl.dsl.read import BYTES_MAX

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml")


def named_files(names: Iterable[str]) -> Iterator[str]:
    """The files meant: each name itself, and below a directory every YAML file."""
    for name in names:
        if name != STANDARD_INPUT and os.path.isdir(name):
            yield from files_below(name)
        else:
            yield name


def files_below(folder: str) -> list[str]:
    """Every YAML file below a directory, in order; hidden directories are left alone."""
    found = []
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(at, name) for name in files if name.endswith(SUFFIXES)]
    return sorted(path for path in found if os.path.isfile(path))  # a pipe would be waited for


def read_bytes(name: str) -> bytes:
    """A file's bytes, or those of standard input; of one that is too large only so much that this can be seen."""
    if name == STANDARD_INPUT:
        return sys.stdin.buffer.read(BYTES_MAX + 1)
    with open(name, "rb") as file:
        return file.read(BYTES_MAX + 1)


def unread_words(name: str, error: OSError) -> str:
    """Why a file could not be read, and which one may have been meant."""
    from noetl.cli.near import near_file
    from noetl.dsl.findings import printable

    near = near_file(name) if isinstance(error, FileNotFoundError) else None
    advice = f'Did you mean "{near}"?' if near else "Name a playbook file."
    return printable(f'error: cannot read "{shown_name(name)}": {error.strerror or error}. {advice}')


def shown_name(name: str) -> str:
    """How messages call a file; a name that is no UTF-8 is spelt out."""
    return "<stdin>" if name == STANDARD_INPUT else name.encode("utf-8", "backslashreplace").decode()


def check_folder(file: str) -> None:
    """A file is written in a folder that is there; without one, that folder is what is said to be missing."""
    folder = os.path.dirname(file) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(ENOENT, "there is no such folder to write to; make it, or name another", folder)


def write_whole(name: str, data: bytes) -> None:
    """Replace a file by new bytes: readers see the old ones or the new ones, and its mode stays. Links are followed."""
    from tempfile import mkstemp

    if os.path.exists(name) and not os.path.isfile(name):  # a device or a pipe is written to, never replaced
        with open(name, "wb") as target:
            target.write(data)
        return
    path = os.path.realpath(name)
    check_folder(path)
    mode = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o644
    handle, temporary = mkstemp(prefix=".noetl-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
