"""AC-4, streaming pagination: while there is more, the pipeline jumps back with the next page; it ends with break."""

import json

import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named

PLAYBOOK = """
workload: {api: ""}
workflow:
  - step: page_through
    tool:
      - name: begin
        kind: noop
        set: {step.page: 1, step.seen: 0}
      - name: fetch
        kind: http
        url: "{{ workload.api }}/items"
        params: {page: "{{ step.page }}", per_page: 10}
        set:
          step.has_more: "{{ output.data.has_more }}"
          step.seen: "{{ step.seen + (output.data['items'] | length) }}"
      - name: shorten
        kind: python
        code: |
          result = [row["id"] for row in input["rows"]]
        input: {rows: "{{ fetch.data['items'] }}"}
      - name: store
        kind: http
        method: POST
        url: "{{ workload.api }}/store"
        json: {page: "{{ step.page }}", ids: "{{ shorten.data }}"}
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: {do: retry, attempts: 3, delay: 0.01}
              - else:
                  then: {do: continue}
      - name: decide
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{ step.has_more }}"
                then: {do: jump, to: fetch, set: {step.page: "{{ step.page + 1 }}"}}
              - else:
                  then: {do: break, set: {ctx.seen: "{{ step.seen }}", ctx.pages: "{{ step.page }}"}}
      - name: after_the_break
        kind: http
        url: "{{ workload.api }}/never"
"""
IDS = [list(range(1, 11)), list(range(11, 21)), list(range(21, 26))]  # the 25 items of the server, ten a page


@pytest.fixture
def shop(api: ApiServer) -> ApiServer:
    api.script("/store", Answer(status=201, json={}))
    return api


def stored(api: ApiServer) -> list[dict]:
    return [json.loads(seen.body) for seen in api.requests("/store") if seen.status == 201]


@pytest.mark.slow
@pytest.mark.spec("AC-4", "LP-06", "TK-07", "TK-09", "SC-05")
def test_every_page_is_fetched_and_stored_once_in_order_and_then_it_stops(noetl: Noetl, shop: ApiServer) -> None:
    found = noetl.succeed(PLAYBOOK, "--set", f"api={shop.url}")

    assert [seen.query["page"] for seen in shop.requests("/items")] == [["1"], ["2"], ["3"]]
    assert stored(shop) == [{"page": page, "ids": ids} for page, ids in enumerate(IDS, 1)]
    assert shop.requests("/never") == []
    assert found["ctx"] == {"seen": 25, "pages": 3}


@pytest.mark.slow
@pytest.mark.spec("AC-4", "LP-06", "TK-07", "EV-02")
def test_the_log_shows_the_jumps_back_and_the_break(noetl: Noetl, shop: ApiServer) -> None:
    found = noetl.succeed(PLAYBOOK, "--set", f"api={shop.url}")

    events = noetl.events(found["execution_id"])
    decisions = [event["payload"] for event in named(events, "task.done", task_label="decide")]
    assert [(one["do"], one["to"]) for one in decisions[:-1]] == [("jump", "fetch")] * 2
    assert decisions[-1]["do"] == "break"
    fetches = {event["task_run_id"] for event in named(events, "task.started", task_label="fetch")}
    assert len(fetches) == 3
    assert len(named(events, "step.done", step="page_through")) == 1


@pytest.mark.slow
@pytest.mark.spec("AC-4", "LP-06", "TK-08")
def test_a_page_that_could_not_be_stored_is_stored_again_and_no_page_is_fetched_twice(
    noetl: Noetl, shop: ApiServer
) -> None:
    shop.script("/store", Answer(status=201), Answer(status=500), Answer(status=500), Answer(status=201))

    noetl.succeed(PLAYBOOK, "--set", f"api={shop.url}")

    assert [seen.status for seen in shop.requests("/store")] == [201, 500, 500, 201, 201]
    assert [one["page"] for one in stored(shop)] == [1, 2, 3]
    assert len(shop.requests("/items")) == 3
