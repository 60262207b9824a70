"""What scripts may rely on: the documents that commands print, their exit codes, what goes in. What one process may do
while another one runs is in test_side_by_side.py."""

import os
import sqlite3
import subprocess
import sys
from datetime import datetime

import pytest

from tests.acceptance.noetl import Noetl, named

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


# --- acting on an execution that waits -------------------------------------------------------------------------------


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


# --- odd callers -----------------------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_does_not_make_a_success_a_failure(noetl: Noetl) -> None:
    file = noetl.write("workflow:\n  - step: start\n    tool: {kind: noop, input: {text: hello}}\n")
    line = f"{sys.executable} -m noetl run {file} 2>/dev/null | true; exit ${{PIPESTATUS[0]}}"

    ended = subprocess.run(
        ["bash", "-c", line], cwd=noetl.folder, env={**os.environ, "NOETL_HOME": str(noetl.home)}, check=False
    )

    assert ended.returncode == 0


def test_an_argument_that_is_no_text_leaves_with_2(noetl: Noetl) -> None:
    ended = noetl("run", os.fsdecode(b"x\xff.yaml"))

    assert ended.code == 2
    assert "fault of NoETL" not in ended.err


def test_a_request_key_of_another_playbook_leaves_with_2(noetl: Noetl) -> None:
    noetl.run("workflow:\n  - step: start\n    tool: {kind: noop}\n", "--request-key", "k1")

    ended = noetl.run("workflow:\n  - step: other\n    tool: {kind: noop}\n", "--request-key", "k1")

    assert ended.code == 2
    assert "use another key" in ended.err


def test_a_signal_that_a_gate_cannot_use_leaves_with_1(noetl: Noetl) -> None:
    waiting = noetl.run(
        """
        workflow:
          - step: start
            spec:
              policy:
                admit:
                  on_deny: wait
                  rules: [{when: "{{ ctx.go }}", then: {allow: true}}, {else: {then: {allow: false}}}]
            tool: {kind: noop}
        """
    )

    ended = noetl("signal", waiting.document["execution_id"], "--set", "ctx.go=ann")

    assert waiting.code == 4
    assert ended.code == 1
