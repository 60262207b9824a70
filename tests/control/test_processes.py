"""Whole processes: a child survives the death of its caller's process, a waiting run goes on, a log is verified."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import document, noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}}}\n"
# The child's first task is recorded; its second holds on as long as the file `hold` is there.
CHILD = """workload: {folder: ""}
workflow:
  - step: work
    tool:
      - name: first
        kind: python
        input: {file: "{{ workload.folder }}/ledger"}
        spec: {durability: sync}
        code: |
          with open(input["file"], "a") as ledger:
              ledger.write("first\\n")
          return 1
      - name: second
        kind: python
        input: {folder: "{{ workload.folder }}"}
        spec: {durability: sync}
        code: |
          import os, time
          with open(input["folder"] + "/ledger", "a") as ledger:
              ledger.write("second\\n")
          while os.path.exists(input["folder"] + "/hold"):
              time.sleep(0.01)
          return "through"
"""
CALLER = """workload: {folder: ""}
workflow:
  - step: call
    tool: {kind: playbook, path: child, input: {folder: "{{ workload.folder }}"}}
    set: {ctx.got: "{{ output.data }}"}
"""
GATED = """workflow:
  - step: approve
    spec:
      policy:
        admit:
          on_deny: wait
          rules: [{when: "{{ ctx.approved == 'Ada' }}", then: {allow: true}}, {else: {then: {allow: false}}}]
    tool: {kind: noop, input: {by: "{{ ctx.approved }}"}}
"""
PLANNER = """workflow:
  - step: think
    spec: {policy: {plan: true}}
    tool: {kind: python, code: "return [{'step': 'new', 'tool': {'kind': 'noop', 'input': {'made': True}}}]"}
"""
WAIT_SECONDS_MAX = 30.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in (("child", CHILD), ("caller", CALLER), ("gated", GATED), ("planner", PLANNER)):
        (tmp_path / f"{name}.yaml").write_text(HEAD.format(name=name) + text)
    return tmp_path


def until(is_so) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + WAIT_SECONDS_MAX
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def executions(home: Path) -> list[dict]:
    return json.loads(noetl("list", "--format", "json", home=home).stdout)


def start(home: Path, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "noetl", *words],
        cwd=home,
        env={**os.environ, "NOETL_HOME": str(home / ".noetl")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.slow
@pytest.mark.spec("TL-04", "TK-15", "EV-05")
def test_a_caller_whose_process_was_killed_goes_on_with_the_same_child(home: Path) -> None:
    (home / "hold").touch()
    ledger = home / "ledger"
    process = start(home, "run", "caller.yaml", "--set", f"folder={home}")
    until(lambda: ledger.exists() and "second" in ledger.read_text())
    process.send_signal(signal.SIGKILL)
    process.wait()
    (home / "hold").unlink()
    parent = next(row for row in executions(home) if row["parent_execution_id"] is None)

    resumed = document(noetl("resume", parent["execution_id"], "--format", "json", home=home))

    assert (resumed["status"], resumed["ctx"]) == ("success", {"got": "through"})
    rows = executions(home)
    assert [(row["parent_execution_id"], row["status"]) for row in rows] == [
        (parent["execution_id"], "success"),
        (None, "success"),
    ]
    assert ledger.read_text().split() == ["first", "second", "second"]  # what was recorded is not done again
    for row in rows:
        assert document(noetl("replay", row["execution_id"], "--verify", "--format", "json", home=home))["is_equal"]


@pytest.mark.slow
@pytest.mark.spec("TL-04")
def test_cancelling_the_caller_from_another_process_cancels_the_running_child(home: Path) -> None:
    (home / "hold").touch()
    ledger = home / "ledger"
    process = start(home, "run", "caller.yaml", "--set", f"folder={home}")
    until(lambda: ledger.exists() and "second" in ledger.read_text())
    parent = next(row for row in executions(home) if row["parent_execution_id"] is None)

    cancelled = noetl("cancel", parent["execution_id"], home=home)
    process.wait(WAIT_SECONDS_MAX)

    assert cancelled.returncode == 0, cancelled.stderr
    assert {row["status"] for row in executions(home)} == {"cancelled"}


@pytest.mark.slow
@pytest.mark.spec("ST-06", "EV-05")
def test_a_run_that_waits_goes_on_after_a_signal_and_a_resume(home: Path) -> None:
    waiting = noetl("run", "gated.yaml", "--format", "json", home=home)
    execution_id = document(waiting)["execution_id"]

    told = noetl("signal", execution_id, "--set", "ctx.approved=Ada", home=home)
    resumed = document(noetl("resume", execution_id, "--format", "json", home=home))

    assert (waiting.returncode, told.returncode) == (4, 0)
    assert (resumed["status"], resumed["output"]["data"]) == ("success", {"by": "Ada"})
    assert document(noetl("replay", execution_id, "--verify", "--format", "json", home=home))["is_equal"]


@pytest.mark.slow
@pytest.mark.spec("RT-08", "EV-05")
def test_a_plan_of_a_whole_process_can_be_replayed(home: Path) -> None:
    ended = document(noetl("run", "planner.yaml", "--format", "json", home=home))

    assert (ended["status"], ended["output"]["data"]) == ("success", {"made": True})
    found = document(noetl("replay", ended["execution_id"], "--verify", "--format", "json", home=home))
    assert found["is_equal"]
