"""Several executions at once: each has its own answer, and none stops another."""

import pytest

from noetl.api import bulk
from tests.api.site import HELLO, WAITING
from tests.api.test_listing import FAILING

BULK, EXECUTIONS = "/api/v1/executions/bulk", "/api/v1/executions"
TWO_STEPS = """
workflow:
  - step: start
    tool: {kind: noop, set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}}
    next: {arcs: [{step: break}]}
  - step: break
    tool: {kind: python, code: "raise ValueError(1)"}
"""


async def act(api, action, ids, role="runner", headers=None, **more):
    body = {"action": action, "execution_ids": ids, **more}
    status, found = await api.ask("POST", BULK, body, role=role, headers=headers)
    assert status == 200, found
    return found["results"]


async def status_of(api, execution_id):
    return (await api.ask("GET", f"{EXECUTIONS}/{execution_id}"))[1]["status"]


async def test_those_that_can_be_cancelled_are_and_the_others_say_why_not(api):
    waiting = [await api.run(WAITING) for _ in range(3)]
    ended = await api.run(HELLO)

    results = await act(api, "cancel", [waiting[0], ended, "999", *waiting[1:]], reason="enough")

    assert [one["is_ok"] for one in results] == [True, False, False, True, True]
    assert "has ended" in results[1]["error"]
    assert "999" in results[2]["error"]
    assert [await status_of(api, one) for one in waiting] == ["cancelled"] * 3
    _, page = await api.ask("GET", f"{EXECUTIONS}/{waiting[2]}/events")
    assert [event["payload"]["reason"] for event in page["events"] if "cancel.requested" in event["name"]] == ["enough"]


async def test_each_is_run_again_as_a_new_one(api):
    ids = [await api.run(HELLO, name) for name in ("a", "b")]

    results = await act(api, "rerun", ids)

    new = [one["new_execution_id"] for one in results]
    for execution_id in new:
        await api.engine.until_quiet(int(execution_id))
    assert len({*ids, *new}) == 4
    assert [await status_of(api, one) for one in new] == ["success"] * 2


async def test_a_rerun_from_what_failed_keeps_what_came_before(api):
    failed, well = await api.run(TWO_STEPS), await api.run(HELLO)

    results = await act(api, "rerun", [failed, well], from_failed=True)

    new = results[0]["new_execution_id"]
    await api.engine.until_quiet(int(new))
    _, shown = await api.ask("GET", f"{EXECUTIONS}/{new}")
    assert (shown["status"], shown["ctx"]) == ("failed", {"n": 1})
    assert results[1]["is_ok"] is False
    assert "name a step" in results[1]["error"]


async def test_the_same_request_again_runs_nothing_again(api):
    ids = [await api.run(HELLO, name) for name in ("a", "b")]
    key = {"Idempotency-Key": "night-shift"}

    first = await act(api, "rerun", ids, headers=key)
    again = await act(api, "rerun", ids, headers=key)

    assert first == again
    assert len({one["new_execution_id"] for one in first}) == 2


async def test_those_under_way_are_taken_up_and_ended_ones_say_so(api):
    waiting, ended = await api.run(WAITING), await api.run(FAILING)

    results = await act(api, "resume", [waiting, ended])

    assert [one["is_ok"] for one in results] == [True, False]
    assert "rerun" in results[1]["error"]


async def test_a_token_of_a_path_reaches_nothing_outside_of_it(api):
    inside, outside = await api.run(WAITING, "team/a"), await api.run(WAITING, "teams")
    api.tokens["team"] = await api.token(role="runner", path_prefix="team")

    results = await act(api, "cancel", [inside, outside], role="team")
    unknown = await act(api, "cancel", ["999999"], role="team")

    assert [one["is_ok"] for one in results] == [True, False]
    assert results[1]["error"].replace(outside, "999999") == unknown[0]["error"]
    assert await status_of(api, outside) == "waiting"


async def test_an_execution_that_is_named_twice_is_asked_once(api):
    waiting = await api.run(WAITING)

    assert [one["is_ok"] for one in await act(api, "cancel", [waiting, waiting])] == [True]


async def test_what_there_is_no_time_for_is_left_and_said(api, monkeypatch):
    waiting = await api.run(WAITING)
    monkeypatch.setattr(bulk, "SECONDS_MAX", -1.0)

    (result,) = await act(api, "cancel", [waiting])

    assert (result["is_ok"], "ask again" in result["error"]) == (False, True)
    assert await status_of(api, waiting) == "waiting"


@pytest.mark.parametrize(
    "body",
    [
        {"action": "destroy", "execution_ids": ["1"]},
        {"action": "cancel", "execution_ids": []},
        {"action": "cancel", "execution_ids": ["1"] * 201},
        {"action": "cancel", "execution_ids": ["0"]},
        {"action": "cancel", "execution_ids": [1]},
        {"action": "cancel"},
    ],
)
async def test_what_is_no_bulk_is_refused(api, body):
    assert (await api.ask("POST", BULK, body))[0] == 400
