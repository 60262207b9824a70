"""What can meet in one batch, or between two servers, and must not hurt anybody (protocol §5, §6, §9; security 12)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from noetl.cluster_host import drained
from noetl.control import rescue
from noetl.control.live import folded
from noetl.control.verify import verify
from noetl.engine import commands as ops
from noetl.engine import events as facts
from noetl.engine.commands import Operation, Report, Work
from noetl.engine.events import Event
from noetl.errors import ResultStoreUnreachable, Unreachable
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE, Member
from tests.integration.servers import Server, serving

pytestmark = pytest.mark.slow

ME, OTHER = Member(worker="me", pool="default"), Member(worker="other", pool="default")
POLL_SECONDS = 5.0
SOON_SECONDS = 0.6  # longer than a server takes to look for jobs
ONE = "workflow: [{step: only, tool: {kind: noop}}]"
UNDONE = """
workflow:
  - step: first
    tool: {kind: noop}
    spec: {policy: {compensation: {tool: {kind: noop}}}}
    next: {arcs: [{step: only}]}
  - {step: only, tool: {kind: noop}}
"""
MENDED = """
workflow:
  - step: only
    tool: {kind: noop}
    next: {arcs: [{step: mend, when: "{{ event.name == 'step.failed' }}"}]}
  - {step: mend, tool: {kind: noop}}
"""
CALLER = "workflow: [{step: only, tool: {kind: playbook, path: races/child}}]"
LARGE = """
executor: {spec: {policy: {limits: {max_payload_bytes: 4096}}}}
workload: {text: x}
workflow:
  - {step: only, tool: {kind: noop}, next: {arcs: [{step: each}]}}
  - step: each
    loop: {in: "{{ [workload.text * 900, workload.text * 900, workload.text * 900] }}", iterator: n}
    tool: {kind: noop}
"""


@pytest.fixture(autouse=True)
def nothing_left(database_url: str) -> None:
    """No job of an earlier test is in the way."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('job')").fetchone() != (None,):
            connection.execute("DELETE FROM job")
            connection.execute("UPDATE execution SET status = 'cancelled', follow_until = NULL, deadline_at = NULL")


async def claimed(server: Server, body: str = ONE, member: Member = ME) -> tuple[int, Work]:
    """A new execution, and the work of its first job."""
    execution_id = await server.start(body)
    [work] = await server.cluster.handing.poll(member, 1, POLL_SECONDS)
    assert work.execution_id == execution_id
    return execution_id, work


def place(work: Work) -> dict[str, Any]:
    return {"ts": 1.0, "run": work.run, "iter": work.iter, "lease": work.lease}


def begun(work: Work) -> list[Event]:
    return [
        facts.StepStarted(**place(work), step=work.step),
        facts.TaskStarted(**place(work), task=work.step, visit=1, attempt=1, kind="noop"),
    ]


def ended(work: Work) -> list[Event]:
    output = {"status": "ok", "data": 7, "ref": None, "error": None, "meta": {}}
    task = {"task": work.step, "visit": 1, "attempt": 1}
    return [
        facts.TaskDone(**place(work), **task, do="continue", output=output),
        facts.StepDone(**place(work), step=work.step, output=output),
    ]


def parked(work: Work, **waits: Any) -> list[Event]:
    return [*begun(work), facts.TaskWaiting(**place(work), task=work.step, visit=1, attempt=1, **waits)]


def report(work: Work, n: int, events: list[Event]) -> Report:
    return Report(execution_id=work.execution_id, run=work.run, iter=work.iter, lease=work.lease, n=n, events=events)


async def in_one_batch(server: Server, *operations: Operation) -> list[Any]:
    """Nothing is decided before all are asked: there is nowhere to wait in between."""
    answers = [server.cluster.pumps.submit(one) for one in operations]
    return await asyncio.gather(*answers, return_exceptions=True)


async def finish(server: Server, work: Work) -> str:
    return await server.cluster.service.report(ME, report(work, 1, [*begun(work), *ended(work)]))


async def assert_sound(server: Server, execution_id: int) -> None:
    found = await verify(server.store, execution_id)
    assert found["is_equal"], [check for check in found["checks"] if not check["ok"]]


def fails_once(call: Callable[..., Awaitable[Any]], error: Exception) -> Callable[..., Awaitable[Any]]:
    left = [error]

    async def called(*asked: Any) -> Any:
        if left:
            raise left.pop()
        return await call(*asked)

    return called


# --- in one batch ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("RO-03")
async def test_a_report_counts_though_the_one_before_it_comes_late_again_in_the_same_batch(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, work = await claimed(server)
        first, last = report(work, 1, begun(work)), report(work, 2, ended(work))
        await in_one_batch(server, first)

        words = await in_one_batch(server, first, last)

        assert words == [DUPLICATE, ACCEPTED]
        assert (await server.ended(execution_id)).status == "success"
        await assert_sound(server, execution_id)


@pytest.mark.spec("RT-05", "ST-12")
async def test_a_report_of_a_job_that_a_cancel_ended_in_the_same_batch_is_stale_and_no_incident(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, first = await claimed(server, UNDONE)
        await finish(server, first)
        [second] = await server.cluster.handing.poll(ME, 1, POLL_SECONDS)
        whole = report(second, 1, [*begun(second), *ended(second)])

        words = await in_one_batch(server, ops.Cancel(execution_id=execution_id), whole)

        [undo] = await server.cluster.handing.poll(ME, 1, POLL_SECONDS)
        assert words == [ACCEPTED, STALE]
        assert undo.compensates == first.run
        assert [job.key for job in await server.store.jobs(execution_id)] == [undo.key]


@pytest.mark.spec("RO-03", "ST-07")
async def test_a_report_after_the_end_of_its_step_in_the_same_batch_is_stale(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, work = await claimed(server, MENDED)
        over = ops.Expire(execution_id=execution_id, run=work.run, message="its time is over")

        words = await in_one_batch(server, over, report(work, 1, [*begun(work), *ended(work)]))

        [mend] = await server.cluster.handing.poll(ME, 1, POLL_SECONDS)
        assert words == [ACCEPTED, STALE]
        assert (mend.step, await finish(server, mend)) == ("mend", ACCEPTED)
        assert (await server.ended(execution_id)).status == "success"
        await assert_sound(server, execution_id)


async def test_an_execution_that_is_taken_up_and_cancelled_in_one_batch_leaves_no_job(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, _ = await claimed(server)

        await in_one_batch(server, ops.Recover(execution_id=execution_id), ops.Cancel(execution_id=execution_id))

        assert (await server.ended(execution_id)).status == "cancelled"
        assert await server.store.jobs(execution_id) == []


async def test_a_job_that_is_parked_when_its_execution_is_taken_up_waits_as_long_as_it_said(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, work = await claimed(server)
        until = server.cluster.clock.now() + 1000

        await in_one_batch(server, ops.Recover(execution_id=execution_id), report(work, 1, parked(work, until=until)))

        [job] = await server.store.jobs(execution_id)
        assert job.ready_at == pytest.approx(until, rel=0, abs=1.0)


@pytest.mark.spec("TL-04")
async def test_a_caller_that_parks_and_is_taken_up_in_one_batch_has_one_child(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        await server.register(ONE, "races/child")
        execution_id, work = await claimed(server, CALLER)
        key = f"{execution_id}:{work.run}:{work.iter}:only:1.0"
        waiting = parked(work, child={"path": "races/child", "payload": {}, "key": key})

        words = await in_one_batch(server, report(work, 1, waiting), ops.Recover(execution_id=execution_id))

        [child] = await server.store.children(execution_id)
        [job] = await server.store.jobs(execution_id)
        assert words == [ACCEPTED, ACCEPTED]
        assert (child.status, job.child_key) == ("running", key)


# --- who gets what ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("RO-03")
async def test_what_is_at_work_is_not_handed_out_again_when_its_execution_is_taken_up(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, work = await claimed(server)
        waiting = asyncio.create_task(server.cluster.handing.poll(OTHER, 1, SOON_SECONDS))
        await asyncio.sleep(0)

        await server.desk.resume(execution_id)

        assert await waiting == []
        assert await finish(server, work) == ACCEPTED


async def test_a_worker_reports_only_under_leases_that_it_got(database_url: str, tmp_path: Path) -> None:
    async with (
        serving(database_url, tmp_path, "one", is_working=False) as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        execution_id, work = await claimed(one)
        whole = report(work, 1, [*begun(work), *ended(work)])

        words = [await server.cluster.service.report(OTHER, whole) for server in (one, two)]

        assert words == [STALE, STALE]
        assert await two.cluster.service.report(ME, whole) == ACCEPTED
        assert (await one.ended(execution_id)).status == "success"


async def test_a_job_that_cannot_be_read_keeps_no_other_from_being_handed_out(
    database_url: str, tmp_path: Path
) -> None:
    async with (
        serving(database_url, tmp_path, "one", is_working=False) as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        broken, whole = await one.start(ONE), await one.start(ONE)
        rebuilt = two.cluster.executions.rebuilt

        async def fails(execution_id: int, further: list[Event]) -> Any:
            if execution_id == broken:
                raise ZeroDivisionError
            return await rebuilt(execution_id, further)

        two.cluster.executions.rebuilt = fails  # type: ignore[method-assign]

        works = [await two.cluster.handing.poll(ME, 2, POLL_SECONDS)]
        again = await one.start(ONE)
        works.append(await two.cluster.handing.poll(ME, 2, POLL_SECONDS))

        assert [[work.execution_id for work in found] for found in works] == [[whole], [again]]


async def test_a_poll_that_comes_as_a_job_gets_ready_does_not_wait(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        for _ in range(5):
            _, first = await claimed(server, UNDONE)
            await in_one_batch(server, report(first, 1, [*begun(first), *ended(first)]))

            [second] = await server.cluster.handing.poll(ME, 1, SOON_SECONDS)

            assert (second.execution_id, second.step) == (first.execution_id, "only")


# --- what passes -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("TL-04")
async def test_a_store_that_is_away_while_a_child_is_looked_for_makes_no_incident(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path) as server:
        await server.register(ONE, "races/child")
        away = Unreachable("away")
        server.store.execution_by_parent = fails_once(server.store.execution_by_parent, away)  # type: ignore[method-assign]

        execution_id = await server.start(CALLER)

        assert (await server.ended(execution_id)).status == "success"


async def test_a_place_of_results_that_is_away_makes_no_incident(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, work = await claimed(server, LARGE)
        away = ResultStoreUnreachable("files", "away")
        server.cluster.results.store = fails_once(server.cluster.results.store, away)  # type: ignore[method-assign]

        with pytest.raises(ResultStoreUnreachable):
            await finish(server, work)
        word = await finish(server, work)

        assert word == ACCEPTED
        assert (await folded(server.store, execution_id)).status == "running"


async def test_whoever_watches_with_a_fault_hurts_no_execution(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path) as server:

        def fails(*_: Any) -> None:
            raise ZeroDivisionError

        for pump in server.cluster.pumps.pumps:
            pump.observer = fails

        execution_id = await server.start(UNDONE)

        assert (await server.ended(execution_id)).status == "success"


async def test_a_batch_that_failed_is_forgotten_before_anything_else(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, work = await claimed(server)
        transaction = server.cluster.pumps.of(execution_id).sitting.transaction  # type: ignore[attr-defined]
        rollback, found = transaction.rollback, []

        async def looks() -> None:
            found.append(server.cluster.executions.known(execution_id))
            await rollback()

        transaction.commit_foreseen = fails_once(transaction.commit_foreseen, Unreachable("away"))
        transaction.rollback = looks

        with pytest.raises(Unreachable):
            await finish(server, work)

        assert found[-1] is None  # the first time was before the batch


# --- what follows ----------------------------------------------------------------------------------------------------


async def follow_marks(server: Server) -> list[int]:
    """The executions that somebody said they would follow up."""
    await server.store._connections.change(b"UPDATE execution SET follow_until = 1 WHERE follow_until IS NOT NULL")
    return [row.id for row in await server.store.abandoned(1000)]


@pytest.mark.spec("TL-04")
async def test_what_could_not_be_followed_up_stays_marked_for_others(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path) as server:
        await server.register(ONE, "races/child")

        async def fails(_told: Any) -> Any:
            raise ZeroDivisionError

        server.cluster.following._across[ops.ParentTold] = fails
        execution_id = await server.start(CALLER)
        await server.until(lambda: _has_ended_child(server, execution_id))
        [child] = await server.store.children(execution_id)

        await server.cluster.rescue.tell_follow_ups()

        assert child.id in await follow_marks(server)


async def _has_ended_child(server: Server, execution_id: int) -> bool:
    rows = await server.store.children(execution_id)
    return any(child.ended_at for child in rows) and not server.cluster.insistent.under_way


async def test_a_server_that_cannot_say_what_it_is_through_with_says_it_later(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        rescuer, store = server.cluster.rescue, server.store
        execution_id = await server.start(ONE)
        await store.following([execution_id], server.cluster.clock.now())
        rescuer.pump.done.add(execution_id)
        store.followed = fails_once(store.followed, Unreachable("away"))  # type: ignore[method-assign]

        with pytest.raises(Unreachable):
            await rescuer.tell_follow_ups()
        await rescuer.tell_follow_ups()

        assert execution_id not in await follow_marks(server)


@pytest.mark.spec("RO-03")
async def test_a_server_that_drains_leaves_nothing_to_be_taken_over(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path) as server:
        await server.register(ONE, "races/child")
        execution_id = await server.start(CALLER)
        await server.until(lambda: _has_child(server, execution_id))

        await drained(server.cluster)

        [child] = await server.store.children(execution_id)
        assert child.id not in await follow_marks(server)


async def _has_child(server: Server, execution_id: int) -> bool:
    return any(child.ended_at for child in await server.store.children(execution_id))


@pytest.mark.spec("TL-04")
async def test_a_caller_whose_child_ended_unheard_and_unmarked_is_told_at_last(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue, "STRANDED_SECONDS", 0.0)
    async with serving(database_url, tmp_path) as server:
        await server.register(ONE, "races/child")
        monkeypatch.setattr(server.cluster.following, "_across", {})  # nobody is told
        execution_id = await server.start(CALLER)
        await server.until(lambda: _has_ended_child(server, execution_id))
        [child] = await server.store.children(execution_id)
        await server.store.followed([child.id], server.cluster.clock.now() + 1000)

        await server.cluster.rescue._stranded()

        assert (await server.ended(execution_id)).status == "success"


async def test_an_execution_that_cannot_be_read_keeps_no_other_from_its_deadline(
    database_url: str, tmp_path: Path
) -> None:
    body = """
    workflow:
      - {step: only, spec: {policy: {lifecycle: {deadline_s: 0.2}}}, tool: {kind: noop}}
    """
    async with serving(database_url, tmp_path, is_working=False) as server:
        settled = server.cluster.rescue.settled
        broken, whole = await server.start(body), await server.start(body)

        async def fails(ids: Any, use: Any) -> None:
            if broken in ids:
                raise ZeroDivisionError
            await settled(ids, use)

        server.cluster.rescue.settled = fails

        assert (await server.ended(whole)).status == "failed"


@pytest.mark.spec("LP-08")
async def test_a_loop_goes_on_though_its_execution_left_memory_before_its_list_was_stored(
    database_url: str, tmp_path: Path
) -> None:
    body = """
    executor: {spec: {policy: {limits: {max_payload_bytes: 4096}}}}
    workflow:
      - step: each
        loop: {in: "{{ range(12) }}", iterator: n, spec: {mode: parallel}}
        tool: {kind: shell, command: "printf '%0700d' 7"}
    """
    async with serving(database_url, tmp_path) as server:
        after = server.cluster.following.after

        def forgets(changes: list[ops.Change]) -> None:
            after(changes)
            for change in changes:
                if isinstance(change, ops.ListWanted):
                    server.cluster.executions.forget(change.execution_id)

        follower = server.cluster.pumps.pumps[0].follower
        assert follower is not None
        server.cluster.pumps.follow_with(msgspec.structs.replace(follower, after=forgets))

        execution_id = await server.start(body)

        assert (await server.ended(execution_id)).status == "success"
        assert (await folded(server.store, execution_id)).status == "success"


# --- memory ----------------------------------------------------------------------------------------------------------


async def test_a_batch_goes_on_with_a_state_that_others_dropped_from_memory_meanwhile(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, is_working=False) as server:
        execution_id, work = await claimed(server)
        follower = server.cluster.pumps.pumps[0].follower
        assert follower is not None

        async def drops(change: ops.Change) -> list[Operation]:
            server.cluster.executions.forget(execution_id)
            return await follower.within(change)

        server.cluster.pumps.follow_with(msgspec.structs.replace(follower, within=drops))
        over = ops.Expire(execution_id=execution_id, run=work.run, message="its time is over")

        await in_one_batch(server, ops.Recover(execution_id=execution_id), over)

        assert (await server.ended(execution_id)).status == "failed"
        await assert_sound(server, execution_id)
