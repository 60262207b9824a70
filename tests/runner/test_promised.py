"""A tool that takes its time, or promises its answer as a future: its job goes on when that is there, without a task of
its own, and is stopped as any other is."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from noetl.engine.output import Output
from noetl.testing.waiting import until
from tests.runner.workers import Team, at_work, job

WARM = 1  # the first job asks for its playbook, and so has a task of its own
FAULT = "the tool failed: ValueError: it broke"


@pytest.fixture(params=["waited for", "promised"])
async def team(tmp_path, request) -> AsyncIterator[Team]:
    """A worker that knows the playbook, both of whose tasks take their time."""
    async with at_work(tmp_path) as made:
        made.tool.at_once = {"one", "two"}
        await made.give(WARM)
        await until(lambda: len(made.events("step.done")) == WARM)
        await made.idle()
        made.tool.started.clear()
        made.tool.at_once = set()
        made.tool.promised = {"one", "two"} if request.param == "promised" else set()
        yield made


async def ended(team: Team, name: str = "step.done", count: int = WARM + 1) -> None:
    await until(lambda: len(team.events(name)) == count)
    await team.idle()
    assert team.worker.held() == []
    assert team.worker.slots.free == team.worker.slots.total


@pytest.mark.spec("RO-02", "TK-15")
async def test_its_job_runs_to_its_end_without_a_task_and_is_reported_once(team, monkeypatch):
    monkeypatch.setattr(team.worker, "_spawn", None)
    team.tool.open("one", "two")

    await team.give(3)
    await ended(team, count=WARM + 3)

    last = [report for _, report in team.office.reports][-3:]
    names = ["step.started", "task.started", "task.done", "task.started", "task.done", "step.done"]
    assert [report.n for report in last] == [1, 1, 1]
    assert all([event.__struct_config__.tag for event in report.events] == names for report in last)


@pytest.mark.spec("TK-15")
async def test_what_was_done_is_reported_while_the_next_task_is_waited_for(team):
    team.tool.open("one")

    await team.give()
    await until(lambda: len(team.events("task.done")) == 2 * WARM + 1)
    assert len(team.worker.held()) == 1
    team.tool.open("two")
    await ended(team)

    assert [report.n for _, report in team.office.reports][-2:] == [1, 2]
    assert len(team.events("task.started")) == 2 * (WARM + 1)


async def test_an_answer_that_comes_while_a_report_is_under_way_waits_for_it(team):
    team.tool.open("one")
    under_way, let = asyncio.Event(), asyncio.Event()
    report = team.worker.transport.report

    async def slow(said):
        under_way.set()
        await let.wait()
        return await report(said)

    team.worker.transport.report = slow
    await team.give()
    await asyncio.wait_for(under_way.wait(), 5)
    team.tool.open("two")
    await until(lambda: team.tool.started == ["one", "two"])
    let.set()
    await ended(team)

    assert [report.n for _, report in team.office.reports][-2:] == [1, 2]


@pytest.mark.spec("RO-03")
async def test_it_is_cancelled_when_its_job_is_taken_away_and_nothing_more_is_said(team):
    await team.office.add(job(7, lease=9))
    await team.started("one")
    said = len(team.office.reports)

    team.worker.revoked([((1, 7, -1), 9)])
    await team.idle()

    assert team.tool.cancelled == ["one"]
    assert team.worker.slots.free == team.worker.slots.total
    assert [report for _, report in team.office.reports][said:] == []


async def test_an_answer_to_a_job_that_was_taken_away_in_the_same_breath_starts_no_task(team, monkeypatch):
    answer, asked = asyncio.get_running_loop().create_future(), []
    monkeypatch.setattr(team.tool, "run", lambda call: asked.append(call.task) or answer)
    await team.office.add(job(7, lease=9))
    await until(lambda: asked == ["one"])

    answer.set_result(Output(data=1))
    team.worker.revoke((1, 7, -1))
    await team.idle()

    assert asked == ["one"]
    assert team.worker.slots.free == team.worker.slots.total


async def test_a_worker_that_stops_gives_its_job_back(team):
    await team.office.add(job(7, lease=9))
    await team.started("one")

    await asyncio.wait_for(team.worker.drain(0.01), 5)

    assert team.tool.cancelled == ["one"]
    assert team.office.leases == {}
    assert len(team.events("step.done")) == WARM


async def test_a_worker_that_stops_lets_it_finish_and_gives_the_rest_of_the_job_back(team):
    await team.office.add(job(7, lease=9))
    await team.started("one")

    draining = asyncio.ensure_future(team.worker.drain(5.0))
    team.tool.open("one")
    await asyncio.wait_for(draining, 5)

    assert team.tool.started == ["one"]
    assert len(team.events("task.done")) == 2 * WARM + 1
    assert team.office.leases == {}


@pytest.mark.spec("TK-18")
@pytest.mark.parametrize("fault", [ValueError("it broke"), SystemExit(3), TimeoutError(), asyncio.CancelledError()])
async def test_a_promise_that_is_broken_is_a_failure_of_its_task(team, monkeypatch, fault):
    answer = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(team.tool, "run", lambda call: answer)

    await team.give()
    await until(lambda: len(team.worker.held()) == 1)
    if isinstance(fault, asyncio.CancelledError):
        answer.cancel()
    else:
        answer.set_exception(fault)
    await ended(team, "step.failed", 1)

    (failed,) = team.events("step.failed")
    assert failed.error["kind"] == ("timeout" if isinstance(fault, TimeoutError) else "exception")
    if isinstance(fault, ValueError):
        assert failed.error["message"] == FAULT


async def test_a_promise_of_something_that_is_no_output_is_a_failure_too(team, monkeypatch):
    answer = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(team.tool, "run", lambda call: answer)
    answer.set_result(7)

    await team.give()
    await ended(team, "step.failed", 1)

    assert "not an Output" in team.events("step.failed")[0].error["message"]
