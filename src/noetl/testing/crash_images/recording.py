"""Record what this process does to the files of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noetl.testing.crash_images.file_calls import FileCalls
from noetl.testing.crash_images.sqlite_calls import SqliteCalls
from noetl.testing.crash_images.trace import Trace


@contextmanager
def recording(folder: Path) -> Iterator[Trace]:
    """What is done to an empty folder meanwhile. Raises UnreachableLibrary where SQLite's calls cannot be seen."""
    folder = folder.resolve()
    if any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: what was there before would not be in the trace")
    trace = Trace()
    with SqliteCalls(trace, folder), FileCalls(trace, folder):
        yield trace
