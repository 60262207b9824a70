"""A server over PostgreSQL without a queue: the worker is in its process, and is trusted no more than one elsewhere."""

import json
import subprocess
import sys

import psycopg
import pytest

from noetl.testing.services import Restartable
from tests.cluster.cluster import Cluster, start_all, until

pytestmark = pytest.mark.slow

READS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: reads}
keychain: [{name: orders_db, kind: secret_manager}]
workflow: [{step: only, tool: {kind: python, code: "result = len(auth['value'])", auth: orders_db}}]
"""
NOBODY = Restartable("", lambda: None, lambda: None)


@pytest.fixture
def cluster(tmp_path, database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")  # a new home gets tokens from an empty store only
        connection.execute("CREATE SCHEMA public")
    found = Cluster(tmp_path, Restartable(database_url, lambda: None, lambda: None), NOBODY, lease_seconds=15.0)
    del found.environ["NOETL_QUEUE_URL"]
    yield found
    for program in found.servers:
        program.discard()


@pytest.mark.spec("KC-01", "RO-01")
def test_what_it_resolves_is_in_the_audit_log(cluster):
    start_all(cluster, servers=1, workers=0)
    entry = {"kind": "secret_manager", "fields": {"value": "s3cret-of-orders"}}
    assert cluster.ask_any("PUT", "/api/v1/keychain/orders_db", entry).status == 200

    started = cluster.ask_any("POST", "/api/v1/executions", {"text": READS}).body["execution_id"]
    until(lambda: cluster.ask_any("GET", f"/api/v1/executions/{started}").body["status"] == "success", "it succeeds")

    log = cluster.servers[0].log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    [resolved] = [line for line in lines if line.get("deed") == "credential_resolved"]
    assert (resolved["credential"], resolved["execution_id"]) == ("orders_db", started)
    assert "s3cret-of-orders" not in log


def test_a_server_of_another_home_says_what_its_worker_lacks(cluster, tmp_path):
    def noetl(*words, home):
        environ = {**cluster.environ, "NOETL_HOME": str(tmp_path / home), "NOETL_SERVER_PORT": "0"}
        command = [sys.executable, "-m", "noetl", *words]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)

    noetl("token", "create", "--role", "worker", home="one")

    done = noetl("server", "start", home="other")

    assert done.returncode == 2, done.stderr
    assert f"put one into {tmp_path}/other/worker.token (noetl token create --role worker)" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.spec("RO-01")
def test_it_leaves_with_its_server_so_that_nobody_thinks_its_pool_is_served(cluster):
    start_all(cluster, servers=2, workers=0)
    both = {server.process.pid for server in cluster.servers}
    until(lambda: pids_of_workers(cluster) == both, "both workers are there")  # a server is ready before its worker is

    gone = cluster.servers.pop(0)
    assert gone.stop() == 0
    left = pids_of_workers(cluster)

    assert left == {cluster.servers[0].process.pid}


def pids_of_workers(cluster):
    return {row["pid"] for row in cluster.ask_any("GET", "/api/v1/workers").body["workers"]}
