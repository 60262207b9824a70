"""The files that hold tests, and those that tests name."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from noetl.dsl.playbook_test_shapes import PLAYBOOK_TEST
from noetl.dsl.read import BYTES_MAX

ENDINGS = (".yaml", ".yml")
TEST_ENDINGS = tuple(f"{mark}{ending}" for mark in (".test", "_test") for ending in ENDINGS)
TESTS_FOLDER = "tests"


def test_files(names: Sequence[str]) -> Iterator[str]:
    """The files meant: each name itself, and below a folder those that are called like tests, or stand among tests."""
    for name in names:
        if Path(name).is_dir():
            yield from _below(Path(name))
        else:
            yield name


def _below(folder: Path) -> list[str]:
    found = []
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        is_of_tests = TESTS_FOLDER in Path(at).absolute().parts
        for name in files:
            path = Path(at, name)
            if name.endswith(TEST_ENDINGS) or (is_of_tests and name.endswith(ENDINGS) and _says_test(path)):
                found.append(str(path))
    return sorted(found)


def _says_test(path: Path) -> bool:
    try:
        return path.is_file() and f"kind: {PLAYBOOK_TEST}".encode() in bytes_of(path)
    except OSError:
        return False


def beside(file: str, name: str) -> str:
    """The name of a file that another one names, as messages show it."""
    return os.path.normpath(Path(file).parent / name)


def bytes_of(name: str | Path, bytes_max: int = BYTES_MAX) -> bytes:
    """A file's bytes; of one that is too large only so much that this can be seen. Raises OSError."""
    if Path(name).is_fifo():
        raise OSError(errno.EINVAL, "it is a pipe, which may never end")
    with Path(name).open("rb") as file:
        return file.read(bytes_max + 1)
