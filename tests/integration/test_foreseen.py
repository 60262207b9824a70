"""Batches that are decided before anything is locked: in one trip while nobody else writes to a log, and right in any
case (protocol §5)."""

from pathlib import Path

import pytest

from noetl.control.verify import verify
from noetl.engine.commands import Work
from noetl.queues.contract import ACCEPTED, DUPLICATE
from noetl.stores.contract import Unforeseen
from noetl.stores.postgres_transaction import PostgresTransaction
from tests.integration.servers import Server, serving
from tests.integration.test_along import IDLE, MEMBER, whole

pytestmark = pytest.mark.slow

STEPS = 12
CHAIN = "workflow:\n" + "".join(
    f"  - {{step: s{n}, tool: {{kind: noop}}" + (f", next: {{arcs: [{{step: s{n + 1}}}]}}" if n < STEPS else "") + "}\n"
    for n in range(1, STEPS + 1)
)


class Trips:
    """How batches of all servers went."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.foreseen = self.unforeseen = self.begun = 0
        begin, commit_foreseen = PostgresTransaction.begin, PostgresTransaction.commit_foreseen

        async def counted_begin(transaction, ids, *given):
            self.begun += bool(ids)
            return await begin(transaction, ids, *given)

        async def counted(transaction, *given):
            self.foreseen += 1
            try:
                return await commit_foreseen(transaction, *given)
            except Unforeseen:
                self.unforeseen += 1
                raise

        monkeypatch.setattr(PostgresTransaction, "begin", counted_begin)
        monkeypatch.setattr(PostgresTransaction, "commit_foreseen", counted)


@pytest.fixture
def trips(monkeypatch):
    return Trips(monkeypatch)


async def begun(server: Server) -> Work:
    await server.start(CHAIN)
    [work] = await server.cluster.handing.poll(MEMBER, 1, 5.0)
    return work


async def assert_sound(server: Server, execution_id: int) -> None:
    assert (await server.ended(execution_id)).status == "success"
    found = await verify(server.store, execution_id)
    assert found["is_equal"], [check for check in found["checks"] if not check["ok"]]


async def test_reports_of_a_log_that_is_ours_alone_take_one_trip_each(
    database_url: str, tmp_path: Path, trips: Trips
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        work = await begun(server)

        while True:
            told = await server.cluster.service.exchange(MEMBER, [whole(work)], IDLE)
            assert told.words == [ACCEPTED]
            if not told.works:
                break
            [work] = told.works

        assert (trips.foreseen, trips.unforeseen, trips.begun) == (STEPS, 0, 0)
        await assert_sound(server, work.execution_id)


@pytest.mark.spec("RO-03")
async def test_two_servers_that_take_turns_with_a_log_go_on_rightly_and_guess_no_more(
    database_url: str, tmp_path: Path, trips: Trips
) -> None:
    async with (
        serving(database_url, tmp_path, "one", is_working=False) as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        work, servers = await begun(one), [one, two] * STEPS
        given: list[Server] = [one]

        while True:
            taker = servers[len(given)]
            told = await taker.cluster.service.exchange(MEMBER, [whole(work)], IDLE)
            assert told.words == [ACCEPTED]
            if not told.works:
                break
            [work] = told.works
            given.append(taker)

        assert trips.unforeseen <= 2
        assert trips.begun >= STEPS - 2
        await assert_sound(two, work.execution_id)


@pytest.mark.spec("RO-03")
async def test_a_report_that_comes_twice_is_told_so_and_counts_once(
    database_url: str, tmp_path: Path, trips: Trips
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        work = await begun(server)
        told = await server.cluster.service.exchange(MEMBER, [whole(work)], IDLE)

        again = await server.cluster.service.exchange(MEMBER, [whole(work)], IDLE)
        both = await server.cluster.service.exchange(MEMBER, [whole(told.works[0]), whole(told.works[0])], IDLE)

        assert (told.words, again.words, again.works) == ([ACCEPTED], [DUPLICATE], [])
        assert both.words == [ACCEPTED, DUPLICATE]
        assert [one.step for one in both.works] == ["s3"]


@pytest.mark.spec("RO-03")
async def test_a_job_that_another_server_gave_to_somebody_else_is_not_taken_back_by_a_guess(
    database_url: str, tmp_path: Path, trips: Trips
) -> None:
    async with (
        serving(database_url, tmp_path, "one", is_working=False) as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        work = await begun(one)
        await one.store.release(MEMBER.worker, [(work.key, work.lease)])
        [claimed] = await two.cluster.handing.poll(MEMBER, 1, 5.0)

        late = await one.cluster.service.exchange(MEMBER, [whole(work)], IDLE)
        right = await two.cluster.service.exchange(MEMBER, [whole(claimed)], IDLE)

        assert claimed.lease != work.lease
        assert (late.words, late.works) == (["stale"], [])
        assert right.words == [ACCEPTED]
        assert trips.unforeseen == 1
