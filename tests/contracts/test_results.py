"""Every store of results passes the suite of results."""

from pathlib import Path

from noetl.references import Reference
from noetl.results.contract import Results
from noetl.results.files import FileResults
from noetl.results.memory import MemoryResults
from noetl.testing.results_suite import ResultsSuite


class TestMemory(ResultsSuite):
    async def make(self, folder: Path) -> Results:
        return MemoryResults()

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        results._payloads[reference.sha256] = data

    async def remove(self, results: Results, folder: Path, reference: Reference) -> None:
        del results._payloads[reference.sha256]


class TestFiles(ResultsSuite):
    async def make(self, folder: Path) -> Results:
        return FileResults(folder / "results")

    async def reopen(self, results: Results, folder: Path) -> Results:
        return await self.make(folder)

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        self._place(folder, reference).write_bytes(data)

    async def remove(self, results: Results, folder: Path, reference: Reference) -> None:
        self._place(folder, reference).unlink()

    def _place(self, folder: Path, reference: Reference) -> Path:
        return folder / "results" / reference.sha256[:2] / reference.sha256[2:]
