"""Jobs that come with the answers to reports: a worker that brings one back need not ask for the next."""

import asyncio

import pytest

from noetl.engine.commands import Report
from noetl.errors import Forbidden
from noetl.queues.contract import NO_ROOM, Member, Room, Told
from noetl.runner.worker import ALONG_SECONDS_MAX
from noetl.testing.clocks import ShiftedClock
from noetl.testing.office import Office
from noetl.testing.waiting import until
from tests.runner.workers import Team, at_work, job

SLOTS = 4  # of the team's worker


class Generous(Office):
    """An office that knows what room it was offered, and how many polls it had by then."""

    def __init__(self) -> None:
        super().__init__()
        self.rooms: list[Room] = []
        self.polls: list[int] = []
        self.refusals = 0
        self.before_answer = asyncio.Event()
        self.before_answer.set()

    async def exchange(self, member: Member, reports: list[Report], room: Room) -> Told:
        self.rooms.append(room)
        self.polls.append(self.asked["poll"])
        if self.refusals:
            self.refusals -= 1
            raise Forbidden("its pool is not known here yet")
        told = await super().exchange(member, reports, room)
        await self.before_answer.wait()
        return told


async def busy(team: Team, count: int) -> None:
    """Jobs for a worker that takes along."""
    team.worker.take_along(team.transport)
    await team.office.add(*(job(run) for run in range(1, count + 1)))


async def warmed(team: Team, office: Generous) -> None:
    """The worker knows the playbook: its first job asks for it, and so has a task of its own."""
    await team.give()
    await until(lambda: len(team.events("step.done")) == 1)
    await team.idle()
    await until(lambda: office.asked["poll"] > 1)
    office.reports.clear()
    office.rooms, office.polls = [], []


@pytest.mark.spec("RO-02")
async def test_a_worker_that_has_nothing_else_to_do_polls_once_for_any_number_of_jobs(tmp_path):
    office = Generous()
    async with at_work(tmp_path, office=office) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team, office)

        await busy(team, 10 * SLOTS)
        await until(lambda: len(team.events("step.done")) == 10 * SLOTS)
        await team.idle()

        assert len(set(office.polls)) == 1
        assert set(office.rooms) == {Room(free=SLOTS, is_idle=True)}
        assert team.worker.slots.free == SLOTS
        await until(lambda: office.asked["poll"] > office.polls[-1])  # nothing came along: it asks again


@pytest.mark.spec("RO-02")
async def test_a_worker_asks_for_what_waits_longest_though_more_would_come_along(tmp_path):
    office = Generous()
    async with at_work(tmp_path, office=office) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team, office)
        office.before_answer.clear()
        await busy(team, 2 * SLOTS)
        await until(lambda: len(office.rooms) == 1)

        team.clock.shift_seconds += ALONG_SECONDS_MAX + 0.1
        office.before_answer.set()
        await until(lambda: len(team.events("step.done")) == 2 * SLOTS)

        assert office.rooms[:2] == [Room(free=SLOTS, is_idle=True), NO_ROOM]
        await until(lambda: office.asked["poll"] > office.polls[1])


@pytest.mark.spec("RO-02")
async def test_no_room_is_promised_twice(tmp_path):
    office = Generous()
    async with at_work(tmp_path, office=office) as team:
        office.wait_seconds_max = 60.0
        await busy(team, 2)
        await team.started("one", "one")
        await until(lambda: office.asked["poll"] == 2)  # for the other two slots

        team.tool.open("one")
        team.tool.at_once = {"two"}
        await until(lambda: len(team.events("step.done")) == 2)

        assert max(room.free for room in office.rooms) <= 2


async def test_a_worker_that_has_something_else_to_do_says_so(tmp_path):
    office = Generous()
    async with at_work(tmp_path, office=office) as team:
        office.wait_seconds_max = 60.0
        await busy(team, 1)
        await team.started("one")
        team.tool.at_once = {"one", "two"}

        await office.add(*(job(run) for run in range(2, SLOTS + 1)))
        await until(lambda: len(team.events("step.done")) == SLOTS - 1)

        assert {room.is_idle for room in office.rooms} == {False}


async def test_room_that_nobody_answered_for_is_polled_for(tmp_path):
    office = Generous()
    async with at_work(tmp_path, office=office) as team:
        team.tool.at_once = {"one", "two"}
        office.refusals = 3

        await busy(team, 2 * SLOTS)
        await until(lambda: len(team.events("step.done")) == 2 * SLOTS)
        await team.idle()

        assert not office.refusals
        assert team.worker._room() == SLOTS - team.worker._asked


async def test_what_comes_along_when_the_worker_stops_goes_back(tmp_path):
    office = Generous()
    async with at_work(tmp_path, office=office) as team:
        team.tool.at_once = {"one", "two"}
        office.before_answer.clear()
        await busy(team, 2 * SLOTS)
        await until(lambda: len(office.leases) == SLOTS and len(office.reports) == SLOTS)

        draining = asyncio.ensure_future(team.worker.drain())
        await until(lambda: team.worker.is_stopping)
        office.before_answer.set()
        await draining

        assert office.leases == {}
        assert len(office._ready["default"]) == SLOTS
        assert len(team.events("step.done")) == SLOTS


@pytest.mark.parametrize("turns", range(5))
async def test_a_tool_that_answers_in_the_moment_of_parting_keeps_nobody(tmp_path, monkeypatch, turns):
    office, late = Generous(), asyncio.Event()
    async with at_work(tmp_path, office=office) as team:
        team.tool.at_once = {"one", "two"}
        await warmed(team, office)
        team.tool.at_once, team.tool.promised = set(), {"one"}
        team.worker.take_along(team.transport)
        office.before_answer.clear()
        await team.give()
        await until(lambda: len(office.rooms) == 1)  # that it has begun: nobody answers

        monkeypatch.setattr(team.worker, "clock", Stopped(late))
        draining = asyncio.ensure_future(team.worker.drain(1.0))
        await until(lambda: team.worker.is_stopping)
        late.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        team.tool.open("one")
        async with asyncio.timeout(5.0):
            await draining

        assert team.worker.jobs == 0


class Stopped(ShiftedClock):
    """Sleeps end when the test says so."""

    def __init__(self, late: asyncio.Event) -> None:
        super().__init__()
        self._late = late

    async def sleep(self, seconds: float) -> None:
        await self._late.wait()
