"""AC-5, parallel loop: never more iterations at once than max_in_flight, and each has an iter of its own."""

import json

import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named

ITEMS = 12
PLAYBOOK = """
workload: {api: "", items: 12}
workflow:
  - step: each
    loop:
      in: "{{ range(workload['items']) }}"
      iterator: item
      spec: %s
    tool:
      - name: mark
        kind: noop
        set:
          iter.found_before: "{{ iter.mine | default('nothing') }}"
          iter.mine: "{{ iter.item * 10 }}"
      - name: call
        kind: http
        url: "{{ workload.api }}/work"
        params: {item: "{{ iter.item }}"}
      - name: tell
        kind: http
        method: POST
        url: "{{ workload.api }}/tell"
        json:
          item: "{{ iter.item }}"
          index: "{{ iter.index }}"
          mine: "{{ iter.mine }}"
          before: "{{ iter.found_before }}"
"""


@pytest.fixture
def slow(api: ApiServer) -> ApiServer:
    """A server that answers early items last, so that iterations end in another order than they began."""
    for item in range(ITEMS):
        api.script(f"/work?item={item}", Answer(json={"item": item}, delay_seconds=0.15 if item % 2 else 0.3))
    api.script("/tell", Answer(json={}))
    return api


@pytest.mark.slow
@pytest.mark.spec("AC-5", "LP-04", "SC-03")
@pytest.mark.parametrize("in_flight", [1, 4])
def test_no_more_iterations_run_at_once_than_allowed(noetl: Noetl, slow: ApiServer, in_flight: int) -> None:
    spec = f"{{mode: parallel, max_in_flight: {in_flight}}}"

    noetl.succeed(PLAYBOOK % spec, "--set", f"api={slow.url}")

    assert len(slow.requests("/work")) == ITEMS
    assert slow.concurrency_max() == in_flight


@pytest.mark.slow
@pytest.mark.spec("AC-5", "LP-03")
def test_a_sequential_loop_runs_one_at_a_time_in_order(noetl: Noetl, slow: ApiServer) -> None:
    noetl.succeed(PLAYBOOK % "{mode: sequential}", "--set", f"api={slow.url}", "--set", "items=5")

    assert slow.concurrency_max() == 1
    assert [seen.query["item"] for seen in slow.requests("/work")] == [[str(item)] for item in range(5)]


@pytest.mark.slow
@pytest.mark.spec("AC-5", "SC-03", "LP-04")
def test_an_iteration_sees_only_what_it_wrote_itself(noetl: Noetl, slow: ApiServer) -> None:
    noetl.succeed(PLAYBOOK % "{mode: parallel, max_in_flight: 4}", "--set", f"api={slow.url}")

    told = sorted((json.loads(seen.body) for seen in slow.requests("/tell")), key=lambda one: one["item"])
    assert told == [{"item": item, "index": item, "mine": item * 10, "before": "nothing"} for item in range(ITEMS)]


@pytest.mark.slow
@pytest.mark.spec("AC-5", "LP-08", "EV-02")
def test_the_output_is_in_the_order_of_the_items_though_they_ended_in_another(noetl: Noetl, slow: ApiServer) -> None:
    playbook = (PLAYBOOK % "{mode: parallel, max_in_flight: 4}").partition("      - name: tell")[0]

    found = noetl.succeed(playbook, "--set", f"api={slow.url}")

    ends = [event["iteration_id"] for event in named(noetl.events(), "loop.iteration.done")]
    starts = [event["iteration_id"] for event in named(noetl.events(), "loop.iteration.started")]
    assert ends != starts
    assert sorted(ends) == sorted(starts)
    assert found["output"]["data"] == [{"item": item} for item in range(ITEMS)]
    assert found["output"]["loop"] == {"total": ITEMS, "done": ITEMS, "failed": 0, "skipped": 0}


@pytest.mark.slow
@pytest.mark.spec("AC-5", "LP-04", "LP-09")
def test_each_loop_of_a_nest_counts_its_own_iterations(noetl: Noetl, api: ApiServer) -> None:
    rows = ("a", "b", "c")
    for row in rows:
        api.script(f"/{row}", Answer(json={}, delay_seconds=0.2))
    playbook = f"""
        workflow:
          - step: each
            loop:
              in: "{{{{ {list(rows)} }}}}"
              iterator: row
              spec: {{mode: parallel, max_in_flight: 2}}
              loop:
                in: "{{{{ range(4) }}}}"
                iterator: column
                spec: {{mode: parallel, max_in_flight: 3}}
            tool: {{kind: http, url: "{api.url}/{{{{ iter.parent.row }}}}"}}
        """

    noetl.succeed(playbook)

    assert [api.concurrency_max(f"/{row}") for row in rows] == [3, 3, 3]
    assert api.concurrency_max() <= 2 * 3
    assert len(api.requests()) == 12


@pytest.mark.slow
@pytest.mark.spec("AC-5", "LP-04")
def test_a_worker_with_fewer_slots_runs_fewer_at_once(noetl: Noetl, slow: ApiServer) -> None:
    noetl.environ["NOETL_SLOTS"] = "2"

    noetl.succeed(PLAYBOOK % "{mode: parallel, max_in_flight: 4}", "--set", f"api={slow.url}", "--set", "items=6")

    assert slow.concurrency_max() == 2
