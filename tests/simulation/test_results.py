"""The result stores of a simulated world are stores as all others are, but for the faults they are told to have."""

import time
from pathlib import Path

import pytest

from noetl.engine.events import Patch, PlaybookExecutionRequested, TaskDone
from noetl.errors import ReferenceCorrupt, ReferenceMissing, ResultStoreUnreachable
from noetl.references import Reference
from noetl.results.contract import Results
from noetl.results.stores import NoCredentials
from noetl.stores.contract import RUNNING, Append, Batch, Execution
from noetl.stores.memory import MemoryStore
from noetl.testing.results_suite import ResultsSuite
from noetl.testing.simulator.results import FAIL, GET, LOST_ANSWER, PUT, WRONG_BYTES, Bucket, SimResults

PAYLOAD = b'{"rows": [1, 2, 3]}'


class TestSimulated(ResultsSuite):
    memory_bytes_max = 1024**3  # it keeps everything in memory: that is what it is for

    async def make(self, folder: Path) -> Results:
        self.bucket = Bucket(time.time)
        return await self._place("one")

    async def reopen(self, results: Results, folder: Path) -> Results:
        return await self._place("another")

    async def _place(self, node_name: str) -> Results:
        return await SimResults(self.bucket, node_name).for_writing(None, NoCredentials())

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        self.bucket.damage(reference.locator, data)

    async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
        self.bucket.remove(reference.locator)


class Planned:
    """Faults in the order in which they are wanted, and who was struck."""

    def __init__(self, *faults: str | None) -> None:
        self.faults = list(faults)
        self.struck: list[tuple[str, str]] = []

    def __call__(self, node: str, what: str) -> str | None:
        self.struck.append((node, what))
        return self.faults.pop(0) if self.faults else None


def a_world(*faults: str | None) -> tuple[Bucket, SimResults, Planned]:
    bucket, planned = Bucket(), Planned(*faults)
    return bucket, SimResults(bucket, "worker-1", planned), planned


async def test_a_put_that_fails_leaves_nothing_and_may_be_done_again():
    bucket, results, planned = a_world(FAIL)

    with pytest.raises(ResultStoreUnreachable) as refused:
        await results.store(PAYLOAD)

    assert refused.value.retryable
    assert not list(bucket.texts())
    assert await results.fetch(await results.store(PAYLOAD)) == PAYLOAD
    assert planned.struck == [("worker-1", PUT), ("worker-1", PUT), ("worker-1", GET)]


async def test_a_put_whose_answer_is_lost_was_done():
    bucket, results, _ = a_world(LOST_ANSWER)

    with pytest.raises(ResultStoreUnreachable):
        await results.store_stream([PAYLOAD])

    assert [data for _, data in bucket.texts()] == [PAYLOAD]


@pytest.mark.parametrize(("fault", "error"), [(FAIL, ResultStoreUnreachable), (WRONG_BYTES, ReferenceCorrupt)])
async def test_a_get_that_goes_wrong_is_noticed_and_the_next_one_is_right(fault, error):
    _, results, _ = a_world(None, fault, fault)
    reference = await results.store(PAYLOAD)

    with pytest.raises(error):
        await results.fetch(reference)
    with pytest.raises(error):
        _ = [piece async for piece in results.stream(reference)]

    assert await results.fetch(reference) == PAYLOAD


@pytest.mark.spec("RS-06")
async def test_a_task_may_choose_its_place_and_any_process_reads_it():
    bucket, results, _ = a_world()

    store = await results.for_writing("sqlite", NoCredentials())
    reference = await store.store(PAYLOAD)

    assert reference.locator.startswith("sqlite:")
    assert await SimResults(bucket, "server-1").fetch(reference) == PAYLOAD


@pytest.mark.spec("RS-08")
async def test_the_products_own_sweep_takes_what_is_old_and_named_by_no_log():
    now = 1000.0
    bucket, store = Bucket(lambda: now), MemoryStore()
    results = SimResults(bucket, "worker-1")
    old, named = await results.store(b"old"), await results.store(b"named")
    await store.commit(a_log_that_names(named))
    now += 100.0
    new = await results.store(b"new")

    swept = await bucket.sweep(store, older_than_seconds=50.0)

    assert (swept.removed, swept.kept) == (1, 2)
    assert (await results.fetch(named), await results.fetch(new)) == (b"named", b"new")
    with pytest.raises(ReferenceMissing):
        await results.fetch(old)


def a_log_that_names(reference: Reference) -> Batch:
    """Of an execution that has not ended."""
    events = [
        PlaybookExecutionRequested(ts=1000.0, path="p", version=1, sha=""),
        TaskDone(ts=1000.0, run=1, task="t", do="continue", patches=[Patch("ctx.x", reference.as_data())]),
    ]
    row = Execution(id=1, sha="", path="p", version=1, created_at=1000.0)
    return Batch(executions=[row], appends=[Append(execution_id=1, first_seq=1, events=events, status=RUNNING)])
