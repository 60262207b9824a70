"""A run that is stopped, watched and cancelled from outside: whole processes, real signals.

The task tells by one pipe that it has begun and waits at another to be let go, so nothing here waits by the clock.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.running import GREET, HEAD, document, noetl

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes and signals")]

SECONDS_MAX = 60.0
LOOK_SECONDS = 0.1
HOLD = (
    HEAD
    + """workload: {began: "", go: ""}
workflow:
  - step: before
    tool: {kind: noop, set: {ctx.before: true}}
    next: {arcs: [{step: hold}]}
  - step: hold
    tool:
      kind: python
      input: {began: "{{ workload.began }}", go: "{{ workload.go }}"}
      code: |
        with open(input["began"], "w") as pipe:
            pipe.write("x")
        with open(input["go"]) as pipe:
            result = pipe.read()
    next: {arcs: [{step: after}]}
  - step: after
    tool: {kind: noop}
"""
)


class Held:
    """A `noetl run` whose task waits."""

    def __init__(self, home):
        self.home = home
        self.began, self.go = home / "began", home / "go"
        os.mkfifo(self.began)
        os.mkfifo(self.go)
        (home / "hold.yaml").write_text(HOLD)
        (home / "greet.yaml").write_text(GREET)

    def start(self, *words):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "noetl", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home,
            env={**os.environ, "NOETL_HOME": str(self.home / ".noetl")},
        )
        self._await_begun()

    def _await_begun(self):
        """Open it without waiting for the other end: a run that dies before its task is a failure, not a wait."""
        pipe = os.open(self.began, os.O_RDONLY | os.O_NONBLOCK)
        deadline = time.monotonic() + SECONDS_MAX
        try:
            while not select.select([pipe], [], [], LOOK_SECONDS)[0]:
                assert self.process.poll() is None, self.process.communicate()
                assert time.monotonic() < deadline, "the task has not begun"
        finally:
            os.close(pipe)

    def run(self):
        self.start("run", "hold.yaml", "--set", f"began={self.began}", "--set", f"go={self.go}", "--format", "json")

    def let_go(self, word="done"):
        self.go.write_text(word)

    def ended(self):
        """Exit code, standard output, standard error."""
        out, err = self.process.communicate(timeout=SECONDS_MAX)
        return self.process.returncode, out, err


@pytest.fixture
def held(tmp_path):
    found = Held(tmp_path)
    found.run()
    yield found
    if found.process.poll() is None:
        found.process.kill()
    found.process.communicate()


@pytest.mark.spec("TK-15")
def test_ctrl_c_lets_running_tasks_finish_and_the_run_can_be_resumed(held):
    held.process.send_signal(signal.SIGINT)
    assert held.process.stderr.readline() == "stopping: 1 task still at work; press Ctrl-C again to stop at once\n"
    held.let_go()
    code, out, err = held.ended()

    stopped = json.loads(out)
    resumed = document(noetl("resume", stopped["execution_id"], "--format", "json", home=held.home))

    assert (code, stopped["status"]) == (130, "running")
    assert err == f"stopped; noetl resume {stopped['execution_id']} goes on where it stopped\n"
    assert (resumed["status"], resumed["output"]["data"]) == ("success", "done")
    assert [step["runs"] for step in stopped["steps"]] == [1, 1, 1]
    assert [step["runs"] for step in resumed["steps"]] == [1, 1, 1]


@pytest.mark.spec("TK-15")
def test_a_second_ctrl_c_stops_at_once_and_the_task_runs_again(held):
    held.process.send_signal(signal.SIGINT)
    held.process.stderr.readline()
    held.process.send_signal(signal.SIGINT)
    code, out, _ = held.ended()

    held.start("resume", json.loads(out)["execution_id"], "--format", "json")
    held.let_go("again")
    resumed_code, resumed, _ = held.ended()

    assert (code, resumed_code) == (130, 0)
    assert json.loads(resumed)["output"]["data"] == "again"
    assert json.loads(resumed)["ctx"] == {"before": True}


def test_a_killed_run_goes_on_where_it_stopped(held):
    held.process.kill()
    held.process.communicate()

    held.start("resume", "last", "--format", "json")
    held.let_go("after the crash")
    code, out, _ = held.ended()

    assert (code, json.loads(out)["output"]["data"]) == (0, "after the crash")


def test_a_store_in_use_leaves_with_3_and_can_be_looked_at_meanwhile(held):
    busy = noetl("run", "greet.yaml", home=held.home)
    listed = noetl("list", home=held.home)
    shown = noetl("show", "last", home=held.home)
    events = noetl("events", "last", home=held.home)
    held.let_go()

    assert (busy.returncode, busy.stdout) == (3, "")
    assert "is in use by process" in busy.stderr
    assert listed.stdout.splitlines()[1].split()[1] == "running"
    assert "▸ hold" in shown.stdout
    assert events.stdout.splitlines()[-1].endswith("hold/hold_task")
    assert held.ended()[0] == 0


def test_cancel_reaches_a_run_in_another_process(held):
    cancelled = noetl("cancel", "last", "--reason", "enough", "--format", "json", home=held.home)
    code, out, _ = held.ended()

    assert (cancelled.returncode, document(cancelled)["status"]) == (0, "cancelled")
    assert (code, json.loads(out)["status"]) == (1, "cancelled")
    assert "enough" in noetl("show", "last", home=held.home).stdout


def test_following_ends_with_the_execution(held):
    follower = subprocess.Popen(
        [sys.executable, "-m", "noetl", "events", "last", "--follow"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=held.home,
        env={**os.environ, "NOETL_HOME": str(held.home / ".noetl")},
    )
    first = follower.stdout.readline()
    held.let_go()
    rest, _ = follower.communicate(timeout=SECONDS_MAX)

    assert "playbook.execution.requested" in first
    assert "playbook.processed" in rest.splitlines()[-1]
    assert follower.returncode == 0
