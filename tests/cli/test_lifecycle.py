"""noetl server start, status and stop, as whole processes: a server with nothing but a home."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noetl import __version__
from noetl.testing.services import free_port
from tests.cli.running import GREET, document, noetl

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")]


@pytest.fixture
def home(tmp_path):
    yield tmp_path
    for pid_file in (tmp_path / ".noetl" / "run").glob("*.pid"):
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)


@pytest.fixture
def port(home):
    """Of a server that was started apart from this process."""
    found = free_port()
    started = noetl("server", "start", "--port", str(found), "--detach", home=home)
    assert started.returncode == 0, started.stderr
    return found


def rows(home, *words):
    done = noetl("server", "status", *words, "--format", "json", home=home)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.spec("RO-01")
def test_a_detached_server_runs_playbooks_and_stops_when_asked(home, port):
    (home / "greet.yaml").write_text(GREET)
    ran = noetl("run", "greet.yaml", "--format", "json", home=home, NOETL_SERVER_URL=f"http://127.0.0.1:{port}")
    running = rows(home)
    stopped = noetl("server", "stop", home=home)
    after = rows(home)

    assert (ran.returncode, document(ran)["status"]) == (0, "success")
    assert (running[0], running[1][0]["port"], running[1][0]["answers"]) == (0, port, True)
    assert (stopped.returncode, stopped.stdout[:34]) == (0, f"stopped the server on port {port} ("[:34])
    assert after == (1, [])


def test_advice_about_a_server_names_its_port_and_nothing_that_it_refuses(home):
    port = free_port()
    started = noetl("server", "start", "--port", str(port), "--detach", home=home)
    (home / "greet.yaml").write_text(GREET)
    planned = noetl("plan", "greet.yaml", "--server", f"http://127.0.0.1:{port}", home=home)

    assert started.stderr.endswith(f"next: noetl server stop --port {port}\n")  # another one may run in this home
    assert planned.stderr == f"next: noetl run greet.yaml --server http://127.0.0.1:{port}\n"


def test_a_second_start_on_the_same_port_is_refused(home, port):
    again = noetl("server", "start", "--port", str(port), "--detach", home=home)
    in_front = noetl("server", "start", "--port", str(port), home=home)

    assert (again.returncode, in_front.returncode) == (1, 1)
    assert f"error: the server on port {port} runs already: process" in again.stderr
    assert f"error: the server on port {port} runs already: process" in in_front.stderr
    assert rows(home)[0] == 0


def test_a_server_that_cannot_start_shows_why(home, port):
    other = noetl("server", "start", "--port", str(free_port()), "--detach", home=home)

    assert other.returncode == 1
    assert "did not start: it ended with exit code 3. The end of its log," in other.stderr
    assert "is in use by process" in other.stderr  # one SQLite store, one server
    assert len(rows(home)[1]) == 1


def test_a_killed_server_is_not_thought_to_run_and_can_be_started_again(home, port):
    (before,) = rows(home)[1]
    os.kill(before["pid"], signal.SIGKILL)
    gone = noetl("server", "status", home=home)
    started = noetl("server", "start", "--port", str(port), "--detach", home=home)

    assert (gone.returncode, gone.stderr) == (1, "no server runs\nnext: noetl server start --detach\n")
    assert started.returncode == 0
    assert rows(home)[1][0]["pid"] != before["pid"]


def test_a_server_that_hangs_is_unreachable(home, port):
    (row,) = rows(home)[1]
    os.kill(row["pid"], signal.SIGSTOP)
    code, (hung,) = rows(home)
    os.kill(row["pid"], signal.SIGCONT)

    assert (code, hung["answers"]) == (3, False)


def test_the_first_line_of_a_server_says_where_it_is_and_what_it_uses(home):
    server = subprocess.Popen(
        [sys.executable, "-m", "noetl", "server", "start", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env={**os.environ, "NOETL_HOME": str(home / ".noetl"), "NOETL_LOG_LEVEL": "warning"},
    )
    first = server.stderr.readline()
    listens = next(line for line in server.stderr if line.startswith("noetl"))
    code, (row,) = rows(home)
    server.send_signal(signal.SIGTERM)
    _, rest = server.communicate(timeout=60)

    assert first.startswith(f"noetl {__version__}: starting a server on 127.0.0.1 port 0; store sqlite:///{home}")
    assert listens == f"noetl {__version__}: the server listens at http://127.0.0.1:{row['port']}\n"
    assert first.endswith(f"token file {home}/.noetl/server.token\n")
    assert (code, row["pid"], server.returncode) == (0, server.pid, 0), rest
    assert not Path(row["pid_file"]).exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("server", "stop"), 1, "the server on port 8642 does not run"),
        (("server", "start", "--detach", "--port", "0"), 2, "needs a port to be found by"),
        (("server", "start", "--host", "0.0.0.0"), 2, "server.tls_cert"),  # noqa: S104 - refused, as it should be
        (("worker", "stop"), 1, "the worker of pool default does not run"),
        (("worker", "scale", "3"), 1, "noetl worker start --detach"),
        (("worker", "scale", "0"), 2, "0 is not in the range"),
        (("worker", "status"), 1, "no detached worker runs"),
        (("worker", "start", "--pool", "a b"), 2, "pool (from --pool) must be a name"),
        (("worker", "start", "--queue", "http://x"), 2, "queue.url (from --queue) must be nats://"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_done_is_said_with_its_reason(tmp_path, words, code, says):
    done = noetl(*words, home=tmp_path)

    assert done.returncode == code
    assert says in done.stderr
