"""noetl rerun: from any step or event, with other values or a repaired playbook, as a new execution."""

import json
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
