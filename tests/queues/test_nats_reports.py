"""Reports on their way: what is ready together goes together, few messages are under way, and each gets its word."""

import asyncio
import random

import msgspec
import pytest

from noetl.clock import SystemClock
from noetl.engine.commands import Report
from noetl.engine.events import TaskDone
from noetl.errors import Forbidden, Unreachable
from noetl.messaging.pauses import Pauses
from noetl.queues import wire
from noetl.queues.nats_reports import MESSAGE_BYTES_WANTED, UNDER_WAY_MAX, Reports
from noetl.testing.waiting import until

MEBIBYTE = 1024 * 1024


class Line:
    """A way to servers that answers each report with its own run, when it may."""

    def __init__(self):
        self.messages = []
        self.faults = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def send(self, server, reports):
        runs = [msgspec.json.decode(report)["run"] for report in reports]
        self.messages.append((server, runs))
        await self.may_answer.wait()
        if self.faults:
            raise self.faults.pop(0)
        return [f"word of {run}" for run in runs]


@pytest.fixture
async def line():
    return Line()


@pytest.fixture
async def reports(line):
    return Reports(
        line.send,
        home=lambda lease: "home" if lease < 100 else "elsewhere",
        message_bytes_max=lambda: MEBIBYTE,
        pauses=lambda: Pauses(SystemClock(), random.random),
    )


def a_report(run, lease=1, text=""):
    output = {"status": "ok", "data": text}
    event = TaskDone(ts=1.0, run=run, lease=lease, task="t", visit=1, attempt=1, do="continue", output=output)
    return Report(execution_id=1, run=run, iter=-1, lease=lease, n=1, events=[event])


async def under_way(line, reports):
    """As many messages as may be, one after the other."""
    asked = []
    for run in range(UNDER_WAY_MAX):
        asked.append(asyncio.create_task(reports.deliver([a_report(run)])))
        await until(lambda count=run + 1: len(line.messages) == count)
    return asked


async def settled():
    """Everything that can go on without an answer has done so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_is_ready_at_one_moment_goes_in_one_message_and_each_gets_its_own_word(line, reports):
    words = await asyncio.gather(*(reports.deliver([a_report(run), a_report(run + 100)]) for run in range(3)))

    assert line.messages == [("home", [0, 100, 1, 101, 2, 102])]
    assert words == [[f"word of {run}", f"word of {run + 100}"] for run in range(3)]


async def test_reports_go_to_the_homes_of_their_jobs_and_the_words_come_in_order(line, reports):
    words = await reports.deliver([a_report(1), a_report(2, lease=200), a_report(3)])

    assert words == ["word of 1", "word of 2", "word of 3"]
    assert sorted(line.messages) == [("elsewhere", [2]), ("home", [1, 3])]


async def test_what_comes_while_enough_is_under_way_goes_together_with_the_next(line, reports):
    line.may_answer.clear()
    asked = await under_way(line, reports)
    asked += [asyncio.create_task(reports.deliver([a_report(run)])) for run in range(UNDER_WAY_MAX, UNDER_WAY_MAX + 3)]
    await settled()
    before = [runs for _, runs in line.messages]
    line.may_answer.set()
    words = await asyncio.gather(*asked)

    assert before == [[run] for run in range(UNDER_WAY_MAX)]
    assert [runs for _, runs in line.messages][UNDER_WAY_MAX:] == [list(range(UNDER_WAY_MAX, UNDER_WAY_MAX + 3))]
    assert words == [[f"word of {run}"] for run in range(UNDER_WAY_MAX + 3)]


async def test_a_message_is_neither_too_large_nor_too_many(line, reports):
    large = [a_report(run, text="x" * (MESSAGE_BYTES_WANTED // 2)) for run in range(3)]
    many = [a_report(run) for run in range(10, 10 + wire.REPORTS_MAX + 1)]

    await asyncio.gather(reports.deliver(large), reports.deliver(many))

    assert [run for _, runs in line.messages for run in runs if run < 10] == [0, 1, 2]
    assert max(len(runs) for _, runs in line.messages) <= wire.REPORTS_MAX
    assert all(len([run for run in runs if run < 10]) <= 1 for _, runs in line.messages)


async def test_what_nobody_answers_goes_to_any_server(line, reports):
    line.faults = [Unreachable("nobody there")]
    outages = []
    reports.on_outage = outages.append

    words = await reports.deliver([a_report(1)])

    assert words == ["word of 1"]
    assert line.messages == [("home", [1]), ("", [1])]
    assert outages == ["nobody there"]


async def test_what_is_refused_is_told_to_each_that_waits(line, reports):
    line.faults = [Forbidden("not yours")]

    answers = await asyncio.gather(
        reports.deliver([a_report(1)]), reports.deliver([a_report(2)]), return_exceptions=True
    )

    assert [str(answer) for answer in answers] == ["not yours", "not yours"]


async def test_what_is_refused_of_one_home_is_told_when_the_others_are_answered_too(line, reports):
    async def send(server, sent):
        if server == "home":
            raise Forbidden("not yours")
        return await line.send(server, sent)

    reports._send = send
    line.may_answer.clear()
    asked = asyncio.create_task(reports.deliver([a_report(1), a_report(2, lease=200)]))
    await until(lambda: line.messages)
    await settled()
    was_done = asked.done()
    line.may_answer.set()
    await asyncio.wait([asked])

    assert not was_done
    assert str(asked.exception()) == "not yours"


async def test_a_report_that_nobody_waits_for_any_more_is_not_sent(line, reports):
    line.may_answer.clear()
    asked = await under_way(line, reports)
    given_up, wanted = (asyncio.create_task(reports.deliver([a_report(run)])) for run in (50, 51))
    await settled()

    given_up.cancel()
    await settled()
    line.may_answer.set()
    await asyncio.gather(*asked, wanted)

    assert line.messages[-1] == ("home", [51])


async def test_nothing_to_say_is_no_message(line, reports):
    assert await reports.deliver([]) == []

    assert line.messages == []
