"""What holds for every transport. An implementation proves it with one class in its tests:

    class TestMyTransport(TransportSuite):
        @asynccontextmanager
        async def opened(self, office: Office) -> AsyncIterator[Connect]:
            async def connect(profile: Profile, token: str, clock: Clock) -> WorkerTransport:
                return MyTransport(…)

            yield connect

`opened` puts an office (`noetl.testing.office`) behind the transport and gives a way to make transports to it.
`pytest.register_assert_rewrite("noetl.testing.transport_suite")` in a conftest.py gives full messages.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import msgspec
import pytest
import pytest_asyncio

from noetl.engine.commands import Around, Key, Report, Work
from noetl.engine.events import Event, Patch, StepDone, StepStarted, TaskDone
from noetl.engine.state import Progress
from noetl.errors import Forbidden, Unauthenticated, Unreachable
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE, PlaybookText, Profile, Transport
from noetl.testing.clocks import ShiftedClock
from noetl.testing.office import TOKEN, Office, a_profile, a_work

MEBIBYTE = 1024 * 1024


class WorkerTransport(Transport, Protocol):
    """A transport and what else a worker asks."""

    async def enrol(self) -> None: ...

    async def playbook(self, sha: str) -> PlaybookText: ...

    async def credential(self, key: Key, lease: int, name: str) -> dict[str, Any]: ...

    async def leave(self) -> None: ...


Connect = Callable[[Profile, str, ShiftedClock], Awaitable[WorkerTransport]]


def report_of(work: Work, n: int = 1, events: list[Event] | None = None) -> Report:
    execution_id, run, index = work.key
    return Report(
        execution_id=execution_id, run=run, iter=index, lease=work.lease, n=n, events=events or [started(work)]
    )


def started(work: Work) -> Event:
    return StepStarted(ts=1.5, run=work.run, iter=work.iter, lease=work.lease, step=work.step)


def done(work: Work) -> Event:
    return StepDone(ts=2.5, run=work.run, iter=work.iter, lease=work.lease, step=work.step, output={"status": "ok"})


class TransportSuite:
    """The behaviour of a transport; see the module for how to use it."""

    def opened(self, office: Office) -> AbstractAsyncContextManager[Connect]:
        raise NotImplementedError

    @pytest_asyncio.fixture
    async def office(self) -> Office:
        return Office()

    @pytest.fixture
    def clock(self) -> ShiftedClock:
        return ShiftedClock()

    @pytest_asyncio.fixture
    async def connect(self, office: Office) -> AsyncIterator[Connect]:
        async with self.opened(office) as connect:
            yield connect

    @pytest_asyncio.fixture
    async def transport(self, connect: Connect, clock: ShiftedClock) -> WorkerTransport:
        return await connect(a_profile(), TOKEN, clock)

    # --- handing out -------------------------------------------------------------------------------------------------

    async def test_a_job_arrives_as_it_was_sent(self, office: Office, transport: WorkerTransport) -> None:
        progress = Progress(
            ctx={"a": {"b": [1, 2.5, None, "ü", True]}},
            iter={"page": 3},
            label="fetch",
            visits={"fetch": 2},
            outputs={"fetch": {"status": "ok", "data": [1]}},
            held=[Patch("ctx.a", 1)],
            ready_at=12.25,
            is_open=True,
        )
        sent = Work(
            execution_id=2**53 + 1,
            run=3,
            iter=17,
            lease=2**62 + 5,
            step="load",
            sha="abc",
            folder="/playbooks",
            workload={"n": 1},
            run_ctx={"x": 1},
            args={"y": [2]},
            carried={"status": "ok"},
            around=[Around(iterator="page", index=17, total=20, element={"id": 9})],
            steps={"first": {"status": "ok", "data": None}},
            progress=progress,
            is_held=True,
            compensates=2,
            undone={"status": "ok"},
            planned=[[{"step": "more"}]],
            is_started=True,
            trace_id="4bf92f",
        )
        await office.add(sent)

        assert await transport.poll("w", 5) == [sent]

    async def test_a_waiting_poll_gets_a_job_as_soon_as_there_is_one(
        self, office: Office, transport: WorkerTransport
    ) -> None:
        polling = asyncio.create_task(transport.poll("w", 1))
        while not office.asked["poll"]:
            await asyncio.sleep(0)

        await office.add(a_work())

        assert [work.run for work in await polling] == [1]

    async def test_a_poll_is_empty_when_the_wait_is_over(self, office: Office, transport: WorkerTransport) -> None:
        office.wait_seconds_max = 0.01

        assert await transport.poll("w", 5) == []

    async def test_no_more_arrives_than_is_free(self, office: Office, transport: WorkerTransport) -> None:
        await office.add(*(a_work(number) for number in range(5)))

        first, rest = await transport.poll("w", 2), await transport.poll("w", 1000)

        assert [work.run for work in first] == [0, 1]
        assert [work.run for work in rest] == [2, 3, 4]

    @pytest.mark.spec("RO-03")
    async def test_a_worker_gets_jobs_of_its_own_pool_only(
        self, office: Office, connect: Connect, clock: ShiftedClock
    ) -> None:
        small = await connect(a_profile("small-1"), TOKEN, clock)
        big = await connect(a_profile("big-1", pool="big"), TOKEN, clock)
        await office.add(a_work(1), pool="big")
        await office.add(a_work(2), pool="default")

        assert [work.run for work in await small.poll("big-1", 9)] == [2]
        assert [work.run for work in await big.poll("small-1", 9)] == [1]

    @pytest.mark.parametrize(("count", "size"), [(5, 400 * 1024), (1, 5 * MEBIBYTE), (40, 200 * 1024)])
    async def test_large_jobs_arrive_whole(
        self, office: Office, transport: WorkerTransport, count: int, size: int
    ) -> None:
        sent = [a_work(number, size=size, lease=number + 1) for number in range(count)]
        await office.add(*sent)

        assert await transport.poll("w", 100) == sent

    # --- reports -----------------------------------------------------------------------------------------------------

    async def test_a_report_arrives_as_it_was_sent(self, office: Office, transport: WorkerTransport) -> None:
        await office.add(a_work(index=4))
        [work] = await transport.poll("w", 1)
        at: dict[str, Any] = {"ts": 3.25, "run": work.run, "iter": 4, "lease": work.lease}
        task = TaskDone(
            **at, task="fetch", visit=2, attempt=3, do="jump", to="save", output={"data": {"ü": [1, None]}},
            patches=[Patch("ctx.a.b", {"x": 1}), Patch("iter.page", None)], held=[Patch("ctx.c", [])], logs=["a\nb"],
        )  # fmt: skip
        sent = report_of(work, events=[StepStarted(**at, step="load"), task])

        assert await transport.report(sent) == ACCEPTED
        assert office.reports == [("host-1-abc", sent)]

    @pytest.mark.spec("RO-03")
    async def test_a_report_counts_once_and_under_its_lease_only(
        self, office: Office, transport: WorkerTransport
    ) -> None:
        await office.add(a_work())
        [work] = await transport.poll("w", 1)
        other = msgspec.structs.replace(work, lease=work.lease + 99)

        words = [
            await transport.report(report_of(work, 1)),
            await transport.report(report_of(work, 1)),
            await transport.report(report_of(other, 2)),
            await transport.report(report_of(work, 2, [done(work)])),
            await transport.report(report_of(work, 2, [done(work)])),
        ]

        assert words == [ACCEPTED, DUPLICATE, STALE, ACCEPTED, DUPLICATE]
        assert [report.n for _, report in office.reports] == [1, 2]

    @pytest.mark.spec("RO-03")
    async def test_a_report_of_a_job_that_another_worker_holds_is_stale(
        self, office: Office, connect: Connect, clock: ShiftedClock
    ) -> None:
        holder, other = (
            await connect(a_profile("holder-1"), TOKEN, clock),
            await connect(a_profile("other-1"), TOKEN, clock),
        )
        await office.add(a_work())
        [work] = await holder.poll("holder-1", 1)

        assert await other.report(report_of(work)) == STALE
        assert not office.reports

    async def test_a_report_is_sent_until_it_is_recorded(self, office: Office, transport: WorkerTransport) -> None:
        await office.add(a_work())
        [work] = await transport.poll("w", 1)
        office.before_commit = [Unreachable("no database"), Unreachable("no database")]

        word = await transport.report(report_of(work))

        assert (word, office.asked["report"], len(office.reports)) == (ACCEPTED, 3, 1)

    async def test_a_report_whose_answer_was_lost_is_recorded_once(
        self, office: Office, transport: WorkerTransport
    ) -> None:
        await office.add(a_work())
        [work] = await transport.poll("w", 1)
        office.after_commit = [Unreachable("whether it stands is not known")]

        word = await transport.report(report_of(work, 1, [done(work)]))

        assert (word, len(office.reports)) == (DUPLICATE, 1)

    # --- leases ------------------------------------------------------------------------------------------------------

    @pytest.mark.spec("RO-03")
    async def test_a_heartbeat_names_what_is_held_no_more(self, office: Office, transport: WorkerTransport) -> None:
        await office.add(a_work(1), a_work(2))
        works = await transport.poll("w", 2)
        del office.leases[works[0].key]

        gone = await transport.heartbeat("w", [(work.key, work.lease) for work in works])

        assert gone == [works[0].key]
        assert await transport.heartbeat("w", []) == []

    async def test_a_heartbeat_may_list_very_many_leases(self, transport: WorkerTransport) -> None:
        keys = [(7, number, -1) for number in range(12_000)]

        assert await transport.heartbeat("w", [(key, 2**62 + key[1]) for key in keys]) == keys

    async def test_what_is_given_back_goes_to_another_worker(
        self, office: Office, connect: Connect, clock: ShiftedClock
    ) -> None:
        first, second = (
            await connect(a_profile("first-1"), TOKEN, clock),
            await connect(a_profile("second-1"), TOKEN, clock),
        )
        await office.add(a_work())
        [work] = await first.poll("first-1", 1)

        await first.release("first-1", [(work.key, work.lease)])
        [again] = await second.poll("second-1", 1)

        assert again.key == work.key
        assert again.lease != work.lease

    # --- playbooks and credentials -----------------------------------------------------------------------------------

    @pytest.mark.parametrize("size", [10, 3 * MEBIBYTE])
    async def test_a_playbook_arrives_as_it_was_registered(
        self, office: Office, transport: WorkerTransport, size: int
    ) -> None:
        text = PlaybookText(data=b"\xff\x00ab" * (size // 4), name="a.yaml", is_legacy=True)
        office.playbooks["5ha"] = text

        assert await transport.playbook("5ha") == text

    async def test_an_unknown_playbook_is_missing_and_says_so(self, transport: WorkerTransport) -> None:
        with pytest.raises(LookupError, match="there is no playbook 5ha"):
            await transport.playbook("5ha")

    @pytest.mark.spec("KC-03")
    async def test_a_worker_that_holds_the_job_gets_a_declared_credential(
        self, office: Office, transport: WorkerTransport
    ) -> None:
        office.credentials["db"] = {"host": "db.local", "port": 5432, "password": "ü-geheim"}
        await office.add(a_work())
        [work] = await transport.poll("w", 1)

        assert await transport.credential(work.key, work.lease, "db") == office.credentials["db"]
        with pytest.raises(LookupError, match='no credential "other"'):
            await transport.credential(work.key, work.lease, "other")
        with pytest.raises(Forbidden, match="not held"):
            await transport.credential(work.key, work.lease + 1, "db")

    # --- who asks ----------------------------------------------------------------------------------------------------

    async def test_a_worker_says_who_it_is_before_anything_else(
        self, office: Office, transport: WorkerTransport
    ) -> None:
        await transport.enrol()
        await asyncio.gather(*(transport.heartbeat("w", []) for _ in range(20)))

        assert [msgspec.structs.replace(one, public_key=b"") for one in office.enrolled] == [a_profile()]

    async def test_many_questions_at_once_are_one_enrolment(self, office: Office, transport: WorkerTransport) -> None:
        await asyncio.gather(*(transport.heartbeat("w", []) for _ in range(50)))

        assert office.asked["enrol"] == 1

    async def test_a_wrong_token_is_refused_and_not_shown(
        self, office: Office, connect: Connect, clock: ShiftedClock
    ) -> None:
        stranger = await connect(a_profile(), "a-wrong-token", clock)

        with pytest.raises(Unauthenticated) as refused:
            await stranger.poll("w", 1)

        assert "a-wrong-token" not in str(refused.value)
        assert not office.enrolled

    async def test_a_token_of_another_pool_is_refused(
        self, office: Office, connect: Connect, clock: ShiftedClock
    ) -> None:
        stranger = await connect(a_profile(pool="secret"), TOKEN, clock)

        with pytest.raises(Forbidden, match="not for pool secret"):
            await stranger.poll("w", 1)

    async def test_a_session_that_the_server_forgot_is_asked_for_again(
        self, office: Office, transport: WorkerTransport
    ) -> None:
        await office.add(a_work())
        [work] = await transport.poll("w", 1)
        office.forget_sessions()

        assert await transport.report(report_of(work)) == ACCEPTED
        assert office.asked["enrol"] == 2

    async def test_a_session_is_renewed_at_half_its_life(
        self, office: Office, transport: WorkerTransport, clock: ShiftedClock
    ) -> None:
        await transport.heartbeat("w", [])
        clock.shift_seconds = 0.4 * office.life_seconds
        await transport.heartbeat("w", [])
        before = office.asked["enrol"]

        clock.shift_seconds = 0.6 * office.life_seconds
        await transport.heartbeat("w", [])

        assert (before, office.asked["enrol"]) == (1, 2)

    async def test_a_worker_that_leaves_is_known_no_more(self, office: Office, transport: WorkerTransport) -> None:
        await transport.heartbeat("w", [])

        await transport.leave()

        assert office.left == ["host-1-abc"]
        assert not office._sessions
