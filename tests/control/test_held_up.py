"""Executions that wait for each other: time that runs out, incidents below, faults on the way, being taken up again."""

import asyncio

import pytest

from noetl import running
from noetl.control.requests import RunRequest
from noetl.engine import commands as ops
from noetl.engine.events import ChildDone, EngineError, ExecutionRecovered
from noetl.errors import UnknownExecution
from noetl.queues.contract import ACCEPTED, STALE
from noetl.references import reference_of
from noetl.stores.contract import INCIDENT
from tests.control.parts import begin, log_of, opened, run, state_of, text_of

GATED = """
    workflow:
      - step: gate
        spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                       {else: {then: {allow: false}}}]}}}
        tool: {kind: noop, input: {through: true}}
"""
CALLER = "workflow: [{step: call, tool: {kind: playbook, path: gated}}]"
TIMED = """
    workflow:
      - step: call
        tool: {kind: playbook, path: gated, spec: {timeout: 0.2}}
        next: {arcs: [{step: mend, when: "{{ output.error.kind == 'timeout' and output.error.retryable }}"}]}
      - {step: mend, tool: {kind: noop, input: {mended: true}}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "gated.yaml").write_bytes(text_of(GATED, "gated"))
    return tmp_path


async def fail_the_engine(parts, execution_id):
    """An incident of one execution, as a fault of ours makes it."""
    assert await parts.intake.submit(ops.Incident(execution_id=execution_id, message="a fault")) == ACCEPTED


# --- stored lists ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("LP-02", "LP-10")
async def test_a_parallel_loop_with_an_inner_loop_runs_over_a_stored_list(tmp_path):
    body = """
        workflow:
          - step: make
            tool: {kind: python, code: "return [{'id': n, 'pad': 'p' * 3000, 'pages': [1, 2]} for n in range(40)]"}
            next: {arcs: [{step: use}]}
          - step: use
            loop:
              in: "{{ output.ref }}"
              iterator: row
              spec: {mode: parallel, max_in_flight: 8}
              loop: {in: "{{ iter.row.pages }}", iterator: page}
            tool: {kind: noop, input: {id: "{{ iter.parent.row.id }}", page: "{{ iter.page }}"}}
    """
    async with opened(tmp_path) as parts:
        state = await state_of(parts, await run(parts, body))

        assert (state.status, state.incident) == ("success", "")
        assert state.output["data"] == [[{"id": n, "page": page} for page in (1, 2)] for n in range(40)]


async def test_two_who_read_one_list_at_once_get_each_their_element(tmp_path):
    body = """
        workflow:
          - {step: make, tool: {kind: python, code: "return [{'n': n, 'pad': 'p' * 3000} for n in range(40)]"},
             next: {arcs: [{step: end, when: "{{ output.ref != none }}"}]}}
          - {step: end, tool: {kind: noop}}
    """
    async with opened(tmp_path) as parts:
        state = await state_of(parts, await run(parts, body))
        reference = reference_of(state.outputs["make"]["ref"])
        asked = (30, 3, 17, 39)

        found = await asyncio.gather(*(parts.lists.element((1, 1), reference, index) for index in asked))

        assert [one["n"] for one in found] == list(asked)


# --- incidents below -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        ops.Continue(execution_id=1, run=1),
        ops.ElementRead(execution_id=1, run=1, iter=0),
        ops.Collected(execution_id=1, run=1, ref={}),
        ops.Expire(execution_id=1, run=1),
        ops.ChildEnded(execution_id=1, run=1, iter=-1, task="call_task", key="1:1:-1:call_task:1.0", result="success"),
    ],
    ids=lambda asked: type(asked).__name__,
)
async def test_an_incident_is_changed_by_nothing_but_people_and_being_taken_up(folder, asked):
    async with opened(folder) as parts:
        parent = await run(parts, CALLER, folder=str(folder))
        await fail_the_engine(parts, parent)
        before = await log_of(parts, parent)

        word = await parts.intake.submit(asked)

        assert (parent, word) == (1, STALE)
        assert await log_of(parts, parent) == before


@pytest.mark.spec("TL-04")
async def test_a_child_that_ended_during_an_incident_of_its_caller_is_asked_again(folder):
    async with opened(folder) as parts:
        parent = await run(parts, CALLER, folder=str(folder))
        [child] = await parts.store.children(parent)
        await fail_the_engine(parts, parent)
        await parts.desk.signal(child.id, {"ctx.go": True})
        while (await parts.store.execution(child.id)).status != "success":
            await asyncio.sleep(0.01)

        await parts.resume(parent)
        await parts.until_quiet(parent)

        assert (await state_of(parts, parent)).status == "success"


@pytest.mark.spec("TL-04")
async def test_a_caller_whose_child_is_in_an_incident_says_so(folder):
    async with opened(folder) as parts:
        parent = await run(parts, CALLER, folder=str(folder))
        [child] = await parts.store.children(parent)
        await fail_the_engine(parts, child.id)

        await parts.until_quiet(parent)

        found = running.held_up(parts, parent)
        assert found["status"] == INCIDENT
        assert found["error"]["message"] == f"child execution {child.id} (gated): a fault"
        assert parts.incident_below(child.id) is None


# --- faults on the way -----------------------------------------------------------------------------------------------


@pytest.mark.spec("TL-04")
@pytest.mark.parametrize(
    ("called", "message"),
    [
        (f"path: {'x' * 300}", "cannot be read: File name too long"),
        (f"path: gated, version: {'9' * 30}", f'no playbook "gated@{"9" * 30}"'),
    ],
    ids=["path", "version"],
)
async def test_a_child_with_an_impossible_name_fails_the_task(folder, called, message):
    async with opened(folder) as parts:
        state = await state_of(parts, await run(parts, CALLER.replace("path: gated", called), folder=str(folder)))

        assert (state.status, state.error["kind"]) == ("failed", "child_failed")
        assert message in state.error["message"]


async def test_a_fault_while_following_is_an_incident_of_that_execution_alone(folder):
    async with opened(folder) as parts:
        parts.following.new_id = refuse

        parent = await run(parts, CALLER, folder=str(folder))
        other = await run(parts, "workflow: [{step: a, tool: {kind: noop}}]")

        states = [await state_of(parts, execution_id) for execution_id in (parent, other)]
        assert [state.status for state in states] == [INCIDENT, "success"]
        assert states[0].incident == "ZeroDivisionError (ChildWanted)"


async def refuse():
    raise ZeroDivisionError


async def test_what_is_asked_of_an_execution_that_cannot_be_loaded_fails_alone(folder):
    async with opened(folder) as parts:
        with pytest.raises(UnknownExecution):
            await parts.intake.submit(ops.Recover(execution_id=77))

        state = await state_of(parts, await run(parts, "workflow: [{step: a, tool: {kind: noop}}]"))
        assert state.status == "success"


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TL-04", "TK-17")
async def test_a_child_over_its_callers_time_is_cancelled_and_the_task_has_timed_out(folder):
    async with opened(folder) as parts:
        parent = await run(parts, TIMED, folder=str(folder))

        state, [child] = await state_of(parts, parent), await parts.store.children(parent)
        assert (state.status, state.output["data"], child.status) == ("success", {"mended": True}, "cancelled")
        [done] = [event for event in await log_of(parts, parent) if isinstance(event, ChildDone)]
        assert done.result == "timeout"


@pytest.mark.spec("TL-04", "EV-06")
async def test_the_time_for_a_child_runs_on_while_no_process_does(folder):
    async with opened(folder) as parts:
        parent = await begin(parts, TIMED, folder=str(folder))
        while not await parts.store.children(parent):
            await asyncio.sleep(0.01)

    async with opened(folder) as parts:
        await parts.resume(parent)
        await parts.until_quiet(parent)

        assert (await state_of(parts, parent)).output["data"] == {"mended": True}
        assert (await parts.store.children(parent))[0].status == "cancelled"


@pytest.mark.spec("ST-07")
async def test_a_run_is_not_quiet_while_a_deadline_is_still_to_come(folder):
    body = CALLER.replace("step: call,", "step: call, spec: {policy: {lifecycle: {deadline_s: 0.3}}},")
    async with opened(folder) as parts:
        state = await state_of(parts, await run(parts, body, folder=str(folder)))

        assert (state.status, state.error["kind"]) == ("failed", "timeout")


@pytest.mark.spec("ST-07")
async def test_a_deadline_of_a_step_that_has_ended_keeps_no_run_waiting(folder):
    body = """
        workflow:
          - step: start
            spec: {policy: {lifecycle: {deadline_s: 3600}}}
            tool: {kind: noop}
            next: {arcs: [{step: call}]}
          - {step: call, tool: {kind: playbook, path: gated}}
    """
    async with opened(folder) as parts:
        parent = await asyncio.wait_for(run(parts, body, folder=str(folder)), 20)

        assert (await state_of(parts, parent)).status == "running"


async def test_a_timer_of_an_execution_that_is_not_in_memory_is_stale(folder):
    async with opened(folder) as parts:
        execution_id = await run(parts, GATED)
        parts.executions.forget(execution_id)

        word = await parts.intake.submit(ops.Expire(execution_id=execution_id, run=1))

        assert (word, parts.executions.known(execution_id)) == (STALE, None)


# --- being taken up again --------------------------------------------------------------------------------------------


@pytest.mark.spec("EV-06")
@pytest.mark.parametrize("body", [GATED, CALLER], ids=["signal", "child"])
async def test_what_only_waits_may_be_taken_up_any_number_of_times(folder, body):
    async with opened(folder) as parts:
        execution_id = await run(parts, body, folder=str(folder))
        for _ in range(7):
            await parts.resume(execution_id)
            await parts.until_quiet(execution_id)

        log = await log_of(parts, execution_id)
        assert sum(isinstance(event, ExecutionRecovered) for event in log) == 7
        assert not any(isinstance(event, EngineError) for event in log)


@pytest.mark.spec("TL-04", "EV-06")
async def test_a_child_whose_caller_has_ended_is_taken_up_itself(folder):
    async with opened(folder) as parts:
        ended = await run(parts, "workflow: [{step: a, tool: {kind: noop}}]")
        entry = await parts.desk.register(RunRequest(data=text_of(GATED, "gated"), name="gated.yaml"))
        orphan = ops.Start(
            execution_id=await parts.numbering.new_id(),
            path=entry.path,
            version=entry.version,
            sha=entry.sha,
            parent_execution_id=ended,
            parent_key=f"{ended}:1:-1:a_task:1.0",
        )
        await parts.intake.submit(orphan)

        await parts.resume(orphan.execution_id)

        assert isinstance((await log_of(parts, orphan.execution_id))[-1], ExecutionRecovered)
