"""Every store of results passes the suite of results."""

import sqlite3
from contextlib import closing
from pathlib import Path

from noetl.references import Reference
from noetl.results.blobs import Place
from noetl.results.contract import Results
from noetl.results.files import FileResults
from noetl.results.memory import MemoryResults
from noetl.results.sqlite import SqliteResults
from noetl.testing.results_suite import ResultsSuite


class TestMemory(ResultsSuite):
    memory_bytes_max = 1024**3  # it keeps everything in memory: that is what it is for

    async def make(self, folder: Path) -> Results:
        return MemoryResults()

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        results._payloads[reference.sha256] = data

    async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
        del results._payloads[reference.sha256]


class TestFiles(ResultsSuite):
    async def make(self, folder: Path) -> Results:
        return FileResults(folder / "results")

    async def reopen(self, results: Results, folder: Path) -> Results:
        return await self.make(folder)

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        self._place(folder, reference).write_bytes(data)

    async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
        self._place(folder, reference).unlink()

    def _place(self, folder: Path, reference: Reference) -> Path:
        return folder / "results" / reference.sha256[:2] / reference.sha256[2:]


class TestSqlite(ResultsSuite):
    async def make(self, folder: Path) -> Results:
        return SqliteResults(folder / "results.db", Place(type="relational", prefix="sqlite:sha256:"))

    async def reopen(self, results: Results, folder: Path) -> Results:
        await results.close()
        return await self.make(folder)

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        piece_bytes = 700_000
        with closing(sqlite3.connect(folder / "results.db")) as database, database:
            database.execute("DELETE FROM result_chunk WHERE sha256 = ?", (reference.sha256,))
            for number, start in enumerate(range(0, len(data), piece_bytes)):
                row = (reference.sha256, number, data[start : start + piece_bytes])
                database.execute("INSERT INTO result_chunk VALUES (?, ?, ?)", row)

    async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
        with closing(sqlite3.connect(folder / "results.db")) as database, database:
            database.execute("DELETE FROM result WHERE sha256 = ?", (reference.sha256,))
