"""Who does what: the server decides and records, the worker runs pipelines and reports (RO-01 … RO-03)."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import noetl
from noetl.engine import events as facts
from noetl.engine.effects import pending
from noetl.queues.memory import MemoryQueue
from tests.control.parts import begin, log_of, opened, run
from tests.engine.books import engine

SOURCE = Path(noetl.__file__).parent
LOADED = "import sys, {module}; print(*sorted(name for name in sys.modules if name.startswith('noetl.')))"


def loaded_by(module):
    """The modules of the package that importing one brings in."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(module=module)], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def imports_of(module):
    tree = ast.parse((SOURCE / module).read_text())
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.spec("RO-01", "RO-02")
def test_a_worker_needs_no_log_no_control_and_no_server():
    found = loaded_by("noetl.worker")

    rooms = {name.split(".")[1] for name in found}
    assert "runner" in rooms
    assert rooms.isdisjoint({"stores", "control", "api", "server", "embedded", "cli"})


@pytest.mark.spec("RO-01")
def test_a_worker_listens_to_nobody():
    modules = [SOURCE / "worker.py", *(SOURCE / "runner").glob("*.py")]

    names = {name for module in modules for name in imports_of(module.relative_to(SOURCE))}
    words = " ".join(module.read_text() for module in modules)
    assert not {name for name in names if name.split(".")[0] in ("starlette", "uvicorn", "http", "socketserver")}
    assert "start_server" not in words


@pytest.mark.spec("RO-01", "RO-02")
def test_only_the_pump_appends_to_a_log():
    callers = [
        module.relative_to(SOURCE).as_posix()
        for module in SOURCE.rglob("*.py")
        if "store.commit(" in module.read_text() and "testing" not in module.parts
    ]

    keeps_finished_records = "control/importing.py"  # under a new id, in one commit; nothing follows from it
    assert sorted(callers) == [keeps_finished_records, "control/sitting.py"]


@pytest.mark.spec("RO-02", "RT-07", "EV-04")
async def test_what_a_worker_reports_is_what_it_did_and_everything_else_is_the_servers(tmp_path):
    body = """
        workflow:
          - {step: start, tool: {kind: noop}, next: {arcs: [{step: each}]}}
          - {step: each, loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}, tool: {kind: noop}}
    """
    async with opened(tmp_path) as parts:
        log = await log_of(parts, await run(parts, body))

    of_worker = {facts.NAMES[type(event)] for event in log if event.lease}
    of_server = {facts.NAMES[type(event)] for event in log if not event.lease}
    assert of_worker == {"step.started", "task.started", "task.done", "step.done", "loop.iteration.done"}
    assert {"step.scheduled", "next.evaluated", "loop.started", "loop.iteration.started", "loop.done"} <= of_server


@pytest.mark.spec("ST-09", "RO-03")
async def test_every_event_of_a_job_carries_the_lease_it_was_reported_under(tmp_path):
    async with opened(tmp_path, is_working=False) as parts:
        execution_id = await begin(parts, "workflow: [{step: start, tool: {kind: noop}}]")
        [work] = await parts.dispatch.poll("a", 1)
        parts.queue.expire(parts.clock.monotonic() + 1000)
        parts.work()
        await parts.until_quiet(execution_id)

        leases = {event.lease for event in await log_of(parts, execution_id) if event.lease}
        assert len(leases) == 1
        assert work.lease not in leases


# --- the queue is a projection of the log ----------------------------------------------------------------------------

MIXED = """
    workflow:
      - step: start
        tool: {kind: noop}
        next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: each}, {step: slow}, {step: near}]}
      - {step: call, tool: {kind: playbook, path: other}}
      - step: each
        loop: {in: [1, 2, 3, 4], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
        tool: {kind: noop}
      - {step: near, loop: {in: [1, 2], iterator: n, spec: {exec: local}}, tool: {kind: noop}}
      - {step: slow, spec: {priority: -3, pool: big}, tool: {kind: noop}}
"""


def jobs_of(queue):
    """What a queue hands out: of no pool, then of all the others."""
    near = [claim.key for claim in queue.claim("a", 100, 1e9, pool="")]
    return sorted(near), sorted(claim.key for claim in queue.claim("b", 100, 1e9))


@pytest.mark.spec("EV-05")
@pytest.mark.parametrize("jobs", range(8))
def test_a_queue_rebuilt_from_the_log_has_the_jobs_that_the_live_one_has(jobs):
    made = engine(MIXED)
    made.start()
    for _ in range(jobs):
        if made.ready():
            made.run_job(*made.ready()[0])
    live, rebuilt = MemoryQueue(1), MemoryQueue(2)

    live.change(made.changes, 0.0)
    rebuilt.change(pending(made.state), 0.0)

    assert rebuilt.is_idle == live.is_idle
    assert rebuilt.next_at() == live.next_at()
    assert jobs_of(rebuilt) == jobs_of(live)
