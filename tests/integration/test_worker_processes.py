"""Workers of a cluster as real processes, over a real NATS (RO-01 to RO-03, protocol §7)."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from noetl.engine.commands import Key
from noetl.queues.contract import Member
from noetl.testing.waiting import until
from tests.integration.worker_stage import Stage, is_alive, staged

pytestmark = pytest.mark.slow

OTHER = Member(worker="other", pool="default")
LEASE_SECONDS = "2"

# Each task writes down that it began, and by which process; the first ends when there is a file `go`.
GATED = """\
workflow:
  - step: start
    tool:
      - {name: first, kind: python, input: {folder: "FOLDER"}, code: &code "CODE"}
      - {name: second, kind: python, input: {folder: "FOLDER", is_free: true}, code: *code}
"""
CODE = (
    "import os, pathlib, time\\n"
    "place = pathlib.Path(input['folder'])\\n"
    "(place / f'ran-{time.time_ns()}').write_text(str(os.getpid()))\\n"
    "while not input.get('is_free') and not (place / 'go').exists(): time.sleep(0.02)\\n"
    "result = 1"
)
SECRET = """\
keychain: [{name: api, kind: bearer}]
workflow:
  - step: start
    tool: {name: one, kind: python, input: {it: "{{ keychain.api.token }}"}, code: "result = len(input['it'])"}
"""
QUICK = "workflow: [{step: start, tool: {name: one, kind: noop}}]\n"


@pytest.fixture
async def stage(nats_url: str, tmp_path: Path):
    async with staged(nats_url, tmp_path) as found:
        yield found


def gated(stage: Stage) -> str:
    return stage.playbook(GATED.replace("FOLDER", str(stage.folder)).replace("CODE", CODE))


def ran(stage: Stage) -> list[int]:
    """The processes of the tasks that began."""
    texts = [file.read_text(encoding="ascii") for file in sorted(stage.folder.glob("ran-*"))]
    return [int(text) for text in texts if text]


def go(stage: Stage) -> None:
    (stage.folder / "go").touch()


@pytest.mark.spec("RO-01", "RO-02")
async def test_on_sigterm_a_worker_finishes_the_task_that_runs_and_gives_the_rest_back(stage: Stage):
    worker = await stage.start("--processes", "1", NOETL_LEASE_SECONDS=LEASE_SECONDS)
    await stage.give(gated(stage))
    await until(lambda: ran(stage))

    worker.send_signal(signal.SIGTERM)
    await until(lambda: "worker_drains" in stage.actions())
    go(stage)
    code = await worker.wait()

    assert code == 0
    assert [event.task for event in stage.events("task.done")] == ["first"]
    assert len(ran(stage)) == 1
    assert len(await stage.office.poll(OTHER, 5, 1.0)) == 1
    assert len(stage.office.left) == 1


@pytest.mark.spec("RO-01", "RO-02")
async def test_a_task_that_does_not_finish_in_time_is_ended_and_its_job_given_back(stage: Stage):
    worker = await stage.start("--processes", "1", "--drain", "0.1")
    await stage.give(gated(stage))
    (tool,) = await until(lambda: ran(stage))

    worker.send_signal(signal.SIGTERM)
    code = await worker.wait()

    assert code == 0
    assert not is_alive(tool)
    assert len(await stage.office.poll(OTHER, 5, 1.0)) == 1


@pytest.mark.spec("RO-01")
async def test_a_process_that_is_killed_is_started_anew_and_its_tools_are_gone(stage: Stage):
    await stage.start("--processes", "2")
    await stage.enrolled(2)
    await stage.give(gated(stage))
    (tool,) = await until(lambda: ran(stage))
    (held,) = stage.office.leases.values()
    victim = next(profile.pid for profile in stage.office.enrolled if profile.worker == held.worker)

    os.kill(victim, signal.SIGKILL)
    await until(lambda: not is_alive(tool))
    await stage.enrolled(3)

    assert "worker_process_died" in stage.actions()
    go(stage)
    await stage.give(stage.playbook(QUICK), 4)

    async def all_done() -> bool:
        await stage.office.lose(held.worker)  # the dead one's poll still stood at the server, and may have got them
        return len(stage.events("step.done")) == 5

    await until(all_done)


@pytest.mark.spec("RO-01")
async def test_no_process_outlives_the_one_that_was_started_and_jobs_go_back_at_once(stage: Stage):
    worker = await stage.start("--processes", "2")
    processes = await stage.enrolled(2)
    await stage.give(gated(stage))
    (tool,) = await until(lambda: ran(stage))

    worker.kill()
    await until(lambda: not any(map(is_alive, (*processes, tool))))

    assert len(await stage.office.poll(OTHER, 5, 1.0)) == 1


@pytest.mark.spec("RO-03")
async def test_a_worker_that_was_stopped_past_its_lease_starts_nothing_and_records_nothing_when_it_goes_on(
    stage: Stage,
):
    await stage.start("--processes", "1", NOETL_LEASE_SECONDS=LEASE_SECONDS)
    (process,) = await stage.enrolled(1)
    await stage.give(gated(stage))
    await until(lambda: ran(stage))
    await until(lambda: stage.office.reports)
    recorded = len(stage.office.reports)
    answer, may_answer = stage.office.heartbeat, asyncio.Event()

    async def answer_late(member: Member, held: list[tuple[Key, int]]) -> list[Key]:
        await may_answer.wait()
        return await answer(member, held)

    os.kill(process, signal.SIGSTOP)
    key = next(iter(stage.office.leases))
    stage.office.leases[key].worker = OTHER.worker  # its lease ran out, and another has the job
    stage.office.heartbeat = answer_late  # type: ignore[method-assign]
    await asyncio.sleep(1.1 * float(LEASE_SECONDS))  # so long it is stopped
    go(stage)
    os.kill(process, signal.SIGCONT)
    await asyncio.sleep(0.5)  # time to begin the second task, if nothing kept it from that
    before = len(ran(stage))
    may_answer.set()

    assert before == 1
    await stage.give(stage.playbook(QUICK))
    await until(lambda: stage.events("step.done"))
    assert len(ran(stage)) == 1
    assert {report.run for _, report in stage.office.reports[recorded:]} == {2}


@pytest.mark.spec("KC-01", "KC-05")
async def test_a_secret_comes_from_the_server_for_the_job_at_hand_and_stays_out_of_the_log(stage: Stage):
    stage.office.credentials["api"] = {"token": "planted-s3cret"}
    await stage.start("--processes", "1")

    await stage.give(stage.playbook(SECRET), 2)
    done = await until(lambda: len(found := stage.events("step.done")) == 2 and found)

    assert [event.output["data"] for event in done] == [len("planted-s3cret")] * 2
    assert stage.office.asked["credential"] == 1
    assert "planted-s3cret" not in (stage.folder / "worker.log").read_text(encoding="utf-8")


async def test_a_token_that_is_not_taken_ends_the_start_with_one_message(stage: Stage):
    stage.office.tokens = {}
    worker = await stage.start("--processes", "2")

    code = await worker.wait()

    assert code == 2
    log = (stage.folder / "worker.log").read_text(encoding="utf-8")
    assert log.count("that token is none of ours") == 1
    assert "Traceback" not in log


async def test_a_worker_waits_for_a_server_that_is_not_there_yet(nats_url: str, tmp_path: Path):
    from noetl.testing.nats_stage import NatsStage

    stage = Stage(NatsStage(nats_url), tmp_path)
    try:
        await stage.start("--processes", "1")
        await until(lambda: (tmp_path / "worker.log").exists() and "worker_waits" in stage.actions())

        await stage.nats.server(stage.office)
        await stage.give(stage.playbook(QUICK))
        await until(lambda: stage.events("step.done"))
    finally:
        await stage.close()
