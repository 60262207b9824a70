"""Reports of one lease: what is buffered leaves in a few milliseconds, however long the tool that runs then takes."""

import asyncio
import time

import msgspec
import pytest

from noetl.clock import SystemClock
from noetl.engine.commands import Report, Work
from noetl.engine.events import TaskDone, TaskStarted
from noetl.engine.state import Progress
from noetl.errors import DiskFull, Unreachable
from noetl.queues.contract import ACCEPTED
from noetl.runner.lease import Lease, Terms
from noetl.runner.reporter import BEGUN_SECONDS, DELAY_SECONDS, REPORT_BYTES_MAX, Post, Reporter, Soon

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


def a_reporter(server: object) -> Reporter:
    work = Work(execution_id=1, run=1, iter=-1, lease=7, step="fetch", sha="5ha", progress=Progress(ctx={}))
    clock = SystemClock()
    soon, later = Soon(clock, DELAY_SECONDS), Soon(clock, BEGUN_SECONDS)
    post = Post(transport=server, clock=clock, chance=lambda: 0.5, soon=soon, later=later)  # type: ignore[arg-type]
    return Reporter(post, work, Lease(Terms(), clock, clock.monotonic()))


async def ended(reporter: Reporter, event: TaskStarted) -> None:
    """The last of a job, sent as a worker does."""
    await reporter.deliver(await reporter.last(event))


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
    await asyncio.sleep(4 * BEGUN_SECONDS)  # its moment passes while the first report waits for its answer
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
    ending = asyncio.create_task(ended(reporter, started("third")))
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
    await asyncio.sleep(4 * BEGUN_SECONDS)  # it was sent, and nobody waited for it

    with pytest.raises(DiskFull):
        reporter.check()


class HeardServer:
    """A transport that keeps what it is told; the first answers are lost."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost
        self.reports: list[Report] = []

    async def report(self, report: Report) -> str:
        self.reports.append(report)
        if self.lost:
            self.lost -= 1
            raise Unreachable("the answer is lost")
        return ACCEPTED


@pytest.mark.spec("RO-03")
async def test_a_report_whose_answer_is_lost_is_sent_again_under_its_number_before_the_next():
    server = HeardServer(lost=2)
    reporter = a_reporter(server)

    for task in ("first", "second"):
        reporter.add([started(task)])
        await reporter.flush()

    assert [(one.n, one.events[0].task) for one in server.reports] == [(1, "first")] * 3 + [(2, "second")]


@pytest.mark.parametrize("sizes", [[100_000] * 7, [300_000, 10, 10], [10, 300_000, 10], [5] * 3, [260_000], [5] * 140])
async def test_a_report_has_at_most_so_many_bytes_or_one_event_and_nothing_is_left_out(sizes):
    server = HeardServer()
    reporter = a_reporter(server)
    events = [started("x" * size) for size in sizes]

    reporter.add(events[:-1])
    await ended(reporter, events[-1])

    for report in server.reports:
        size = sum(len(msgspec.json.encode(event)) for event in report.events)
        assert size <= REPORT_BYTES_MAX or len(report.events) == 1
    assert [event for report in server.reports for event in report.events] == events
    assert [report.n for report in server.reports] == list(range(1, len(server.reports) + 1))
    assert len(server.reports) <= len(sizes)
    assert all(report.events for report in server.reports)


@pytest.mark.parametrize(("count", "size", "is_sent"), [(5, 100, False), (3, 90_000, True), (1_001, 1, True)])
async def test_a_buffer_is_sent_ahead_of_the_next_task_when_it_has_grown_large(count, size, is_sent):
    server = HeardServer()
    reporter = a_reporter(server)

    reporter.add([started("x" * size)] * count)
    await reporter.flush_if_large()

    assert bool(server.reports) is is_sent


async def test_a_job_that_nobody_works_on_any_more_sends_nothing_that_was_not_sent():
    server = HeardServer()
    reporter = a_reporter(server)
    reporter.add([started("first")])
    reporter.soon()

    reporter.abandon()
    await asyncio.sleep(4 * BEGUN_SECONDS)  # its moment passes

    assert server.reports == []


async def test_what_was_done_is_reported_long_before_what_has_only_begun():
    server = HeardServer()
    reporter = a_reporter(server)
    reporter.add([started("first")])
    reporter.soon()
    reporter.add([TaskDone(ts=2.0, run=1, task="first", visit=1, attempt=1, do="continue"), started("second")])
    asked_at = time.monotonic()

    reporter.soon()
    while not server.reports:
        await asyncio.sleep(0)

    assert time.monotonic() - asked_at < BEGUN_SECONDS - DELAY_SECONDS
    assert [event.task for event in server.reports[0].events] == ["first", "first", "second"]
