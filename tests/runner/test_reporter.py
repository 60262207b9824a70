"""Reports of one lease: what is buffered leaves in a few milliseconds, however long the tool that runs then takes."""

import asyncio

import pytest

from noetl.engine.commands import Report, Work
from noetl.engine.events import TaskStarted
from noetl.engine.state import Progress
from noetl.errors import DiskFull
from noetl.queues.contract import ACCEPTED
from noetl.runner.reporter import DELAY_SECONDS, Reporter

SECONDS_MAX = 5.0


class DeadServer:
    """A transport that cannot deliver."""

    async def report(self, report: Report) -> str:
        raise DiskFull("here")


class SlowServer:
    """A transport whose every answer waits until it is let through."""

    def __init__(self) -> None:
        self.reports: asyncio.Queue[Report] = asyncio.Queue()
        self.may_answer = asyncio.Semaphore(0)

    async def report(self, report: Report) -> str:
        self.reports.put_nowait(report)
        await self.may_answer.acquire()
        return ACCEPTED

    async def next_report(self) -> Report:
        return await asyncio.wait_for(self.reports.get(), SECONDS_MAX)


def a_reporter(server: SlowServer | DeadServer) -> Reporter:
    work = Work(execution_id=1, run=1, iter=-1, lease=7, step="fetch", sha="5ha", progress=Progress(ctx={}))
    return Reporter(server, work)  # type: ignore[arg-type]  # a worker's half that only reports


def started(task: str) -> TaskStarted:
    return TaskStarted(ts=1.0, run=1, task=task, visit=1, attempt=1, kind="noop")


async def test_what_is_buffered_while_a_report_is_under_way_leaves_when_that_is_answered():
    server = SlowServer()
    reporter = a_reporter(server)
    reporter.add([started("first")])
    reporter.soon()
    first = await server.next_report()

    reporter.add([started("second")])
    reporter.soon()
    await asyncio.sleep(4 * DELAY_SECONDS)  # its few milliseconds pass while the first report waits for its answer
    server.may_answer.release()
    second = await server.next_report()

    assert [(one.n, one.events[0].task) for one in (first, second)] == [(1, "first"), (2, "second")]
    server.may_answer.release()
    await reporter.flush()


async def test_the_last_report_of_a_job_waits_for_the_one_before_and_takes_all_that_is_left():
    server = SlowServer()
    reporter = a_reporter(server)
    reporter.add([started("first")])
    reporter.soon()
    await server.next_report()

    reporter.add([started("second")])
    ending = asyncio.create_task(reporter.last(started("third")))
    server.may_answer.release()
    last = await server.next_report()
    server.may_answer.release()
    await ending

    assert (last.n, [event.task for event in last.events]) == (2, ["second", "third"])
    assert server.reports.empty()


async def test_a_report_that_fails_in_the_background_fails_the_job_when_it_reports_next():
    reporter = a_reporter(DeadServer())
    reporter.add([started("first")])
    reporter.soon()
    await asyncio.sleep(4 * DELAY_SECONDS)  # it was sent, and nobody waited for it

    with pytest.raises(DiskFull):
        reporter.check()
