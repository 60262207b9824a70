"""A worker's rules (protocol §7): what it holds, when it starts no task, what it drops, and how it stops."""

import asyncio
import logging
from typing import Any

import pytest

from noetl.engine.commands import Key, Report, Work
from noetl.errors import Unreachable
from noetl.queues.contract import Member
from noetl.runner.heartbeat import Answered
from noetl.runner.slots import Slots
from noetl.testing.office import Office, a_profile
from noetl.testing.waiting import until
from tests.runner.workers import at_work, job

LEASE_SECONDS = 30.0
LONG = 0.95 * LEASE_SECONDS  # past the point where a lease is surely held


class Unsteady(Office):
    """An office that cannot be reached now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.polls_lost = 0
        self.reports_lost: list[Report] = []
        self.is_deaf = False

    async def poll(self, member: Member, free: int, wait_seconds: float) -> list[Work]:
        if self.is_deaf:
            self.polls_lost += 1
            raise Unreachable("the database is away")
        return await super().poll(member, free, wait_seconds)

    async def report(self, member: Member, report: Report) -> str:
        if self.is_deaf:
            self.reports_lost.append(report)
            raise Unreachable("the database is away")
        return await super().report(member, report)

    async def heartbeat(self, member: Member, held: list[tuple[Key, int]]) -> list[Key]:
        if self.is_deaf:
            raise Unreachable("the database is away")
        return await super().heartbeat(member, held)


@pytest.mark.spec("RO-02")
async def test_a_job_is_run_to_its_end_and_no_longer_held(tmp_path):
    async with at_work(tmp_path) as team:
        team.tool.open("one", "two")

        await team.give(3)
        await until(lambda: len(team.events("step.done")) == 3)

        await team.idle()
        assert team.worker.held() == []
        assert team.worker.slots.free == team.worker.slots.total


# --- the lease -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RO-03")
async def test_no_task_is_started_under_a_lease_that_may_be_over_until_a_server_answers(tmp_path):
    async with at_work(tmp_path) as team:
        await team.give()
        await team.started("one")
        office_word, team.office.report = team.office.report, never  # type: ignore[method-assign]  # nobody answers

        team.clock.shift_seconds = LONG
        team.tool.open("one")
        await until(lambda: team.worker.slots.free == team.worker.slots.total)  # it waits, and without a slot
        before = list(team.tool.started)
        team.office.report = office_word  # type: ignore[method-assign]
        await team.beat()
        await team.started("one", "two")

        assert before == ["one"]


async def never(member: Member, report: Report) -> str:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


@pytest.mark.spec("RO-03")
async def test_an_answered_report_counts_as_a_sign_of_life_too(tmp_path):
    async with at_work(tmp_path, THREE_TASKS) as team:
        await team.give()
        await team.started("one")
        team.clock.shift_seconds = 0.6 * LEASE_SECONDS
        team.tool.open("one")
        await team.started("one", "two")
        await until(lambda: team.events("task.done"))

        team.clock.shift_seconds = 1.2 * LEASE_SECONDS  # since the claim; since the report it is half as long
        team.tool.open("two")
        await team.started("one", "two", "three")

        assert team.office.asked["heartbeat"] == 0


THREE_TASKS = """\
workflow:
  - step: start
    tool: [{name: one, kind: noop}, {name: two, kind: noop}, {name: three, kind: noop}]
"""


@pytest.mark.spec("RO-03")
async def test_a_job_that_a_heartbeat_finds_gone_is_stopped_and_nothing_more_is_said_of_it(tmp_path):
    async with at_work(tmp_path) as team:
        await team.give()
        await team.started("one")
        await until(lambda: team.office.reports)
        said = team.office.asked["report"]

        team.office.leases.clear()
        await team.beat()
        await team.idle()

        assert team.tool.cancelled == ["one"]
        assert team.office.asked["report"] == said
        assert team.worker.slots.free == team.worker.slots.total


@pytest.mark.spec("RO-03")
async def test_a_stale_report_ends_the_job_before_its_next_task(tmp_path):
    async with at_work(tmp_path, BOOK_OF_SYNC) as team:
        await team.give()
        await team.started("one")
        await until(lambda: team.office.reports)
        recorded = len(team.office.reports)

        team.office.leases.clear()
        team.tool.open("one", "two")
        await team.idle()

        assert team.tool.started == ["one"]
        assert len(team.office.reports) == recorded


@pytest.mark.spec("RO-03")
async def test_a_stale_report_ends_the_job_before_a_called_task_is_tried_again(tmp_path):
    async with at_work(tmp_path, BOOK_OF_A_CALL) as team:
        await team.give()
        await team.started("called")
        team.office.leases.clear()  # what is reported while the called task runs is stale
        await until(lambda: team.office.asked["report"])

        team.tool.open("called")
        await team.idle()

        assert team.tool.started == ["called"]


BOOK_OF_A_CALL = """\
workbook:
  called:
    kind: noop
    spec:
      policy:
        rules:
          - when: "{{ _attempt < 2 }}"
            then: {do: retry, attempts: 2, delay: 0}
          - else: {then: {do: continue}}
workflow:
  - step: start
    tool: [{name: one, kind: workbook, task: called}]
"""


BOOK_OF_SYNC = """\
workflow:
  - step: start
    tool: [{name: one, kind: noop}, {name: two, kind: noop, spec: {durability: sync}}]
"""


@pytest.mark.spec("RO-03")
async def test_a_job_that_is_handed_out_anew_ends_what_ran_under_the_lease_before(tmp_path):
    async with at_work(tmp_path) as team:
        await team.give(lease=7)
        await team.started("one")

        await team.office.add(job(1, lease=8))
        await team.started("one", "one")

        await until(lambda: team.tool.cancelled == ["one"])
        assert team.worker.held() == [((1, 1, -1), 8)]


async def test_what_is_said_of_an_earlier_lease_leaves_the_later_one_alone(tmp_path):
    async with at_work(tmp_path) as team:
        await team.give(lease=8)
        await team.started("one")

        key = (1, 1, -1)
        team.worker.revoked([(key, 7)])
        team.worker.answered(Answered(sent_at=0.0, held=[(key, 7)], gone=frozenset({key})))

        assert team.worker.held() == [(key, 8)]


async def test_a_job_that_was_ended_before_it_came_is_not_begun(tmp_path):
    async with at_work(tmp_path) as team:
        team.worker.revoked([((1, 1, -1), 7)])

        await team.give(lease=7)
        await team.office.add(job(2, lease=9))
        await team.started("one")

        assert team.worker.held() == [((1, 2, -1), 9)]
        assert team.worker.slots.free == team.worker.slots.total - 1


# --- servers that do not answer --------------------------------------------------------------------------------------


@pytest.mark.spec("RO-02")
async def test_a_report_is_sent_under_the_same_number_until_it_is_answered(tmp_path):
    office = Unsteady()
    async with at_work(tmp_path, office=office) as team:
        await team.give()
        await team.started("one")
        await until(lambda: len(office.reports) == 1)

        office.is_deaf = True
        team.tool.open("one", "two")
        await until(lambda: len(office.reports_lost) >= 3)
        office.is_deaf = False
        await team.idle()

        assert {report.n for report in office.reports_lost} == {2}
        assert [report.n for _, report in office.reports] == list(range(1, len(office.reports) + 1))
        assert len(team.events("step.done")) == 1


@pytest.mark.spec("RO-02")
async def test_a_worker_that_no_server_answers_goes_on_asking(tmp_path):
    office = Unsteady()
    office.is_deaf = True
    async with at_work(tmp_path, office=office) as team:
        team.tool.open("one", "two")
        await until(lambda: office.polls_lost >= 2)

        office.is_deaf = False
        await team.give()
        await until(lambda: team.events("step.done"))

        assert team.polling is not None
        assert not team.polling.done()


@pytest.mark.spec("RO-02")
async def test_a_fault_of_ours_in_one_job_ends_that_job_alone_and_is_logged_without_its_secrets(tmp_path, caplog):
    async with at_work(tmp_path) as team:
        team.tool.open("one", "two")
        team.keychain.remember("planted-s3cret")
        playbook = team.worker.playbooks

        async def broken(sha: str, planned: list[Any]) -> Any:
            if sha == "bad":
                raise RuntimeError("cannot parse planted-s3cret")
            return await playbook(sha, planned)

        team.worker.playbooks = broken
        with caplog.at_level(logging.ERROR):
            await team.give(sha="bad")
            await team.give()
            await until(lambda: team.events("step.done"))
            await team.idle()

        (record,) = caplog.records
        assert (record.action, record.execution_id) == ("job_failed", 1)  # type: ignore[attr-defined]
        assert "RuntimeError" in record.traceback  # type: ignore[attr-defined]
        assert "planted-s3cret" not in record.traceback  # type: ignore[attr-defined]
        assert list(team.office.leases) == [(1, 1, -1)]  # it was not given back: its lease runs out
        assert team.worker.held() == []
        assert team.worker.slots.free == team.worker.slots.total


# --- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RO-02")
async def test_a_drain_lets_the_task_that_runs_finish_and_gives_the_rest_of_the_job_back(tmp_path):
    async with at_work(tmp_path) as team:
        await team.give()
        await team.started("one")

        draining = asyncio.ensure_future(team.worker.drain(WIDE_SECONDS))
        await asyncio.sleep(0)
        team.tool.open("one", "two")
        await draining

        assert team.tool.started == ["one"]
        assert [event.task for event in team.events("task.done")] == ["one"]
        assert await team.office.poll(OTHER, 5, 1.0)  # at once, and not when the lease has run out


WIDE_SECONDS = 20.0
OTHER = Member(worker="other", pool=a_profile().pool)


@pytest.mark.spec("RO-02")
async def test_a_task_that_does_not_finish_in_time_is_stopped_and_its_job_given_back(tmp_path):
    async with at_work(tmp_path) as team:
        await team.give(2)
        await team.started("one", "one")

        await team.worker.drain(0.01)

        assert team.tool.cancelled == ["one", "one"]
        assert len(await team.office.poll(OTHER, 5, 1.0)) == 2
        assert team.worker.held() == []


@pytest.mark.slow
async def test_jobs_that_arrive_while_a_worker_stops_go_back_unopened(tmp_path):
    async with at_work(tmp_path) as team:
        team.office.wait_seconds_max = 60.0
        await until(lambda: team.office.asked["poll"] >= 2)
        polls = team.office.asked["poll"]
        await until(lambda: team.office.asked["poll"] > polls)  # one that waits long is under way

        await team.worker.drain(WIDE_SECONDS)
        await team.give()
        assert team.polling is not None
        await asyncio.wait_for(team.polling, WIDE_SECONDS)

        assert team.tool.started == []
        assert len(await team.office.poll(OTHER, 5, 1.0)) == 1


async def test_a_job_that_waits_for_its_next_attempt_is_given_back_at_once_when_the_worker_stops(tmp_path):
    async with at_work(tmp_path, RETRYING) as team:
        await team.give()
        await until(lambda: team.events("task.done"))

        await asyncio.wait_for(team.worker.drain(WIDE_SECONDS), 5.0)

        assert len(await team.office.poll(OTHER, 5, 1.0)) == 1


RETRYING = """\
workflow:
  - step: start
    tool:
      name: one
      kind: shell
      command: "false"
      spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 50}}]}}
"""


async def test_a_job_that_comes_when_all_slots_are_taken_again_waits_for_one():
    slots = Slots(1)

    first, second = slots.seat(), slots.seat()
    waiting = asyncio.ensure_future(second.take())
    await asyncio.sleep(0)
    assert (first.is_taken, second.is_taken, slots.free) == (True, False, 0)

    first.leave()
    await waiting
    assert (first.is_taken, second.is_taken, slots.free) == (False, True, 0)


async def test_a_slot_that_was_given_to_somebody_who_has_just_gone_is_free_again():
    slots = Slots(1)
    await slots.take()
    waiting = asyncio.ensure_future(slots.take())
    await asyncio.sleep(0)

    slots.release()  # the slot is the waiting one's now
    waiting.cancel()
    await asyncio.wait({waiting})

    assert slots.free == 1
