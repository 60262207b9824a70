"""Two processes over one home: looking at a run, waiting for it, cancelling it, sending it signals; and a run that is
interrupted, killed, or meets a fault of NoETL itself."""

import json
import time
from typing import Any

import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named, until

NOOP = """
workflow:
  - step: start
    tool: {kind: noop}
"""


def long_run(api: ApiServer) -> str:
    """One quick request, then one that takes as long as the server was told, then another quick one."""
    return f"""
        workflow:
          - step: work
            tool:
              - {{name: before, kind: http, url: {api.url}/before}}
              - {{name: slow, kind: http, method: POST, url: {api.url}/slow}}
              - {{name: after, kind: http, url: {api.url}/after}}
        """


@pytest.fixture
def slow(api: ApiServer) -> ApiServer:
    """A server whose /slow takes longer than any test: whoever waits for it has to be stopped."""
    api.script("/before", Answer(json={}))
    api.script("/slow", Answer(json={}, delay_seconds=50.0))
    api.script("/after", Answer(json={"is": "done"}))
    return api


def until_in_flight(api: ApiServer, path: str = "/slow") -> None:
    until(lambda: api.concurrency_max(path), f"a request to {path}")


def until_a_task_is_recorded(noetl: Noetl) -> None:
    until(lambda: any(event["name"] == "task.done" for event in noetl.log()), "the end of a task is in the log")


# --- one store, two processes ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_second_run_is_told_who_has_the_store_and_leaves_with_3(noetl: Noetl, slow: ApiServer) -> None:
    noetl.write(long_run(slow), "long.yaml")
    with noetl.running("run", "long.yaml", "--format", "json") as first:
        until_in_flight(slow)

        ended = noetl.run(NOOP)

        assert (ended.code, ended.out) == (3, "")
        assert f"process {first.process.pid} " in ended.err
        assert "--wait" in ended.err


@pytest.mark.slow
def test_a_second_run_that_waits_gets_its_turn(noetl: Noetl, slow: ApiServer) -> None:
    slow.script("/slow", Answer(json={}, delay_seconds=1.5))
    noetl.write(long_run(slow), "long.yaml")
    with noetl.running("run", "long.yaml", "--format", "json") as first:
        until_in_flight(slow)

        ended = noetl.run(NOOP, "--wait", "50")

        assert first.ended().code == 0
        assert ended.code == 0
        rows = noetl("list", "--format", "json").document
        assert [row["status"] for row in rows] == ["success", "success"]


@pytest.mark.slow
@pytest.mark.spec("EV-05")
def test_a_run_can_be_looked_at_while_it_goes_on(noetl: Noetl, slow: ApiServer) -> None:
    noetl.write(long_run(slow))
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)
        until_a_task_is_recorded(noetl)

        listed = noetl("list", "--format", "json").document
        shown = noetl("show", "last", "--format", "json").document
        replayed = noetl("replay", "last", "--format", "json").document

        assert run.is_running
        assert [(row["status"], row["duration_ms"]) for row in listed] == [("running", None)]
        assert (shown["status"], [row["status"] for row in shown["runs"]]) == ("running", ["running"])
        assert replayed["status"] == "running"


@pytest.mark.slow
def test_events_can_be_followed_to_the_end(noetl: Noetl, slow: ApiServer) -> None:
    slow.script("/slow", Answer(json={}, delay_seconds=1.5))
    noetl.write(long_run(slow))
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)

        followed = noetl("events", "last", "--follow", "--format", "json").lines

        assert run.ended().code == 0
        assert followed[-1]["name"] == "playbook.processed"
        assert followed == noetl.events()


# --- acting on an execution from another process ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spec("TK-19")
def test_a_running_execution_is_cancelled_at_once(noetl: Noetl, slow: ApiServer) -> None:
    noetl.write(long_run(slow))
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)

        cancelled = noetl("cancel", "last", "--reason", "wrong file", "--format", "json")
        ended = run.ended()

    assert (cancelled.code, ended.code) == (0, 1)
    assert (cancelled.document["execution_id"], ended.document["status"]) == (
        ended.document["execution_id"],
        "cancelled",
    )
    assert ended.document["steps"] == [{"step": "work", "runs": 1, "status": "cancelled"}]
    assert slow.requests("/after") == []
    assert "wrong file" in noetl("show", "last").out


@pytest.mark.slow
@pytest.mark.spec("ST-06", "SC-02")
def test_a_signal_reaches_an_execution_that_runs_elsewhere(noetl: Noetl, slow: ApiServer) -> None:
    noetl.write(
        f"""
        workflow:
          - step: start
            tool: {{kind: noop}}
            next:
              spec: {{mode: inclusive}}
              arcs: [{{step: work}}, {{step: approve}}]
          - step: work
            tool: {{kind: http, url: {slow.url}/slow}}
          - step: approve
            spec:
              policy:
                admit:
                  on_deny: wait
                  rules:
                    - when: "{{{{ ctx.approved is defined }}}}"
                      then: {{allow: true}}
                    - else:
                        then: {{allow: false}}
            tool: {{kind: http, url: {slow.url}/after}}
        """
    )
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)

        signalled = noetl("signal", "last", "--set", "ctx.approved=ann", "--format", "json")

        until(lambda: slow.requests("/after"), "the step that waited runs, though the other branch is still at work")
        assert run.is_running
        assert noetl("cancel", "last").code == 0
        ended = run.ended()

    assert signalled.code == 0
    assert signalled.document["execution_id"] == ended.document["execution_id"]
    assert signalled.document["status"] == "running"
    assert "noetl run trial.yaml" in signalled.document["runs_in"]
    assert ended.document["ctx"] == {"approved": "ann"}
    assert {row["step"]: row["status"] for row in ended.document["steps"]} == {
        "start": "success",
        "work": "cancelled",
        "approve": "success",
    }


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


def resumed(noetl: Noetl, document: dict[str, Any]) -> dict[str, Any]:
    ended = noetl("resume", document["execution_id"], "--format", "json")
    assert ended.code == 0, (ended.out, ended.err)
    return dict(ended.document)


@pytest.mark.slow
@pytest.mark.spec("TK-15")
def test_ctrl_c_lets_tasks_at_work_finish_and_resume_goes_on_after_them(noetl: Noetl, slow: ApiServer) -> None:
    slow.script("/slow", Answer(json={}, delay_seconds=1.5))
    noetl.write(long_run(slow))
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)
        run.interrupt()
        ended = run.ended()

    assert (ended.code, ended.document["status"]) == (130, "running")
    assert ended.document["steps"] == [{"step": "work", "runs": 1, "status": "running"}]
    assert f"noetl resume {ended.document['execution_id']}" in ended.err
    assert [seen.path for seen in slow.requests()] == ["/before", "/slow"]
    assert resumed(noetl, ended.document)["output"]["data"] == {"is": "done"}
    assert [seen.path for seen in slow.requests()] == ["/before", "/slow", "/after"]


@pytest.mark.slow
@pytest.mark.spec("TK-15")
def test_ctrl_c_twice_stops_at_once_and_resume_does_the_open_task_again_under_its_key(
    noetl: Noetl, slow: ApiServer
) -> None:
    slow.script("/slow", Answer(json={}, delay_seconds=4.0))
    noetl.write(long_run(slow))
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)
        until_a_task_is_recorded(noetl)
        run.interrupt()
        until(lambda: "press Ctrl-C again" in run.process.stderr.readline(), "it says that it stops")
        run.interrupt()
        ended = run.ended()
        assert slow.requests("/slow") == []  # the other side is still at it

    until(lambda: slow.requests("/slow"), "the other side has ended what it was asked for")
    slow.script("/slow", Answer(json={}))
    assert ended.code == 130
    assert resumed(noetl, ended.document)["status"] == "success"
    assert [len(slow.requests(path)) for path in ("/before", "/slow", "/after")] == [1, 2, 1]
    assert len({seen.headers["idempotency-key"] for seen in slow.requests("/slow")}) == 1
    assert noetl("replay", "last", "--verify").code == 0


@pytest.mark.slow
@pytest.mark.spec("TK-08", "TK-15")
def test_ctrl_c_does_not_wait_for_a_retry_that_is_due_later(noetl: Noetl, slow: ApiServer) -> None:
    slow.script("/slow", Answer(status=503), Answer(json={}))
    noetl.write(
        f"""
        workflow:
          - step: work
            tool:
              kind: http
              url: {slow.url}/slow
              spec:
                policy:
                  rules:
                    - when: "{{{{ output.status == 'error' }}}}"
                      then: {{do: retry, attempts: 2, delay: 50}}
        """
    )
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until(lambda: slow.requests("/slow"), "the first attempt")
        until_a_task_is_recorded(noetl)
        began = time.monotonic()
        run.interrupt()
        ended = run.ended()

    assert ended.code == 130
    assert time.monotonic() - began < 25
    assert named(noetl.events(), "task.done")[0]["payload"]["do"] == "retry"


@pytest.mark.slow
@pytest.mark.spec("TK-15")
def test_a_request_to_end_is_taken_as_ctrl_c(noetl: Noetl, slow: ApiServer) -> None:
    slow.script("/slow", Answer(json={}, delay_seconds=1.5))
    noetl.write(long_run(slow))
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)
        run.process.terminate()
        ended = run.ended()

    assert ended.code == 130
    assert resumed(noetl, ended.document)["status"] == "success"
    assert len(slow.requests("/slow")) == 1


@pytest.mark.slow
@pytest.mark.spec("TK-15")
def test_a_killed_run_is_resumed_where_its_log_ends(noetl: Noetl, slow: ApiServer) -> None:
    noetl.write(long_run(slow))
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)
        until_a_task_is_recorded(noetl)
        run.kill()
        run.process.wait()

    slow.script("/slow", Answer(json={}))
    assert [row["status"] for row in noetl("list", "--format", "json").document] == ["running"]
    ended = noetl("resume", "last", "--format", "json")
    assert (ended.code, ended.document["output"]["data"]) == (0, {"is": "done"})
    assert len(slow.requests("/before")) == 1
    assert json.loads(noetl("replay", "last", "--verify", "--format", "json").out)["is_equal"] is True


# --- faults of our own -----------------------------------------------------------------------------------------------

PARTS = {
    "asking for work": "noetl.control.dispatch.Dispatch.poll",
    "handing out": "noetl.control.dispatch.work_of",
    "deciding": "noetl.control.turn.decide",
    "collecting": "noetl.control.stored_lists.StoredLists.collect",
    "running": "noetl.runner.execute.Execution._answer",
}
LOOP = """
executor: {spec: {policy: {limits: {max_payload_bytes: 1024}}}}
workflow:
  - step: each
    loop: {in: "{{ range(200) }}", iterator: number}
    tool: {kind: noop, input: {number: "{{ iter.number }}"}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_fault_of_our_own_in_any_part_ends_the_run_with_1_and_says_so(noetl: Noetl, part: str) -> None:
    noetl.write(LOOP)

    ended = noetl.with_fault(PARTS[part], "run", "trial.yaml", "--format", "json")

    assert ended.code == 1, (ended.out, ended.err)
    said = ended.err if not ended.out else ended.document["error"]["message"]
    assert "ZeroDivisionError" in said
