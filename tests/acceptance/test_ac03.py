"""AC-3, jump routing: an answer 404 goes to store_404, an answer 200 to store_200, and never to both.

Both stores are web APIs here, so that what reached them can be counted; the same pipeline into tables of a real
PostgreSQL follows with `kind: postgres`.
"""

import json

import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named

PLAYBOOK = """
workload: {api: "", paths: []}
workflow:
  - step: collect
    loop:
      in: "{{ workload.paths }}"
      iterator: path
    tool:
      - name: fetch
        kind: http
        url: "{{ workload.api }}{{ iter.path }}"
        spec:
          policy:
            rules:
              - when: "{{ output.http.status == 404 }}"
                then: {do: jump, to: store_404}
              - when: "{{ output.status == 'error' }}"
                then: {do: fail}
              - else:
                  then: {do: jump, to: store_200}
      - name: store_404
        kind: http
        method: POST
        url: "{{ workload.api }}/missing"
        json: {path: "{{ iter.path }}"}
        spec:
          policy:
            rules:
              - else:
                  then: {do: break}
      - name: store_200
        kind: http
        method: POST
        url: "{{ workload.api }}/found"
        json: {path: "{{ iter.path }}", body: "{{ fetch.data }}"}
"""


def stored(api: ApiServer, path: str) -> list[dict]:
    return [json.loads(seen.body) for seen in api.requests(path)]


@pytest.fixture
def shop(api: ApiServer) -> ApiServer:
    for path in ("/found", "/missing"):
        api.script(path, Answer(status=201, json={}))
    api.script("/a", Answer(json={"n": 1}))
    api.script("/b", Answer(status=404))
    api.script("/c", Answer(json={"n": 3}))
    return api


def payload(api: ApiServer, *paths: str) -> tuple[str, str]:
    return "--payload", json.dumps({"api": api.url, "paths": paths})


@pytest.mark.spec("AC-3", "TK-07", "TK-09", "LP-03")
def test_each_answer_reaches_the_store_of_its_status_and_no_other(noetl: Noetl, shop: ApiServer) -> None:
    noetl.succeed(PLAYBOOK, *payload(shop, "/a", "/b", "/c"))

    assert stored(shop, "/found") == [{"path": "/a", "body": {"n": 1}}, {"path": "/c", "body": {"n": 3}}]
    assert stored(shop, "/missing") == [{"path": "/b"}]


@pytest.mark.spec("AC-3", "TK-07", "EV-02", "EV-04")
def test_the_log_tells_where_each_pipeline_jumped(noetl: Noetl, shop: ApiServer) -> None:
    found = noetl.succeed(PLAYBOOK, *payload(shop, "/a", "/b"))

    events = noetl.events(found["execution_id"])
    jumps = [event["payload"]["to"] for event in named(events, "task.done", task_label="fetch")]
    assert jumps == ["store_200", "store_404"]
    assert [event["task_label"] for event in named(events, "task.started")] == [
        "fetch",
        "store_200",
        "fetch",
        "store_404",
    ]


@pytest.mark.spec("AC-3", "TK-07", "LP-07")
def test_any_other_answer_fails_and_is_stored_nowhere(noetl: Noetl, shop: ApiServer) -> None:
    shop.script("/d", Answer(status=500))

    ended = noetl.run(PLAYBOOK, *payload(shop, "/d"))

    assert (ended.code, ended.document["error"]["task"]) == (1, "fetch")
    assert stored(shop, "/found") == stored(shop, "/missing") == []


@pytest.mark.spec("AC-3", "TK-09")
def test_a_jump_to_a_task_that_is_not_there_is_refused_before_anything_is_asked(noetl: Noetl, shop: ApiServer) -> None:
    ended = noetl.run(PLAYBOOK.replace("to: store_404", "to: store_400"), *payload(shop, "/b"))

    errors = [finding["code"] for finding in ended.document["findings"] if finding["severity"] == "error"]
    assert (ended.code, errors) == (2, ["NL301"])
    assert shop.requests() == []
