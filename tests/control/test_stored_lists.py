"""Lists that loops run over or make, with a store that may break off in the middle, or a process that ends there."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from noetl.control.stored_lists import StoredLists
from noetl.engine.events import LoopIterationDone
from noetl.errors import ResultStoreUnreachable
from noetl.references import Reference
from noetl.results.contract import Readable, Results
from noetl.results.memory import MemoryResults
from noetl.stores.memory import MemoryStore
from noetl.stores.sqlite import SqliteStore
from noetl.testing.logs import begin as begin_log
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


GIVEN = [None, True, 7, -(2**62), 1.5, "word", "", '\u2028 " \\ \x00', "x" * 65, [], {"a": [1]}, {"data": None}]
COUNT = 1_700  # more than a page


def gives(index: int, data: Any) -> LoopIterationDone:
    return LoopIterationDone(ts=1.0, run=1, iter=index, output={"status": "ok", "data": data, "meta": {}})


@pytest.mark.spec("LP-08")
@pytest.mark.parametrize("given", [[None], [3, "a"], GIVEN], ids=["nothing", "words", "anything"])
@pytest.mark.parametrize("missing", [[], [0], [COUNT - 1], [5, 6, 7, 499, 500, 501, 999]], ids=str)
async def test_the_list_of_a_loop_has_what_each_iteration_gave_in_its_place(tmp_path, given, missing) -> None:
    chance, results = Random(1), MemoryResults()
    data = {index: chance.choice(given) for index in range(COUNT) if index not in missing}
    ended = sorted(data, key=lambda _: chance.random())
    store = await SqliteStore.open(tmp_path / "noetl.db")

    async def results_of(_execution_id: int, _which: object) -> MemoryResults:
        return results

    execution_id = await begin_log(store, [gives(index, data[index]) for index in ended])
    reference = await StoredLists(store, results_of, results_of).collect(execution_id, 1, COUNT)
    await store.close()

    assert msgspec.json.decode(await results.fetch(reference)) == [data.get(index) for index in range(COUNT)]
