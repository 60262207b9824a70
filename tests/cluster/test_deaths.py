"""What a death costs: that of a worker its lease and two seconds, that of a server the requests it was answering."""

import threading
import time
from collections import Counter

import psycopg
import pytest

from noetl.testing.http_server import Answer, running_api
from tests.cluster.cluster import running_cluster, until
from tests.cluster.playbooks import PLAYBOOKS

pytestmark = pytest.mark.slow
LEASE_SECONDS = 3.0
MORE_SECONDS = 2.0
CALL = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: call, path: deaths/call}
workload: {url: ""}
workflow:
  - step: start
    tool:
      - {name: before, kind: http, url: "{{ workload.url }}/before"}
      - {name: slow, kind: http, method: POST, url: "{{ workload.url }}/slow"}
"""
STATUS = "SELECT status FROM execution WHERE id = %s"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deaths")
    with running_cluster(folder, lease_seconds=LEASE_SECONDS) as running:
        yield running


def begin(cluster, server_url, text, **payload):
    body = {"text": text, "name": "trial.yaml", "payload": payload}
    answer = cluster.ask(server_url, "POST", "/api/v1/executions", body)
    assert answer.status == 201, answer
    return answer.body["execution_id"]


def one_row(cluster, query, *values):
    with psycopg.connect(cluster.postgres.url) as connection:
        return connection.execute(query, values).fetchone()


def until_success(cluster, execution_id, seconds_max=60.0):
    until(lambda: one_row(cluster, STATUS, execution_id) == ("success",), f"{execution_id} ends", seconds_max)


@pytest.mark.spec("RO-03", "TK-15")
def test_the_death_of_a_worker_costs_its_lease_and_two_seconds_at_most(cluster):
    with running_api() as api:
        api.script("/before", Answer(json={}))
        api.script("/slow", Answer(json={}, delay_seconds=50.0), Answer(json={"is": "done"}))
        execution_id = begin(cluster, cluster.urls[0], CALL, url=api.url)
        until(lambda: api.concurrency_max("/slow") == 1, "the task is under way")
        (name,) = one_row(cluster, "SELECT worker FROM job WHERE execution_id = %s", execution_id)
        (worker,) = [one for one in cluster.workers if f"-{one.process.pid}-" in name]

        worker.kill()
        killed_at = time.monotonic()
        until(lambda: api.concurrency_max("/slow") == 2, "another worker goes on")
        seconds = time.monotonic() - killed_at
        until_success(cluster, execution_id)
        worker.start()

        assert seconds < LEASE_SECONDS + MORE_SECONDS
        assert len(api.requests("/before")) == 1  # what is on record is not done again
        keys = {request.headers["idempotency-key"] for request in api.requests("/slow")}
        assert len(keys) == 1


@pytest.mark.spec("RO-03")
def test_the_death_of_a_server_is_noticed_by_nobody_but_the_requests_in_flight(cluster, tmp_path):
    ledger = tmp_path / "ledger"
    ledger.touch()
    first, second = cluster.urls
    execution_id = begin(cluster, first, PLAYBOOKS["loops"], ledger=str(ledger))
    until(lambda: ledger.read_text().count("ended") >= 3, "the loop is under way")
    slowest = threading.Thread(target=cluster.servers[0].kill)

    slowest.start()
    began_at = time.monotonic()
    other_id = begin(cluster, second, PLAYBOOKS["chain"], ledger=str(ledger))
    seconds = time.monotonic() - began_at
    until_success(cluster, execution_id)
    until_success(cluster, other_id)
    slowest.join()
    cluster.servers[0].start()
    cluster.await_ready()

    assert seconds < 1.0
    counts = Counter(line.split()[1] for line in ledger.read_text().splitlines() if line.startswith("begun"))
    assert max(counts.values()) == 1  # no tool was run again: its worker lived, and told the other server
