"""Sealed credentials in memory: for tests and for programs that keep nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from noetl.keychain.strongbox import Changed, Row, Turn


class MemoryStrongbox:
    """See `noetl.keychain.strongbox.Strongbox`."""

    name = "in memory"

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._turn = threading.Lock()

    async def row(self, name: str) -> Row | None:
        return self._rows.get(name)

    async def rows(self) -> list[Row]:
        return _MemoryTurn(self._rows).rows()

    async def change(self, work: Callable[[Turn], Changed]) -> Changed:
        return await asyncio.to_thread(self._change, work)

    def _change(self, work: Callable[[Turn], Changed]) -> Changed:
        with self._turn:
            changed = dict(self._rows)
            result = work(_MemoryTurn(changed))
            self._rows = changed
            return result


class _MemoryTurn:
    def __init__(self, rows: dict[str, Row]) -> None:
        self._rows = rows

    def row(self, name: str) -> Row | None:
        return self._rows.get(name)

    def rows(self) -> list[Row]:
        return [self._rows[name] for name in sorted(self._rows)]

    def put(self, row: Row) -> None:
        self._rows[row.name] = row

    def remove(self, name: str) -> bool:
        return self._rows.pop(name, None) is not None
