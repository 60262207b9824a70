"""A cluster as whoever watches it sees it: metrics that add up over its servers, whole traces, lines as JSON."""

import json
from collections import Counter

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.cluster import running_cluster, until
from tests.cluster.deployment import exchange
from tests.cluster.playbooks import PLAYBOOKS
from tests.test_tracing import receiving

pytestmark = pytest.mark.slow
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
STARTED = ("chain", "loops", "caller", "stubborn")
LIVE = "SELECT count(*) FROM execution WHERE status <> 'success'"


@pytest.fixture(scope="module")
def receiver():
    with receiving() as running:
        yield running


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, receiver):
    folder = tmp_path_factory.mktemp("observed")
    with running_cluster(folder, NOETL_OTEL_URL=receiver.url) as running:
        work(running, folder / "ledger")
        yield running


def work(cluster, ledger):
    """One of each, started at both servers in turn, all of them part of one trace."""
    ledger.touch()
    for name in ("called", *STARTED):
        cluster.ask_any("POST", "/api/v1/catalog", {"text": PLAYBOOKS[name], "name": f"{name}.yaml"})
    for number, name in enumerate(STARTED):
        body = {"path": f"load/{name}", "payload": {"ledger": str(ledger)}}
        url = cluster.urls[number % len(cluster.urls)]
        assert cluster.ask(url, "POST", "/api/v1/executions", body, traceparent=f"00-{TRACE}-{SPAN}-01").status == 201
    with psycopg.connect(cluster.postgres.url, autocommit=True) as connection:
        until(lambda: connection.execute(LIVE).fetchone() == (0,), "all have succeeded")


def scraped(cluster):
    """The samples of each server, by name and labels."""
    found = []
    for url in cluster.urls:
        answer = cluster.ask(url, "GET", "/metrics")
        assert answer.status == 200
        families = text_string_to_metric_families(answer.body)
        samples = [sample for family in families for sample in family.samples]
        found.append({(one.name, *sorted(one.labels.items())): one.value for one in samples})
    return found


def rows(cluster, query):
    with psycopg.connect(cluster.postgres.url) as connection:
        return connection.execute(query).fetchall()


def test_what_the_servers_counted_adds_up_to_what_is_on_record(cluster):
    pages = scraped(cluster)

    def total(*key):
        return sum(page.get(key, 0.0) for page in pages)

    ((executions, events),) = rows(cluster, "SELECT count(*), sum(head) FROM execution")
    ((attempts,),) = rows(cluster, "SELECT count(*) FROM event WHERE name = 'task.done'")
    assert total("noetl_executions_started_total") == executions == len(STARTED) + 3
    assert total("noetl_executions_ended_total", ("status", "success")) == executions
    assert total("noetl_events_total") == events
    ended = sum(value for page in pages for key, value in page.items() if key[0] == "noetl_tasks_total")
    assert ended == attempts
    handed_out = sum(value for page in pages for key, value in page.items() if key[0] == "noetl_jobs_handed_out_total")
    ((jobs,),) = rows(cluster, "SELECT count(DISTINCT (execution_id, run, iter)) FROM event WHERE lease <> 0")
    assert handed_out >= jobs  # one that waited for a child was given out twice


def test_every_server_shows_the_same_workers(cluster):
    for page in scraped(cluster):
        assert page["noetl_pool_workers", ("pool", "default")] == len(cluster.workers)
        assert page["noetl_store_reachable",] == 1


def test_metrics_are_not_for_everybody(cluster):
    assert exchange(cluster.urls[0], "GET", "/metrics", {}, None).status == 401


def test_an_execution_and_its_children_are_one_trace_though_two_servers_wrote_it(cluster, receiver):
    ((executions,),) = rows(cluster, "SELECT count(*) FROM execution")
    ((attempts,),) = rows(cluster, "SELECT count(*) FROM event WHERE name = 'task.done'")
    ((steps,),) = rows(cluster, "SELECT count(*) FROM event WHERE name = 'step.scheduled'")
    wanted = executions + attempts + steps
    until(lambda: len(received(receiver)) >= wanted, "all spans have come")

    spans = received(receiver)

    assert len(spans) == wanted
    assert max(Counter(span.span_id for span in spans).values()) == 1
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    known = {span.span_id for span in spans} | {bytes.fromhex(SPAN)}
    assert [span.name for span in spans if span.parent_span_id not in known] == []
    assert [span.name for span in spans if span.end_time_unix_nano < span.start_time_unix_nano] == []


def received(receiver):
    return [
        span
        for request in list(receiver.requests)
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_every_line_of_every_log_is_json_and_says_who_says_it(cluster):
    logs = {program.name: program.log for program in (*cluster.servers, *cluster.workers)}

    for name, log in logs.items():
        lines = [json.loads(line) for line in log.splitlines()]
        assert lines, name
        assert all({"ts", "level", "message"} <= line.keys() for line in lines), name
        of_its_work = [line for line in lines if line.get("action") != "lifecycle"]
        assert all(line.get("server") or line.get("worker") for line in of_its_work), (name, of_its_work)
        assert cluster.token not in log
