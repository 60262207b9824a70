"""noetl rerun: from any step or event, with other values or a repaired playbook, as a new execution."""

import json
import os
import time
from datetime import datetime
from pathlib import Path

import pytest

from noetl.cli import exits
from tests.cli.running import HEAD, document, noetl

pytestmark = pytest.mark.slow

LOADS = (
    HEAD
    + """workload: {count: 3, is_bad: true}
workflow:
  - step: read
    loop:
      in: "{{ range(workload.count) }}"
      iterator: number
      spec: {mode: parallel}
    tool: {name: one, kind: noop, input: {number: "{{ iter.number }}"}}
    set: {ctx.read: "{{ output.data | length }}"}
    next: {arcs: [{step: load}]}
  - step: load
    tool:
      - name: put
        kind: noop
        input: {read: "{{ ctx.read }}"}
        spec:
          policy:
            rules:
              - when: "{{ workload.is_bad }}"
                then: {do: fail}
              - else: {then: {do: continue}}
"""
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "loads.yaml").write_text(LOADS)
    assert noetl("run", "loads.yaml", "--quiet", home=tmp_path).returncode == exits.FAILED
    return tmp_path


def names(home: Path, execution_id: str) -> list[str]:
    printed = noetl("events", execution_id, "--format", "json", home=home).stdout
    return [json.loads(line)["name"] for line in printed.splitlines()]


@pytest.mark.parametrize("point", [["--from", "load"], ["--from-failed"]])
def test_steps_and_iterations_that_had_ended_are_kept_and_not_run_again(home: Path, point: list[str]):
    again = noetl("rerun", "1", *point, "--set", "is_bad=false", "--format", "json", home=home)

    assert (again.returncode, document(again)["status"]) == (exits.DONE, "success")
    assert document(again)["output"]["data"] == {"read": 3}
    before, after = names(home, "1"), names(home, document(again)["execution_id"])
    kept = after.index("execution.forked")
    assert after[:kept] == before[:kept]
    assert "loop.iteration.started" not in after[kept:]
    assert document(noetl("show", "1", "--format", "json", home=home))["status"] == "failed"


def test_whoever_watches_is_told_what_is_new_and_nothing_else(home: Path):
    again = noetl("rerun", "1", "--from", "load", "--set", "is_bad=false", home=home)

    assert "▸ load: started" in again.stderr
    assert "read" not in again.stderr


def test_ctx_can_be_another_one_from_an_event_on(home: Path):
    seq = 1 + names(home, "1").index("loop.done")

    again = noetl(
        "rerun", "1", "--at", str(seq), "--set", "ctx.read=9", "--set", "is_bad=false", "--format", "json", home=home
    )

    assert document(again)["output"]["data"] == {"read": 9}


def test_a_repaired_playbook_goes_on_with_the_log_of_the_broken_one(home: Path):
    (home / "repaired.yaml").write_text(LOADS.replace("do: fail", "do: continue"))

    again = noetl("rerun", "1", "--from", "load", "--playbook", "repaired.yaml", "--format", "json", home=home)

    assert document(again)["status"] == "success"
    assert document(noetl("show", "last", "--format", "json", home=home))["version"] == 2


def test_without_a_point_it_begins_anew_with_the_same_payload(home: Path):
    again = noetl("rerun", "last", "--set", "is_bad=false", "--format", "json", home=home)

    assert document(again)["output"]["data"] == {"read": 3}
    assert "execution.forked" not in names(home, document(again)["execution_id"])
    assert ", does execution 1 again\n" in noetl("show", "last", home=home).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "lod"], 'step "lod" did not run in execution 1; those that did: read, load'),
        (["--from", "load", "--at", "4"], "give one of them"),
        (["--at", "9999"], "a point of the log of execution 1 is from 3 to"),
        (["--legacy"], "--playbook"),
        (["--from", "load", "--playbook", "none.yaml"], "none.yaml"),
        (["--from", "load", "--playbook", "other.yaml"], "load"),
    ],
)
def test_what_cannot_be_gone_on_with_is_refused_with_a_reason(home: Path, words: list[str], said: str):
    (home / "other.yaml").write_text(HEAD + "workflow: [{step: read, tool: {kind: noop}}]\n")

    refused = noetl("rerun", "1", *words, home=home)

    assert refused.returncode == exits.WRONG_INPUT
    assert said in refused.stderr
    assert len(json.loads(noetl("list", "--format", "json", home=home).stdout)) == 1


TEN_THOUSAND = (
    HEAD
    + """workload: {count: 10000, bad: 9999, is_bad: true}
workflow:
  - step: load
    loop: {in: "{{ range(workload.count) }}", iterator: i, spec: {mode: parallel}}
    tool: {name: put, kind: noop, input: {row: "{{ 1 // (0 if i == workload.bad else 1) }}"}}
    next: {arcs: [{step: publish}]}
  - step: publish
    tool: {name: tell, kind: noop, input: {row: "{{ 1 // (0 if workload.is_bad else 1) }}"}}
"""
)
SECONDS_MAX = 10.0  # for a machine with much else to do; docs/performance.md has what it takes
CPU_SECONDS_MAX = 2.0


@pytest.mark.parametrize(
    ("payload", "mended", "again"),
    [('{"bad": -1}', "is_bad=false", 0), ('{"is_bad": false}', "bad=-1", 1)],
    ids=["after the loop", "in its last iteration"],
)
def test_ten_thousand_finished_iterations_are_not_touched_and_cost_no_second(
    tmp_path: Path, payload: str, mended: str, again: int
) -> None:
    (tmp_path / "many.yaml").write_text(TEN_THOUSAND)
    assert noetl("run", "many.yaml", "--payload", payload, "--quiet", home=tmp_path).returncode == exits.FAILED
    cpu, began = os.times().children_user, time.time()

    done = noetl("rerun", "last", "--from-failed", "--set", mended, "--quiet", home=tmp_path)

    took = os.times().children_user - cpu
    assert done.returncode == exits.DONE, done.stderr
    printed = [
        json.loads(line) for line in noetl("events", "last", "--format", "json", home=tmp_path).stdout.splitlines()
    ]
    own = printed[[event["name"] for event in printed].index("execution.forked") :]
    begun = [event for event in own if event["name"] == "task.started"]
    assert [event["step"] for event in begun].count("load") == again
    first = datetime.fromisoformat(begun[0]["timestamp"].replace("Z", "+00:00")).timestamp()
    assert first - began < SECONDS_MAX
    assert took < CPU_SECONDS_MAX


def test_what_is_kept_of_a_loop_is_said_and_whole_needs_a_step(tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(TEN_THOUSAND)
    payload = '{"count": 20, "bad": 19, "is_bad": false}'
    assert noetl("run", "many.yaml", "--payload", payload, "--quiet", home=tmp_path).returncode == exits.FAILED

    done = noetl("rerun", "last", "--from-failed", "--set", "bad=-1", home=tmp_path)
    refused = noetl("rerun", "last", "--whole", home=tmp_path)

    assert "load: keeps 19 finished iterations, 1 of 20 to do; --whole runs them again" in done.stderr
    assert refused.returncode == exits.WRONG_INPUT
    assert "goes on from event" in noetl("show", "last", home=tmp_path).stdout


def test_an_execution_that_undid_its_steps_says_to_begin_anew(tmp_path: Path) -> None:
    (tmp_path / "order.yaml").write_text(
        HEAD
        + """workflow:
  - step: book
    spec: {policy: {compensation: {tool: {name: unbook, kind: noop}}}}
    tool: {kind: noop}
    next: {arcs: [{step: ship}]}
  - step: ship
    tool: {kind: python, code: "raise ValueError('nothing is shipped there')"}
"""
    )

    run = noetl("run", "order.yaml", home=tmp_path)
    shown = noetl("show", "1", home=tmp_path)
    refused = noetl("rerun", "1", "--from-failed", home=tmp_path)

    assert [said.stderr.splitlines()[-1] for said in (run, shown)] == ["next: noetl rerun 1"] * 2
    assert refused.returncode == exits.WRONG_INPUT
    assert "has undone what was done before that step: book; go on from" in refused.stderr
