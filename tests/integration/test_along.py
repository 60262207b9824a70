"""Jobs that go out with the answers to reports, over PostgreSQL: leased in the commit that makes them (protocol §6)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from noetl.engine import events as facts
from noetl.engine.commands import Report, Work
from noetl.errors import Unreachable
from noetl.queues.contract import ACCEPTED, STALE, Member, Room
from noetl.stores.shared import LEASED, READY
from noetl.testing.waiting import until
from tests.integration.servers import Server, serving

pytestmark = pytest.mark.slow

CHAIN = """
workflow:
  - {step: first, tool: {kind: noop}, next: {arcs: [{step: second}]}}
  - {step: second, tool: {kind: noop}, next: {arcs: [{step: third}]}}
  - {step: third, tool: {kind: noop}}
"""
ELSEWHERE = """
workflow:
  - {step: first, tool: {kind: noop}, next: {arcs: [{step: second}]}}
  - {step: second, spec: {pool: gpu}, tool: {kind: noop}}
"""
MEMBER, OTHER = Member(worker="w", pool="default"), Member(worker="other", pool="default")
IDLE, BUSY = Room(free=5, is_idle=True), Room(free=5)


def whole(work: Work) -> Report:
    place = {"ts": 1.0, "run": work.run, "iter": work.iter, "lease": work.lease}
    output: dict[str, Any] = {"status": "ok", "data": None, "ref": None, "error": None, "meta": {}}
    task = {"task": work.step, "visit": 1, "attempt": 1}
    events = [
        facts.StepStarted(**place, step=work.step),
        facts.TaskStarted(**place, **task, kind="noop"),
        facts.TaskDone(**place, **task, do="continue", output=output),
        facts.StepDone(**place, step=work.step, output=output),
    ]
    return Report(execution_id=work.execution_id, run=work.run, iter=work.iter, lease=work.lease, n=1, events=events)


async def begun(server: Server, body: str = CHAIN) -> Work:
    await server.start(body)
    [work] = await server.cluster.handing.poll(MEMBER, 1, 5.0)
    return work


@pytest.mark.spec("RO-03")
async def test_a_worker_that_brings_a_job_back_gets_the_next_one_in_its_place(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        work, steps, words = await begun(server), [], []
        waiting = asyncio.ensure_future(server.cluster.service.poll(OTHER, 5, 5.0))
        await asyncio.sleep(0)

        while True:
            steps.append(work.step)
            told = await server.cluster.service.exchange(MEMBER, [whole(work)], IDLE)
            words += told.words
            if not told.works:
                break
            [work] = told.works

        assert (steps, words) == (["first", "second", "third"], [ACCEPTED] * 3)
        assert (await server.ended(work.execution_id)).status == "success"
        assert not waiting.done()
        waiting.cancel()


async def test_a_busy_worker_gets_it_only_if_nobody_waits(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        work = await begun(server)
        waiting = asyncio.ensure_future(server.cluster.service.poll(OTHER, 5, 5.0))
        await asyncio.sleep(0)

        told = await server.cluster.service.exchange(MEMBER, [whole(work)], BUSY)
        [second] = await waiting
        along = await server.cluster.service.exchange(OTHER, [whole(second)], BUSY)

        assert (told.works, second.step, [one.step for one in along.works]) == ([], "second", ["third"])


@pytest.mark.spec("RO-03")
async def test_what_waits_already_comes_before_the_next_job_of_whoever_reports(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        service, one = server.cluster.service, Room(free=1, is_idle=True)
        work = await begun(server)
        other_id = await server.start(CHAIN)  # and nobody polls

        told = await service.exchange(MEMBER, [whole(work)], one)
        [waiting] = await service.poll(MEMBER, 1, 5.0)
        [second] = await service.poll(MEMBER, 1, 5.0)
        await until(lambda: "default" not in server.cluster.handing._may_have)
        along = await service.exchange(MEMBER, [whole(second)], one)

        assert (told.words, told.works) == ([ACCEPTED], [])
        assert (waiting.execution_id, waiting.step) == (other_id, "first")
        assert (second.execution_id, second.step) == (work.execution_id, "second")
        assert [(next_one.execution_id, next_one.step) for next_one in along.works] == [(work.execution_id, "third")]


@pytest.mark.spec("RO-03")
async def test_what_came_along_is_its_workers_alone(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        work = await begun(server)
        [second] = (await server.cluster.service.exchange(MEMBER, [whole(work)], IDLE)).works
        [job] = await server.store.jobs(work.execution_id)

        stolen = await server.cluster.service.exchange(OTHER, [whole(second)], IDLE)
        again = await server.cluster.service.exchange(MEMBER, [whole(work)], IDLE)

        assert (job.state, job.worker) == (LEASED, "w")
        assert (stolen.words, stolen.works) == ([STALE], [])
        assert again.works == []  # a report that comes twice brings nothing twice


async def test_a_job_of_another_pool_does_not_come_along(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        work = await begun(server, ELSEWHERE)

        told = await server.cluster.service.exchange(MEMBER, [whole(work)], IDLE)

        [job] = await server.store.jobs(work.execution_id)
        assert (told.words, told.works, job.state, job.pool) == ([ACCEPTED], [], READY, "gpu")


async def test_what_was_leased_to_a_worker_that_gets_no_answer_goes_to_others_at_once(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        handing = server.cluster.handing
        words: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        asking = asyncio.ensure_future(handing.along(MEMBER, [], BUSY, words))
        await asyncio.sleep(0)
        execution_id = await server.start(CHAIN)  # another pump's batch leases it a job meanwhile
        [job] = await server.store.jobs(execution_id)

        words.set_exception(Unreachable("the store is away"))
        with pytest.raises(Unreachable):
            await asking
        [work] = await handing.poll(OTHER, 5, 5.0)

        assert (job.state, job.worker) == (LEASED, "w")
        assert (work.execution_id, work.step) == (execution_id, "first")
        assert len(handing.polls) == 0
        assert not handing._guests
