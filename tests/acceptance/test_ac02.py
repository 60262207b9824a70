"""AC-2, retry: a task that meets HTTP 500 is tried N times in all, at the pace its rule asks for, and then fails.

The other side is the witness: how many requests it saw, and how long it waited between them.
"""

from itertools import pairwise

import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl, named

DELAY_SECONDS = 0.1
PAUSES = {"none": [1, 1, 1], "linear": [1, 2, 3], "exponential": [1, 2, 4]}


def playbook(api: ApiServer, retry: str) -> str:
    return f"""
        workflow:
          - step: load
            tool:
              - name: fetch
                kind: http
                url: {api.url}/orders
                spec:
                  policy:
                    rules:
                      - when: "{{{{ output.status == 'error' and output.error.retryable }}}}"
                        then: {{do: retry, {retry}}}
                      - else:
                          then: {{do: continue}}
              - name: keep
                kind: noop
                input: {{orders: "{{{{ fetch.data }}}}"}}
        """


def pauses(api: ApiServer) -> list[float]:
    """How long the server waited between an answer and the next request."""
    return [later.started_at - earlier.ended_at for earlier, later in pairwise(api.requests("/orders"))]


@pytest.mark.spec("AC-2", "TK-07", "TK-08", "EV-04", "TK-19")
def test_a_request_that_keeps_failing_is_made_so_many_times_and_fails_the_run(noetl: Noetl, api: ApiServer) -> None:
    api.script("/orders", Answer(status=500, json={"why": "down"}))

    ended = noetl.run(playbook(api, "attempts: 4, delay: 0.01"))

    error = ended.document["error"]
    assert (ended.code, ended.document["status"]) == (1, "failed")
    assert (error["kind"], error["step"], error["task"]) == ("server_error", "load", "fetch")
    assert [seen.status for seen in api.requests("/orders")] == [500] * 4
    events = noetl.events(ended.document["execution_id"])
    assert [event["attempt"] for event in named(events, "task.started", task_label="fetch")] == [1, 2, 3, 4]
    done = named(events, "task.done", task_label="fetch", status="error")
    assert [(event["attempt"], event["payload"]["do"]) for event in done] == [
        (1, "retry"),
        (2, "retry"),
        (3, "retry"),
        (4, "fail"),
    ]
    assert len(named(events, "step.failed", step="load")) == 1
    assert named(events, "task.started", task_label="keep") == []


@pytest.mark.slow
@pytest.mark.spec("AC-2", "TK-08")
@pytest.mark.parametrize("backoff", PAUSES)
def test_the_pauses_grow_as_the_backoff_says(noetl: Noetl, api: ApiServer, backoff: str) -> None:
    api.script("/orders", Answer(status=500))

    ended = noetl.run(playbook(api, f"attempts: 4, backoff: {backoff}, delay: {DELAY_SECONDS}"))

    wanted = [factor * DELAY_SECONDS for factor in PAUSES[backoff]]
    done = named(noetl.events(), "task.done", task_label="fetch")
    assert ended.document["status"] == "failed"
    assert [event["payload"]["delay_seconds"] for event in done] == pytest.approx([*wanted, 0.0])
    assert len(pauses(api)) == len(wanted)
    assert all(found >= least for found, least in zip(pauses(api), wanted, strict=True)), pauses(api)


@pytest.mark.slow
@pytest.mark.spec("AC-2", "TK-08")
@pytest.mark.parametrize("status", [429, 503])
def test_the_server_may_ask_for_a_longer_pause(noetl: Noetl, api: ApiServer, status: int) -> None:
    refusal = Answer(status=status, headers={"Retry-After": "1"})
    api.script("/orders", refusal, Answer(json=[7]))

    found = noetl.succeed(playbook(api, "attempts: 3, delay: 0.01"))

    assert found["output"]["data"] == {"orders": [7]}
    assert len(pauses(api)) == 1
    assert pauses(api)[0] >= 1.0


@pytest.mark.spec("AC-2", "TK-07", "TK-08")
def test_a_server_that_recovers_in_time_lets_the_pipeline_go_on(noetl: Noetl, api: ApiServer) -> None:
    api.script("/orders", Answer(status=500), Answer(status=502), Answer(json=[1, 2]))

    found = noetl.succeed(playbook(api, "attempts: 3, delay: 0.01"))

    assert found["output"]["data"] == {"orders": [1, 2]}
    assert [seen.status for seen in api.requests("/orders")] == [500, 502, 200]


@pytest.mark.spec("AC-2", "TK-08")
def test_a_fault_of_our_own_is_not_tried_again(noetl: Noetl, api: ApiServer) -> None:
    api.script("/orders", Answer(status=400, json={"why": "no such day"}))

    found = noetl.succeed(playbook(api, "attempts: 4, delay: 0.01"))

    assert len(api.requests("/orders")) == 1
    assert found["output"]["data"] == {"orders": {"why": "no such day"}}
