"""Starting apart, stopping, scaling: real processes through the same code, with a stand-in for what they would do."""

import os
import signal
import sys
from pathlib import Path

import pytest

from noetl import clictl
from noetl.config import load
from noetl.daemons.log_files import numbered
from noetl.errors import AlreadyRunning, DidNotStart, OperatorError, RequestError
from noetl.testing.services import free_port

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")]

PROGRAM = (sys.executable, "-m", "tests.daemons.stand_in")
ROOT = Path(__file__).parent.parent.parent


class Machine:
    """A home, and what is started in it."""

    def __init__(self, home, monkeypatch):
        self.home = home
        self.does = lambda word: monkeypatch.setenv("STAND_IN", word)

    def settings(self, **flags):
        given = {"home": str(self.home), **{key.replace("__", "."): value for key, value in flags.items()}}
        return load(environ={}, folder=self.home, flags={key: ("--flag", value) for key, value in given.items()}), given

    def server(self, port, seconds=20.0, **flags):
        settings, given = self.settings(server__port=port, **flags)
        return clictl.start_server(settings, given, ready_seconds_max=seconds, program=PROGRAM)

    def worker(self, pool, seconds=20.0, **flags):
        settings, given = self.settings(pool=pool, **flags)
        return clictl.start_worker(settings, given, drain_seconds=1, ready_seconds_max=seconds, program=PROGRAM)

    def post(self, role, name=None):
        return clictl.post_meant(self.settings()[0], role, name, None)

    def stop(self, role, name=None, seconds=20.0, is_killing=False):
        return clictl.stop(self.post(role, name), drain_seconds_max=seconds, is_killing=is_killing)["ended"]

    def servers(self, port=None):
        return clictl.servers(self.settings()[0], port)

    def workers(self, pool=None):
        return clictl.workers(self.settings()[0], pool)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)  # where the stand-in is found
    found = Machine(tmp_path / "home", monkeypatch)
    yield found
    for row in (*found.servers(), *found.workers()):
        os.kill(row["pid"], signal.SIGKILL)


@pytest.mark.spec("RO-01")
def test_a_detached_server_answers_when_its_start_returns_and_is_gone_when_its_stop_does(machine):
    port = free_port()
    started = machine.server(port)
    running, session = machine.servers(), os.getsid(started["pid"])
    ended = machine.stop("server")

    assert (started["port"], started["answers"], started["url"]) == (port, True, f"http://127.0.0.1:{port}")
    assert running == [started]
    assert session == started["pid"]  # of its own: what ends this terminal does not end it
    assert ended == "stopped"
    assert machine.servers() == machine.servers(port) == []


def test_a_second_start_is_refused_and_the_first_goes_on(machine):
    port = free_port()
    first = machine.server(port)

    with pytest.raises(AlreadyRunning, match=f"the server on port {port} runs already: process {first['pid']}"):
        machine.server(port)

    assert [row["pid"] for row in machine.servers()] == [first["pid"]]


def test_two_servers_of_one_home_are_told_apart_by_their_ports(machine):
    ports = [free_port(), free_port()]
    for port in ports:
        machine.server(port)

    with pytest.raises(RequestError, match="several run; choose one with --port"):
        machine.stop("server")
    machine.stop("server", str(ports[0]))

    assert [row["port"] for row in machine.servers()] == [ports[1]]


def test_a_crash_at_the_start_shows_the_end_of_the_log(machine):
    machine.does("crash")

    with pytest.raises(DidNotStart, match="ended with exit code 7") as refused:
        machine.server(free_port())

    assert str(refused.value).endswith("the stand-in cannot go on: no room")
    assert machine.servers() == []


def test_the_log_of_an_earlier_start_is_not_shown_again(machine):
    port = free_port()
    machine.server(port)
    machine.stop("server")
    machine.does("crash")

    with pytest.raises(DidNotStart) as refused:
        machine.server(port)

    assert str(refused.value).count("the stand-in begins") == 1


def test_one_that_does_not_get_ready_is_stopped(machine):
    machine.does("hang")

    with pytest.raises(DidNotStart, match="it was not ready after 1 seconds, so it was stopped"):
        machine.server(free_port(), seconds=1.0)

    assert machine.servers() == []


def test_after_kill_9_the_next_start_takes_the_place(machine):
    port = free_port()
    first = machine.server(port)
    os.kill(first["pid"], signal.SIGKILL)
    os.waitid(os.P_PID, first["pid"], os.WEXITED | os.WNOWAIT)

    left = machine.servers()
    second = machine.server(port)

    assert left == []
    assert second["pid"] != first["pid"]


def test_one_that_will_not_end_is_left_alone_or_killed_as_asked(machine):
    machine.does("stubborn")
    machine.server(free_port())

    patient = machine.stop("server", seconds=0.2)
    killed = machine.stop("server", seconds=0.2, is_killing=True)

    assert (patient, killed) == ("draining", "killed")
    assert machine.servers() == []


def test_nothing_to_stop_is_said_so(machine):
    with pytest.raises(OperatorError, match="the server on port 8642 does not run"):
        machine.stop("server")


def test_a_password_is_in_the_environment_of_the_process_and_not_among_its_arguments(machine):
    started = machine.server(free_port(), store__url="postgresql://noetl:hunter2-canary@127.0.0.1/noetl")

    arguments = Path(f"/proc/{started['pid']}/cmdline")
    log = Path(started["log_file"]).read_text()

    if arguments.exists():
        assert b"hunter2-canary" not in arguments.read_bytes()
    assert "'--pid-file'" in log
    assert "hunter2-canary" not in log


def test_a_log_that_grows_is_rotated_while_the_server_runs(machine):
    machine.does("chatty")

    log = Path(machine.server(free_port())["log_file"])

    assert numbered(log, 1).read_text().splitlines()[-1] == "line 999 of much"
    assert log.read_text() == ""


def test_a_worker_is_scaled_and_the_number_outlives_it(machine):
    machine.worker("gpu", worker__processes=2)
    scaled = clictl.scale(machine.post("worker"), 5, seconds_max=10.0)
    machine.stop("worker", "gpu")

    assert (scaled["pool"], scaled["before"], scaled["processes"]) == ("gpu", 2, 5)
    assert machine.post("worker", "gpu").scale_file.read_text() == "5\n"
    assert machine.worker("gpu", worker__processes=3)["processes"] == 3  # said anew, so the old number is forgotten
    assert not machine.post("worker", "gpu").scale_file.exists()


def test_a_worker_that_does_not_run_cannot_be_scaled(machine):
    with pytest.raises(OperatorError, match="noetl worker start --detach"):
        clictl.scale(machine.post("worker"), 5)


def test_a_server_that_other_means_started_is_seen_by_its_port(machine):
    port = free_port()
    started = machine.server(port)
    Path(started["pid_file"]).unlink()

    seen, unnamed = machine.servers(port), machine.servers()
    os.kill(started["pid"], signal.SIGKILL)

    assert seen == [{"port": port, "url": f"http://127.0.0.1:{port}", "pid": None, "answers": True}]
    assert unnamed == []
