"""AC-3, jump routing: an answer 404 goes to store_404, an answer 200 to store_200, and never to both.

The stores are two tables of a real PostgreSQL.
"""

import json
from typing import Any

import psycopg
import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named

PLAYBOOK = """
keychain:
  - {name: warehouse, kind: postgres_credential}
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
        kind: postgres
        auth: warehouse
        command: INSERT INTO missing (path) VALUES ({{ iter.path }})
        spec:
          policy:
            rules:
              - else:
                  then: {do: break}
      - name: store_200
        kind: postgres
        auth: warehouse
        command: INSERT INTO found (path, body) VALUES ({{ iter.path }}, {{ fetch.data }})
"""


def stored(database: psycopg.Connection, table: str) -> list[tuple[Any, ...]]:
    return database.execute(f"SELECT * FROM {table} ORDER BY path").fetchall()  # noqa: S608


@pytest.fixture
def shop(api: ApiServer, noetl: Noetl, database: psycopg.Connection) -> ApiServer:
    database.execute("CREATE TABLE found (path text, body jsonb); CREATE TABLE missing (path text)")
    noetl.environ["NOETL_SECRET_WAREHOUSE"] = json.dumps({"dsn": database.info.dsn})
    api.script("/a", Answer(json={"n": 1}))
    api.script("/b", Answer(status=404))
    api.script("/c", Answer(json={"n": 3}))
    return api


def payload(api: ApiServer, *paths: str) -> tuple[str, str]:
    return "--payload", json.dumps({"api": api.url, "paths": paths})


@pytest.mark.spec("AC-3", "TK-07", "TK-09", "LP-03")
def test_each_answer_reaches_the_store_of_its_status_and_no_other(
    noetl: Noetl, shop: ApiServer, database: psycopg.Connection
) -> None:
    noetl.succeed(PLAYBOOK, *payload(shop, "/a", "/b", "/c"))

    assert stored(database, "found") == [("/a", {"n": 1}), ("/c", {"n": 3})]
    assert stored(database, "missing") == [("/b",)]


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
def test_any_other_answer_fails_and_is_stored_nowhere(
    noetl: Noetl, shop: ApiServer, database: psycopg.Connection
) -> None:
    shop.script("/d", Answer(status=500))

    ended = noetl.run(PLAYBOOK, *payload(shop, "/d"))

    assert (ended.code, ended.document["error"]["task"]) == (1, "fetch")
    assert stored(database, "found") == stored(database, "missing") == []


@pytest.mark.spec("AC-3", "TK-09")
def test_a_jump_to_a_task_that_is_not_there_is_refused_before_anything_is_asked(noetl: Noetl, shop: ApiServer) -> None:
    ended = noetl.run(PLAYBOOK.replace("to: store_404", "to: store_400"), *payload(shop, "/b"))

    errors = [finding["code"] for finding in ended.document["findings"] if finding["severity"] == "error"]
    assert (ended.code, errors) == (2, ["NL301"])
    assert shop.requests() == []
