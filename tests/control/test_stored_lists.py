"""Lists that loops run over, read from a store that may break off in the middle."""

from collections.abc import AsyncIterator

import pytest

from noetl.control.stored_lists import StoredLists
from noetl.errors import ResultStoreUnreachable
from noetl.references import Reference
from noetl.results.contract import Readable, Results
from noetl.results.memory import MemoryResults
from noetl.stores.memory import MemoryStore


class Breaking(MemoryResults):
    """Breaks off once, after the first piece."""

    is_broken = True

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        yield b"[1, "
        if self.is_broken:
            self.is_broken = False
            raise ResultStoreUnreachable("s3 acme", "gone")
        yield b"2, 3]"


@pytest.mark.spec("LP-02")
async def test_a_list_that_broke_off_is_read_anew_when_it_is_asked_for_again() -> None:
    results = Breaking()

    async def read_by(_execution_id: int, _reference: Reference) -> Readable:
        return results

    async def write_by(_execution_id: int, _chosen: object) -> Results:
        return results

    lists = StoredLists(MemoryStore(), read_by, write_by)
    reference = Reference(type="blob", locator="sha256:any")

    with pytest.raises(ResultStoreUnreachable):
        await lists.element((1, 1), reference, 2)

    assert await lists.element((1, 1), reference, 2) == 3
