"""Two servers over one PostgreSQL: any of them may take any execution, at any moment (protocol §5, §6, §9)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from noetl.control.live import folded
from noetl.control.verify import verify
from noetl.engine.commands import Report
from noetl.engine.events import NAMES, Event
from noetl.errors import RequestError
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE, Member
from noetl.stores.shared import LEASED
from tests.integration.servers import Server, serving

pytestmark = pytest.mark.slow

LOOP = """
workload: {n: 200}
workflow:
  - step: each
    loop: {in: "{{ range(workload.n) }}", iterator: n, spec: {mode: parallel, max_in_flight: 20}}
    tool: {kind: noop}
    next: {arcs: [{step: after}]}
  - step: after
    tool: {kind: noop}
    set: {ctx.total: "{{ each.loop.done }}"}
"""
SLOW = """
workload: {file: "", seconds: 0.5}
workflow:
  - step: first
    tool: {kind: noop}
    set: {ctx.first: 1}
    next: {arcs: [{step: slow}]}
  - step: slow
    tool:
      - {name: mark, kind: shell, command: "echo mark >> {{ workload.file }}"}
      - {name: wait, kind: shell, command: "sleep {{ workload.seconds }}; echo wait >> {{ workload.file }}"}
    set: {ctx.slow: 1}
"""
CALLER = """
workflow:
  - step: call
    tool: {kind: playbook, path: stored/child}
    set: {ctx.got: "{{ output.data }}"}
"""
CHILD = "workflow: [{step: only, tool: {kind: python, code: return 7}}]"
ENDLESS = "workflow: [{step: only, tool: {kind: shell, command: sleep 600}}]"


async def names_of(server: Server, execution_id: int) -> list[str]:
    return [NAMES[type(event)] for _, event in await server.store.events(execution_id, limit=100_000)]


async def assert_sound(server: Server, execution_id: int) -> None:
    found = await verify(server.store, execution_id)
    assert found["is_equal"], [check for check in found["checks"] if not check["ok"]]


@pytest.mark.spec("RO-02", "LP-04", "EV-05")
async def test_two_servers_and_their_workers_share_one_loop(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, "one") as one, serving(database_url, tmp_path, "two") as two:
        ids = [await server.start(LOOP) for server in (one, two, one, two)]

        rows = [await one.ended(execution_id) for execution_id in ids]

        assert [row.status for row in rows] == ["success"] * 4
        for execution_id in ids:
            assert (await folded(two.store, execution_id)).ctx == {"total": 200}
            await assert_sound(one, execution_id)
        assert await one.store.jobs(ids[0]) == []


@pytest.mark.spec("RO-03")
async def test_a_server_that_dies_is_missed_by_nobody(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its worker goes with it, so the leases of that one must run out first."""
    async with (
        serving(database_url, tmp_path, "one", lease_seconds=1.0) as one,
        serving(database_url, tmp_path, "two", lease_seconds=1.0) as two,
    ):
        ids = [await one.start(LOOP, payload={"n": 1000}) for _ in range(3)]
        await two.until(lambda: _has_begun(two, ids))

        for pump in one.cluster.pumps.pumps:
            await pump.turn.acquire()  # what its worker has got is reported no more
        await two.until(lambda: _has_leases(one, ids))
        await one.die()

        assert [(await two.ended(execution_id)).status for execution_id in ids] == ["success"] * 3
        for execution_id in ids:
            await assert_sound(two, execution_id)
        assert "leases_expired" in [getattr(line, "action", "") for line in caplog.records]


async def _has_begun(server: Server, ids: list[int]) -> bool:
    heads = await server.store.heads(ids)
    return all(head.head > 20 for head in heads.values())


async def _has_leases(server: Server, ids: list[int]) -> bool:
    assert server.worker is not None
    rows = [row for execution_id in ids for row in await server.store.jobs(execution_id)]
    return any((row.state, row.worker) == (LEASED, server.worker.name) for row in rows)


@pytest.mark.spec("RO-03", "TK-12")
async def test_after_a_lost_worker_recorded_tasks_are_not_run_again(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "marks"
    async with (
        serving(database_url, tmp_path, "one", lease_seconds=1.0) as one,
        serving(database_url, tmp_path, "two", is_working=False, lease_seconds=1.0) as two,
    ):
        execution_id = await one.start(SLOW, payload={"file": str(file), "seconds": 30})
        await one.until(lambda: _is_recorded(one, execution_id, "task.done", 2))

        await one.die()
        await two.work()
        await two.until(lambda: _is_claimed_by(two, execution_id, "two-default-"))

        assert file.read_text().split().count("mark") == 1
        await two.desk.cancel(execution_id, "seen enough")
        await assert_sound(two, execution_id)


async def _is_recorded(server: Server, execution_id: int, name: str, count: int) -> bool:
    return (await names_of(server, execution_id)).count(name) >= count


async def _is_claimed_by(server: Server, execution_id: int, worker: str) -> bool:
    return any(job.worker.startswith(worker) and job.state == 1 for job in await server.store.jobs(execution_id))


@pytest.mark.spec("TL-04")
async def test_a_child_on_one_server_wakes_its_caller_on_another(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, "one") as one, serving(database_url, tmp_path, "two") as two:
        await one.register(CHILD, "stored/child")

        ids = [await server.start(CALLER) for server in (one, two) * 5]

        rows = [await one.ended(execution_id) for execution_id in ids]
        assert [row.status for row in rows] == ["success"] * 10
        assert all([(await folded(one.store, row.id)).ctx == {"got": 7} for row in rows])


@pytest.mark.spec("TL-04")
async def test_a_caller_whose_child_ended_unheard_is_told_by_the_next_server(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(database_url, tmp_path, "one") as one:
        await one.register(CHILD, "stored/child")
        monkeypatch.setattr(one.cluster.following, "_across", {})  # it dies before it can tell anybody
        execution_id = await one.start(CALLER)
        await one.until(lambda: _child_has_ended(one, execution_id))
        await one.die()
    async with serving(database_url, tmp_path, "two") as two:
        [child] = await two.store.children(execution_id)
        await two.store.following([child.id], 1.0)  # what it said it would do by then is long past

        row = await two.ended(execution_id)

        assert (row.status, (await folded(two.store, execution_id)).ctx) == ("success", {"got": 7})


async def _child_has_ended(server: Server, execution_id: int) -> bool:
    return any(child.status == "success" for child in await server.store.children(execution_id))


@pytest.mark.spec("TL-04", "RT-05")
async def test_children_of_a_cancelled_caller_are_cancelled(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, "one") as one, serving(database_url, tmp_path, "two") as two:
        await one.register(ENDLESS, "stored/child")
        execution_id = await one.start(CALLER)
        await one.until(lambda: _has_child(one, execution_id))

        await two.desk.cancel(execution_id, "enough")

        [child] = await two.store.children(execution_id)
        assert (await two.ended(child.id)).status == "cancelled"
        assert (await two.ended(execution_id)).status == "cancelled"


async def _has_child(server: Server, execution_id: int) -> bool:
    return bool(await server.store.children(execution_id))


async def test_the_same_request_key_on_two_servers_is_one_execution(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, "one") as one, serving(database_url, tmp_path, "two") as two:
        starts = [server.start(LOOP, request_key="nightly") for server in (one, two) * 10]

        ids = await asyncio.gather(*starts)

        assert len(set(ids)) == 1
        with pytest.raises(RequestError, match="use another key"):
            await two.start(CHILD, request_key="nightly")


@pytest.mark.spec("ST-07")
async def test_a_deadline_is_kept_though_the_server_that_set_it_is_gone(database_url: str, tmp_path: Path) -> None:
    body = """
    workflow:
      - step: slow
        spec: {policy: {lifecycle: {timeout_s: 1.5}}}
        tool: {kind: shell, command: sleep 600}
    """
    async with (
        serving(database_url, tmp_path, "one") as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        execution_id = await one.start(body)
        await one.until(lambda: _is_recorded(one, execution_id, "step.started", 1))

        await one.die()

        row = await two.ended(execution_id)
        error = (await folded(two.store, execution_id)).error or {}
        assert (row.status, error.get("kind")) == ("failed", "timeout")


@pytest.mark.spec("RO-03")
async def test_reports_are_numbered_fenced_and_counted_once_on_any_server(database_url: str, tmp_path: Path) -> None:
    async with (
        serving(database_url, tmp_path, "one", is_working=False) as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
    ):
        execution_id = await one.start(CHILD)
        member = Member(worker="w", pool="default")
        [work] = await one.cluster.handing.poll(member, 1, 5.0)
        events: list[Event] = _whole_job(work)
        report = Report(execution_id=execution_id, run=work.run, iter=work.iter, lease=work.lease, n=1, events=events)

        words = [
            await two.cluster.service.report(member, report),
            await one.cluster.service.report(member, report),
            await two.cluster.service.report(member, _under(report, lease=work.lease + 1)),
        ]

        assert words[0] == ACCEPTED
        assert words[1] in (DUPLICATE, STALE)
        assert words[2] == STALE
        assert (await one.ended(execution_id)).status == "success"
        await assert_sound(one, execution_id)


def _whole_job(work: Any) -> list[Event]:
    from noetl.engine import events as facts

    place = {"ts": 1.0, "run": work.run, "iter": work.iter, "lease": work.lease}
    output = {"status": "ok", "data": 7, "ref": None, "error": None, "meta": {}}
    task = {"task": "only", "visit": 1, "attempt": 1}
    return [
        facts.StepStarted(**place, step="only"),
        facts.TaskStarted(**place, **task, kind="python"),
        facts.TaskDone(**place, **task, do="continue", output=output),
        facts.StepDone(**place, step="only", output=output),
    ]


def _under(report: Report, lease: int) -> Report:
    import msgspec

    return msgspec.structs.replace(report, lease=lease)


async def test_a_job_of_another_pool_waits_for_a_worker_of_that_pool(database_url: str, tmp_path: Path) -> None:
    body = "workflow: [{step: only, spec: {pool: gpu}, tool: {kind: noop}}]"
    async with serving(database_url, tmp_path, "one") as one, serving(database_url, tmp_path, "two") as two:
        execution_id = await one.start(body)
        [waiting] = [row for row in await one.store.pools() if row.pool == "gpu"]

        await two.work("gpu")

        assert (waiting.ready, waiting.leased) == (1, 0)
        assert (await one.ended(execution_id)).status == "success"


@pytest.mark.spec("LP-05")
async def test_a_local_loop_stays_with_one_worker(database_url: str, tmp_path: Path) -> None:
    body = """
    workflow:
      - step: each
        loop: {in: "{{ range(30) }}", iterator: n, spec: {mode: parallel, max_in_flight: 4, policy: {exec: local}}}
        tool: {kind: python, code: return 1}
    """
    async with serving(database_url, tmp_path, "one") as one, serving(database_url, tmp_path, "two") as two:
        execution_id = await one.start(body)

        row = await two.ended(execution_id)

        leases = {event.lease for _, event in await one.store.events(execution_id, limit=10_000) if event.lease}
        given = {**one.cluster.handing._given, **two.cluster.handing._given}
        assert (row.status, len(leases)) == ("success", 30)
        assert len({given[lease] for lease in leases}) == 1
