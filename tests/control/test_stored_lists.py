"""Lists that loops run over or make, with a store that may break off in the middle, or a process that ends there."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noetl.control.stored_lists import StoredLists
from noetl.errors import ResultStoreUnreachable
from noetl.references import Reference
from noetl.results.contract import Readable, Results
from noetl.results.memory import MemoryResults
from noetl.stores.memory import MemoryStore
from tests.control.parts import begin, opened


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


LOOP = """
    executor: {spec: {policy: {limits: {max_payload_bytes: 4096}}}}
    workflow:
      - step: each
        loop: {in: "{{ range(12) }}", iterator: n, spec: {mode: parallel}}
        tool: {kind: noop, input: {text: "{{ 'x' * 900 }}"}}
"""
SECONDS_MAX = 10.0


@pytest.mark.spec("RS-01")
async def test_a_process_that_ends_while_a_list_is_put_together_gives_that_up_first(tmp_path: Path) -> None:
    has_begun, stores_open = asyncio.Event(), []
    async with opened(tmp_path) as parts:

        async def collect(*_: object) -> Reference:
            has_begun.set()
            try:
                return await asyncio.get_running_loop().create_future()  # it takes longer than the process lives
            finally:
                stores_open.append(await parts.store.executions())

        parts.lists.collect = collect  # type: ignore[method-assign]
        await begin(parts, LOOP)
        await asyncio.wait_for(has_begun.wait(), SECONDS_MAX)

    assert len(stores_open) == 1
