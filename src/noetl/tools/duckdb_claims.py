"""Who has which database file: DuckDB lets one process write a file, or several read it.

Tasks of one worker wait for one another here, in order; against other processes DuckDB's own lock stands, and the task
fails with error.kind db_conflict. Nothing here opens a file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from noetl.tools.duckdb_plan import DatabaseFile

WRITER = -1  # in place of a number of readers


class Claims:
    """The files that tasks of this worker use now."""

    def __init__(self) -> None:
        self._holders: dict[Path, int] = {}
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def held(self, files: Sequence[DatabaseFile]) -> AsyncIterator[None]:
        """All these files at once or none, so that two tasks never wait for each other."""
        async with self._changed:
            await self._changed.wait_for(lambda: all(map(self._is_free, files)))
            for file in files:
                self._holders[file.path] = self._holders.get(file.path, 0) + 1 if file.is_read_only else WRITER
        try:
            yield
        finally:
            self._release(files)
            async with self._changed:
                self._changed.notify_all()

    def _is_free(self, file: DatabaseFile) -> bool:
        holders = self._holders.get(file.path, 0)
        return holders == 0 or (file.is_read_only and holders != WRITER)

    def _release(self, files: Sequence[DatabaseFile]) -> None:
        for file in files:
            left = self._holders[file.path] - 1 if file.is_read_only else 0
            if left:
                self._holders[file.path] = left
            else:
                del self._holders[file.path]
