"""Every strongbox passes the suite of strongboxes."""

from pathlib import Path

from noetl.keychain.strongbox import Strongbox
from noetl.keychain.strongbox_memory import MemoryStrongbox
from noetl.keychain.strongbox_sqlite import FILE_NAME, SqliteStrongbox
from noetl.testing.keychain_suite import StrongboxSuite


class TestMemory(StrongboxSuite):
    async def make(self, folder: Path) -> Strongbox:
        return MemoryStrongbox()

    def bytes_in(self, box: Strongbox, folder: Path) -> bytes:
        return b"".join(row.ciphertext for row in box._rows.values())


class TestSqlite(StrongboxSuite):
    async def make(self, folder: Path) -> Strongbox:
        return SqliteStrongbox(folder / FILE_NAME)

    async def reopen(self, box: Strongbox, folder: Path) -> Strongbox:
        return await self.make(folder)

    def bytes_in(self, box: Strongbox, folder: Path) -> bytes:
        return b"".join(path.read_bytes() for path in folder.iterdir())
