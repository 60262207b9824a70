"""What scripts may rely on: the documents that commands print, their exit codes, and what one process may do while
another one runs. Each test is whole processes over a home of its own."""

import json
import sqlite3
import time
from datetime import datetime
from typing import Any

import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named, until

RUN_KEYS = ["execution_id", "status", "output", "ctx", "error", "steps", "duration_ms"]
LIST_KEYS = {"execution_id", "path", "version", "status", "created_at", "duration_ms"}
FINDING_KEYS = {"code", "rule", "severity", "path", "line", "column", "message", "why", "fix"}
EVENT_KEYS = {
    "event_id",
    "execution_id",
    "timestamp",
    "source",
    "name",
    "entity_type",
    "entity_id",
    "status",
    "payload",
}
TASK_KEYS = {"step_run_id", "task_run_id", "iteration_id", "task_label", "attempt"}

NOOP = """
workload: {a: {b: 1, c: 2}}
workflow:
  - step: start
    tool: {kind: noop, input: {seen: "{{ workload }}"}}
"""
FAIL = """
workflow:
  - step: start
    tool:
      - name: refuse
        kind: noop
        spec: {policy: {rules: [{else: {then: {do: fail}}}]}}
    next:
      arcs: [{step: never}]
  - step: never
    tool: {kind: noop}
"""
WAIT = """
workflow:
  - step: approve
    spec:
      policy:
        admit:
          on_deny: wait
          rules:
            - when: "{{ ctx.approved is defined }}"
              then: {allow: true}
            - else:
                then: {allow: false}
    tool: {kind: noop, input: {by: "{{ ctx.approved }}"}}
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


# --- what run and resume print ---------------------------------------------------------------------------------------


@pytest.mark.spec("RT-13", "EV-03")
def test_run_and_resume_print_the_same_document(noetl: Noetl) -> None:
    found = noetl.succeed(NOOP)

    again = noetl("resume", found["execution_id"], "--format", "json")

    assert list(found) == RUN_KEYS
    assert isinstance(found["execution_id"], str)
    assert set(found["output"]) >= {"status", "data", "ref", "error", "meta"}
    assert (again.code, again.document) == (0, found)


@pytest.mark.spec("EV-01", "EV-03")
def test_the_duration_is_that_from_the_request_to_the_end(noetl: Noetl) -> None:
    found = noetl.succeed(NOOP)

    events = noetl.events(found["execution_id"])
    first, last = events[0], events[-1]
    assert (first["name"], last["name"]) == ("playbook.execution.requested", "playbook.processed")
    took = datetime.fromisoformat(last["timestamp"]) - datetime.fromisoformat(first["timestamp"])
    assert found["duration_ms"] == pytest.approx(took.total_seconds() * 1000, abs=2)


@pytest.mark.spec("RT-05")
def test_a_failed_run_says_what_and_where_and_leaves_with_1(noetl: Noetl) -> None:
    ended = noetl.run(FAIL)

    found = ended.document
    assert (ended.code, ended.err, found["status"]) == (1, "", "failed")
    assert {"kind", "message", "step", "task"} <= set(found["error"])
    assert [(row["step"], row["runs"], row["status"]) for row in found["steps"]] == [
        ("start", 1, "failed"),
        ("never", 0, "not_run"),
    ]


@pytest.mark.spec("ST-06", "EV-01")
def test_a_token_that_nothing_can_let_in_is_skipped_and_the_run_succeeds(noetl: Noetl) -> None:
    found = noetl.succeed(WAIT.replace("          on_deny: wait\n", ""))

    skipped = named(noetl.events(found["execution_id"]), "step.skipped")
    assert [(event["step"], event["status"]) for event in skipped] == [("approve", "skipped")]
    assert found["steps"] == [{"step": "approve", "runs": 0, "status": "skipped"}]


@pytest.mark.spec("TP-03", "PB-02")
def test_a_playbook_that_does_not_check_gives_its_findings_and_leaves_with_2(noetl: Noetl) -> None:
    ended = noetl.run(NOOP + "colour: red\n")

    found = ended.document
    assert (ended.code, ended.err, set(found), found["status"]) == (2, "", {"status", "findings"}, "invalid")
    finding = found["findings"][0]
    assert set(finding) >= FINDING_KEYS
    assert (finding["severity"], finding["path"], finding["line"], finding["column"]) == ("error", "trial.yaml", 8, 1)


# --- what goes in ----------------------------------------------------------------------------------------------------

WORDS = {
    "number=1": ("number", 1),
    "float=1.5": ("float", 1.5),
    "text=one": ("text", "one"),
    "empty=": ("empty", None),
    "no=false": ("no", False),
    "nothing=null": ("nothing", None),
    "quoted='1'": ("quoted", "1"),
    "equals=a=b": ("equals", "a=b"),
    "list=[1, x]": ("list", [1, "x"]),
    "day=2026-03-01": ("day", "2026-03-01"),
    "norway=no": ("norway", "no"),
    "unknown.deep.key=true": ("unknown", {"deep": {"key": True}}),
}


@pytest.mark.spec("SC-01")
def test_set_reads_values_as_yaml_scalars_and_may_add_keys(noetl: Noetl) -> None:
    words = [word for assignment in WORDS for word in ("--set", assignment)]

    found = noetl.succeed(NOOP, *words, "--set", "a.b=7")

    assert found["output"]["data"]["seen"] == {"a": {"b": 7, "c": 2}, **dict(WORDS.values())}


@pytest.mark.spec("SC-01")
def test_the_payload_wins_over_the_workload_and_set_over_the_payload(noetl: Noetl) -> None:
    (noetl.folder / "payload.json").write_text('{"a": {"b": 10, "d": [1]}, "e": 1}')

    found = noetl.succeed(NOOP, "--payload", "@payload.json", "--set", "e=2")

    assert found["output"]["data"]["seen"] == {"a": {"b": 10, "c": 2, "d": [1]}, "e": 2}


@pytest.mark.parametrize(
    "words",
    [
        ("missing.yaml",),
        ("trial.yaml", "--payload", "{"),
        ("trial.yaml", "--payload", "3"),
        ("trial.yaml", "--payload", "@missing.json"),
        ("trial.yaml", "--set", "a"),
        ("trial.yaml", "--set", "=1"),
        ("trial.yaml", "--payload", '{"a": 1}', "--set", "a.b=1"),
        ("trial.yaml", "--nothing"),
    ],
    ids=lambda words: " ".join(words[-2:]),
)
def test_wrong_input_leaves_with_2_says_why_and_prints_no_document(noetl: Noetl, words: tuple[str, ...]) -> None:
    noetl.write(NOOP)

    ended = noetl("run", *words, "--format", "json")

    assert (ended.code, ended.out) == (2, "")
    assert "rror: " in ended.err
    assert not noetl.store.exists() or noetl.rows("SELECT id FROM execution") == []


# --- looking ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("ST-06")
def test_list_has_the_newest_first_and_those_that_wait(noetl: Noetl) -> None:
    codes = [noetl.run(playbook).code for playbook in (NOOP, FAIL, WAIT)]

    found = noetl("list", "--format", "json").document

    assert codes == [0, 1, 4]
    assert [row["status"] for row in found] == ["waiting", "failed", "success"]
    assert [int(row["execution_id"]) for row in found] == sorted(
        (int(row["execution_id"]) for row in found), reverse=True
    )
    assert all(set(row) >= LIST_KEYS for row in found)
    assert [row["duration_ms"] is None for row in found] == [True, False, False]


@pytest.mark.spec("EV-01", "EV-02")
def test_events_have_the_names_of_the_envelope_and_the_ids_at_top_level(noetl: Noetl) -> None:
    noetl.succeed(
        """
        workflow:
          - step: each
            loop: {in: "{{ [1] }}", iterator: item}
            tool: {kind: noop}
        """
    )

    events = noetl.events("last")

    assert all(set(event) >= EVENT_KEYS for event in events)
    task = named(events, "task.done")[0]
    assert set(task) >= TASK_KEYS
    assert (task["task_label"], task["attempt"], task["source"]) == ("each_task", 1, "worker")
    assert {event["execution_id"] for event in events} == {task["execution_id"]}


# --- the store -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [("run", "trial.yaml"), ("list",), ("resume", "1"), ("cancel", "1")], ids=lambda words: words[0]
)
def test_a_store_of_a_newer_version_is_left_alone(noetl: Noetl, words: tuple[str, ...]) -> None:
    noetl.succeed(NOOP)
    with sqlite3.connect(noetl.store) as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
    connection.close()
    before = noetl.store.read_bytes()

    ended = noetl(*words, "--format", "json")

    assert (ended.code, ended.out) == (2, "")
    assert "schema 99" in ended.err
    assert noetl.store.read_bytes() == before


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
        until(lambda: named(noetl.events(), "task.started", task_label="slow"), "the slow task is in the log")

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
    slow.script("/slow", Answer(json={}, delay_seconds=2.0))
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
        ended = run.ended()

    assert (signalled.code, ended.code) == (0, 0)
    assert signalled.document == {"execution_id": ended.document["execution_id"], "status": "running"}
    assert ended.document["ctx"] == {"approved": "ann"}
    assert slow.requests("/after")[0].started_at < slow.requests("/slow")[0].ended_at  # it did not wait for the other


@pytest.mark.spec("ST-06", "SC-02")
def test_a_waiting_execution_goes_on_after_a_signal_and_a_resume(noetl: Noetl) -> None:
    waiting = noetl.run(WAIT)
    number = waiting.document["execution_id"]

    again = noetl("resume", number, "--format", "json")
    signalled = noetl("signal", number, "--set", "ctx.approved=ann", "--format", "json")
    resumed = noetl("resume", number, "--format", "json")

    assert [(one.code, one.document["status"]) for one in (waiting, again)] == [(4, "waiting")] * 2
    assert signalled.code == 0
    assert (resumed.code, resumed.document["output"]["data"]) == (0, {"by": "ann"})


@pytest.mark.parametrize(
    "words",
    [("cancel",), ("signal", "--set", "ctx.a=1")],
    ids=lambda words: words[0],
)
def test_a_cancelled_execution_takes_no_more_requests_and_resume_sums_it_up(
    noetl: Noetl, words: tuple[str, ...]
) -> None:
    number = noetl.run(WAIT).document["execution_id"]
    assert noetl("cancel", number).code == 0

    refused = noetl(words[0], number, *words[1:])
    resumed = noetl("resume", number, "--format", "json")

    assert (refused.code, refused.out) == (2, "")
    assert (resumed.code, resumed.document["status"]) == (1, "cancelled")


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
    slow.script("/slow", Answer(json={}, delay_seconds=3.0))
    noetl.write(long_run(slow))
    with noetl.running("run", "trial.yaml", "--format", "json") as run:
        until_in_flight(slow)
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
        until(lambda: named(noetl.events(), "task.done"), "the first attempt is in the log")
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
        until(lambda: named(noetl.events(), "task.done", task_label="before"), "the first task is in the log")
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
    "handing out": "noetl.control.dispatch.work_of",
    "deciding": "noetl.control.intake.decide",
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
