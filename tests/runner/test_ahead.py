"""Jobs that need no waiting run ahead, in one go; what waits goes on in a task; either way a job is reported once."""

import asyncio

import pytest

from noetl.engine.commands import Report
from noetl.errors import Forbidden
from noetl.queues.contract import Member
from noetl.testing.office import Office
from noetl.testing.waiting import until
from tests.runner.workers import Team, at_work, job

WARM = 1  # the first job asks for its playbook, and so has a task of its own


async def warmed(team: Team) -> None:
    """A worker that knows the playbook."""
    await team.give(WARM)
    await until(lambda: len(team.events("step.done")) == WARM)
    await team.idle()
    team.tool.started.clear()


class Counting(Office):
    """An office that knows how reports came, and may be out of reach for some."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[int] = []
        self.refusals = 0

    async def report_all(self, member: Member, reports: list[Report]) -> list[str]:
        self.messages.append(len(reports))
        if self.refusals:
            self.refusals -= 1
            raise Forbidden("its pool is not known here yet")
        return await super().report_all(member, reports)


@pytest.mark.spec("RO-02", "TK-15")
async def test_jobs_that_need_no_waiting_are_reported_whole_and_hold_nothing_afterwards(tmp_path):
    async with at_work(tmp_path) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team)

        await team.give(3)
        await until(lambda: len(team.events("step.done")) == WARM + 3)
        await team.idle()

        last = [report for _, report in team.office.reports][-3:]
        names = ["step.started", "task.started", "task.done", "task.started", "task.done", "step.done"]
        assert [report.n for report in last] == [1, 1, 1]
        assert all([event.__struct_config__.tag for event in report.events] == names for report in last)
        assert team.worker.held() == []
        assert team.worker.slots.free == team.worker.slots.total


async def test_a_job_whose_second_task_waits_goes_on_from_there(tmp_path):
    async with at_work(tmp_path) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team)
        team.tool.at_once = {"one"}

        await team.give()
        await team.started("one", "two")
        assert len(team.worker.held()) == 1
        team.tool.open("two")
        await until(lambda: len(team.events("step.done")) == WARM + 1)

        assert team.tool.started == ["one", "two"]
        assert len(team.events("task.started")) == 2 * (WARM + 1)


async def test_what_nobody_answers_is_reported_again_under_the_same_number(tmp_path):
    office = Counting()
    async with at_work(tmp_path, office=office) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team)
        office.refusals, office.messages = 2, []

        await team.give()
        await until(lambda: len(team.events("step.done")) == WARM + 1)

        assert office.messages == [1, 1, 1]
        assert office.reports[-1][1].n == 1
        assert team.tool.started == ["one", "two"]


async def test_a_job_that_is_taken_away_while_its_report_is_under_way_is_not_reported_again(tmp_path):
    office = Counting()
    async with at_work(tmp_path, office=office) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team)
        office.refusals = 1_000_000

        await office.add(job(7, lease=9))
        await until(lambda: len(office.messages) > WARM)
        team.worker.revoked([((1, 7, -1), 9)])
        await team.idle()

        assert team.worker.held() == []
        assert len(team.events("step.done")) == WARM


async def test_a_worker_that_stops_gives_back_what_it_could_not_report(tmp_path):
    office = Counting()
    async with at_work(tmp_path, office=office) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team)
        office.refusals = 1_000_000
        await office.add(job(7, lease=9))
        await until(lambda: len(office.messages) > WARM)

        await asyncio.wait_for(team.worker.drain(0.01), 5)

        assert office.leases == {}


@pytest.mark.spec("RO-03")
async def test_a_job_that_was_taken_away_while_its_worker_stops_is_no_fault(tmp_path, caplog):
    async with at_work(tmp_path) as team:
        await team.give()
        await team.started("one")
        await until(lambda: bool(team.office.reports))

        team.office.leases.clear()  # somebody else has it now
        team.worker.stop()
        team.tool.open("one")
        await team.idle()

        assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_job_that_is_taken_away_before_its_task_began_keeps_no_slot(tmp_path):
    async with at_work(tmp_path) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team)
        team.tool.at_once = set()

        await team.worker._take([job(5, lease=3)], team.clock.monotonic())
        team.worker.revoke((1, 5, -1))  # in the same breath: the task has not run a line
        await team.idle()

        assert team.worker.slots.free == team.worker.slots.total
        assert team.tool.started == []
