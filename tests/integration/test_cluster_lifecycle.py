"""Servers and workers of a cluster, started, looked at, scaled and stopped by the commands, on PostgreSQL and NATS."""

import json
import os
import signal
import sys
from urllib.request import Request, urlopen

import psycopg
import pytest

from noetl.testing.services import free_port
from tests.cli.running import GREET, document, noetl

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")]


class Home:
    """The commands of one home, on one database and one NATS."""

    def __init__(self, folder, database_url, nats_url):
        self.folder = folder
        self.queue = {"NOETL_QUEUE_URL": nats_url, "NOETL_QUEUE_PREFIX": folder.name}
        self.store = {"NOETL_STORE_URL": database_url}

    def __call__(self, *words, code=0, **environ):
        done = noetl(*words, home=self.folder, **{**self.queue, **environ})
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def rows(self, *words, **environ):
        return json.loads(self(*words, "--format", "json", **environ).stdout)

    def ask_for_an_execution(self, url):
        """Start one and wait for nothing."""
        token = (self.folder / ".noetl" / "server.token").read_text().strip()
        body = json.dumps({"text": GREET}).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with urlopen(Request(f"{url}/api/v1/executions", body, headers), timeout=30) as answer:  # noqa: S310 - loopback
            assert answer.status in (200, 201, 202)

    def findings(self, code=1, **environ):
        found = document(self("doctor", "--format", "json", code=code, **environ))["findings"]
        return {f"{one['area']} {one['name']}": (one["state"], one["says"]) for one in found}


@pytest.fixture
def home(tmp_path, database_url, nats_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")  # a new home gets tokens from an empty store only
        connection.execute("CREATE SCHEMA public")
    found = Home(tmp_path, database_url, nats_url)
    yield found
    for pid_file in (tmp_path / ".noetl" / "run").glob("*.pid"):
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)


@pytest.mark.spec("RO-01")
def test_two_servers_and_a_worker_live_in_one_home(home):
    ports = [free_port(), free_port()]
    for port in ports:
        home("server", "start", "--port", str(port), "--detach", **home.store)
    (home.folder / "greet.yaml").write_text(GREET)
    server = {"NOETL_SERVER_URL": f"http://127.0.0.1:{ports[1]}"}
    home.ask_for_an_execution(server["NOETL_SERVER_URL"])

    alone = [home.findings(**home.store)["work pool default"], home.findings(code=0, **server)["servers pool default"]]
    shown = document(home("show", "last", "--format", "json", **server))["unserved"]
    home("worker", "start", "--processes", "1", "--detach")  # it knows no store
    ran = document(home("run", "greet.yaml", "--format", "json", **server))
    scaled = home.rows("worker", "scale", "2")
    seen = home.findings(code=0, **server)
    home("server", "stop", code=2)  # which of the two?
    home("server", "stop", "--port", str(ports[0]))
    left = home.rows("server", "status")
    home("worker", "stop")
    home("server", "stop")

    assert alone == [
        ("warn", "1 ready, 0 at work, 0 parked; no worker polls it"),
        ("warn", "1 ready, 0 at work, 0 parked, 0 workers"),
    ]
    assert [(one["pool"], one["jobs"]) for one in shown] == [("default", 1)]
    assert ran["status"] == "success"
    assert seen["servers clock"][0] == "ok"
    assert (scaled["before"], scaled["processes"]) == (1, 2)
    assert seen["servers workers"] == ("ok", "2 seen")
    assert [row["port"] for row in left] == [ports[1]]


LARGE = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large}
workflow: [{step: start, tool: {kind: noop, input: {text: "{{ 'x' * 100000 }}"}}}]
"""


@pytest.mark.spec("RS-08")
def test_results_of_a_cluster_are_swept_on_a_servers_machine(home):
    home("server", "start", "--port", str(free_port()), "--detach", **home.store)
    (row,) = home.rows("server", "status")
    home("worker", "start", "--processes", "1", "--detach")
    (home.folder / "large.yaml").write_text(LARGE)
    ran = document(home("run", "large.yaml", "--format", "json", NOETL_SERVER_URL=row["url"]))

    refused = home("sweep", "--format", "json", code=2, NOETL_SERVER_URL=row["url"])
    swept = home.rows("sweep", "--keep-days", "0", "--remote", **home.store)
    home("worker", "stop")
    home("server", "stop")

    assert ran["status"] == "success"
    assert "run noetl sweep on its machine" in refused.stderr
    assert (swept["removed"], swept["kept"] > 0) == (0, True)  # what is younger than a day stays, and is found


def test_the_doctor_looks_into_postgresql_and_nats(home):
    before = home.findings(**home.store)
    home("server", "start", "--port", str(free_port()), "--detach", **home.store)
    (row,) = home.rows("server", "status")
    after = home.findings(**home.store)

    # PostgreSQL of the tests forces nothing to disk, and the doctor says so
    assert before["store durability"][0] == after["store durability"][0] == "fail"
    assert before["queue servers"] == ("warn", f"no server listens under {home.folder.name}")
    assert after["queue servers"][0] == "ok"
    assert after["store schema"][0] == after["store clock"][0] == after["store job table"][0] == "ok"
    assert after["queue jetstream"][0] == after["queue max_payload"][0] == "ok"
    assert after["work incidents"] == after["work abandoned"] == ("ok", "none")
    assert after[f"servers port {row['port']}"][0] == "ok"
