"""Executions over the API: the same documents as the command line prints."""

import asyncio

import msgspec
import pytest

from noetl.control import reading
from noetl.control.replaying import state_at
from tests.api.site import HELLO, WAITING
from tests.control.parts import text_of

EXECUTIONS = "/api/v1/executions"


async def registered(api, text=HELLO, name="orders") -> None:
    status, _ = await api.ask("POST", "/api/v1/catalog", {"text": text_of(text, name).decode()})
    assert status == 201


def as_json(document):
    return msgspec.json.decode(msgspec.json.encode(document))


# --- starting --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RO-01")
async def test_a_registered_playbook_is_started_by_its_path(api):
    await registered(api)

    status, started = await api.ask("POST", EXECUTIONS, {"path": "orders", "payload": {"a": 1}}, role="runner")

    await api.engine.until_quiet(int(started["execution_id"]))
    _, shown = await api.ask("GET", f"{EXECUTIONS}/{started['execution_id']}")
    assert (status, started["path"], started["version"], started["is_new"]) == (201, "orders", 1, True)
    assert (shown["status"], shown["ctx"]) == ("success", {"greeting": "hello"})


async def test_a_start_says_what_became_of_it(api):
    await registered(api, WAITING, "held_up")

    _, started = await api.ask("POST", EXECUTIONS, {"path": "held_up"})

    assert (started["status"], started["path"], started["version"]) == ("waiting", "held_up", 1)


async def test_the_same_idempotency_key_is_the_same_execution_however_often_it_is_asked(api):
    await registered(api)
    key = {"Idempotency-Key": "order 42"}

    answers = await asyncio.gather(*(api.ask("POST", EXECUTIONS, {"path": "orders"}, headers=key) for _ in range(20)))

    _, listed = await api.ask("GET", EXECUTIONS)
    assert len({found["execution_id"] for _, found in answers}) == 1
    assert sorted(status for status, _ in answers).count(201) == 1
    assert len(listed["executions"]) == 1


async def test_an_idempotency_key_stands_for_one_playbook(api):
    await registered(api)
    await registered(api, name="others")
    await api.ask("POST", EXECUTIONS, {"path": "orders"}, headers={"Idempotency-Key": "k"})

    status, problem = await api.ask("POST", EXECUTIONS, {"path": "others"}, headers={"Idempotency-Key": "k"})

    assert (status, problem["code"]) == (400, "bad-request")


async def test_a_client_cannot_take_the_key_of_a_schedule(api):
    await registered(api)

    await api.ask("POST", EXECUTIONS, {"path": "orders"}, headers={"Idempotency-Key": "schedule:nightly:1"})

    assert await api.parts.store.execution_by_request("schedule:nightly:1") is None


async def test_an_execution_is_part_of_the_callers_trace(api):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    await registered(api)

    _, started = await api.ask(
        "POST", EXECUTIONS, {"path": "orders"}, headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    )

    _, page = await api.ask("GET", f"{EXECUTIONS}/{started['execution_id']}/events?limit=1")
    assert page["events"][0]["payload"]["trace_id"] == trace


async def test_a_runner_starts_what_is_registered_and_no_text_of_its_own(api):
    text = text_of(HELLO).decode()

    status, problem = await api.ask("POST", EXECUTIONS, {"text": text}, role="runner")

    assert (status, problem["code"]) == (403, "forbidden")
    assert "role author" in problem["detail"]


@pytest.mark.parametrize("body", [{}, {"path": "orders", "text": "a"}, {"path": ""}, {"pfad": "orders"}])
async def test_a_start_that_does_not_name_one_playbook_is_refused(api, body):
    status, problem = await api.ask("POST", EXECUTIONS, body)

    assert (status, problem["code"]) == (400, "bad-body")


async def test_a_payload_that_is_too_large_is_refused_before_it_starts_anything(api):
    await registered(api)

    status, problem = await api.ask("POST", EXECUTIONS, {"path": "orders", "payload": {"a": "x" * (1024 * 1024 + 1)}})

    _, listed = await api.ask("GET", EXECUTIONS)
    assert (status, problem["code"], listed["executions"]) == (413, "too-large", [])


# --- looking ---------------------------------------------------------------------------------------------------------


async def test_each_document_is_the_one_that_the_command_line_prints(api):
    execution_id = await api.run(HELLO)
    store, number = api.parts.store, int(execution_id)
    where = f"{EXECUTIONS}/{execution_id}"

    assert (await api.ask("GET", where))[1] == await reading.show(store, number)
    assert (await api.ask("GET", f"{where}/summary"))[1] == await reading.summary(store, number, ["start"])
    assert (await api.ask("GET", f"{where}/state?at=3"))[1] == as_json(await state_at(store, number, 3))
    assert (await api.ask("GET", f"{where}/verify"))[1]["is_equal"] is True
    assert (await api.ask("GET", EXECUTIONS))[1]["executions"] == await reading.listed(store, 10)


async def test_events_come_in_pages_that_together_are_the_log(api):
    execution_id = await api.run(HELLO)

    found, after = [], 0
    while after is not None:
        _, page = await api.ask("GET", f"{EXECUTIONS}/{execution_id}/events?limit=4&after={after}")
        found += page["events"]
        after = page["next"]

    assert found == [one async for one in reading.envelopes(api.parts.store, int(execution_id), 0)]


async def test_the_list_is_filtered_and_comes_in_pages(api):
    ids = [await api.run(HELLO, name) for name in ("a", "b", "a", "a")]
    waiting = await api.run(WAITING, "a")

    async def listed(query: str) -> list[str]:
        found, cursor = [], ""
        while cursor is not None:
            _, page = await api.ask("GET", f"{EXECUTIONS}?limit=2&{query}{cursor and f'&cursor={cursor}'}")
            found += [row["execution_id"] for row in page["executions"]]
            cursor = page["next"]
        return found

    _, first = await api.ask("GET", f"{EXECUTIONS}?limit=1")
    moment = first["executions"][0]["created_at"]
    assert await listed("") == [waiting, *ids[::-1]]
    assert await listed("path=a") == [waiting, ids[3], ids[2], ids[0]]
    assert await listed("path=a&status=success") == [ids[3], ids[2], ids[0]]
    assert await listed("status=waiting") == [waiting]
    assert await listed("until=2020-01-01T00:00:00Z") == []
    assert await listed(f"since={moment}") == [waiting]


async def test_children_are_listed_by_their_caller(api):
    child, parent = text_of(HELLO, "child"), "workflow: [{step: start, tool: {kind: playbook, path: child}}]"
    await api.ask("POST", "/api/v1/catalog", {"text": child.decode()})
    execution_id = await api.run(parent, "parent")

    _, page = await api.ask("GET", f"{EXECUTIONS}?parent={execution_id}")

    assert [(row["path"], row["parent_execution_id"]) for row in page["executions"]] == [("child", execution_id)]


@pytest.mark.parametrize("given", ["cursor=abc", "cursor=W10", "cursor=WyJjYXRhbG9nIiwxXQ", "limit=0", "limit=1001"])
async def test_what_is_no_place_in_the_list_is_refused(api, given):
    status, _ = await api.ask("GET", f"{EXECUTIONS}?{given}")

    assert status == 400


@pytest.mark.parametrize("given", ["0", "01", "-1", "1.0", "99999", "abc", "9" * 25, "%31%00", "1%2F..%2F2"])
async def test_an_id_of_nothing_is_not_found(api, given):
    await api.run(HELLO)

    status, _ = await api.ask("GET", f"{EXECUTIONS}/{given}")

    assert status == 404


# --- acting ----------------------------------------------------------------------------------------------------------


async def test_a_signal_lets_an_execution_go_on(api):
    execution_id = await api.run(WAITING)

    status, _ = await api.ask("POST", f"{EXECUTIONS}/{execution_id}/signal", {"set": {"ctx.go": True}}, role="runner")

    await api.engine.until_quiet(int(execution_id))
    _, shown = await api.ask("GET", f"{EXECUTIONS}/{execution_id}")
    assert (status, shown["status"], shown["ctx"]) == (200, "success", {"go": True})


async def test_a_cancelled_execution_takes_no_more(api):
    execution_id = await api.run(WAITING)
    where = f"{EXECUTIONS}/{execution_id}"

    cancelled = await api.ask("POST", f"{where}/cancel", {"reason": "enough"}, role="runner")
    again = await api.ask("POST", f"{where}/cancel", {})
    signalled = await api.ask("POST", f"{where}/signal", {"set": {"ctx.go": 1}})
    resumed = await api.ask("POST", f"{where}/resume", {})

    assert cancelled == (200, {"execution_id": execution_id, "status": "cancelled"})
    assert [(status, problem["code"]) for status, problem in (again, signalled)] == [(409, "wrong-state")] * 2
    assert resumed == (200, {"execution_id": execution_id, "status": "cancelled"})


async def test_a_rerun_is_a_new_execution_that_goes_on_from_a_point(api):
    execution_id = await api.run(HELLO)

    status, started = await api.ask("POST", f"{EXECUTIONS}/{execution_id}/rerun", {"from_step": "start"})

    await api.engine.until_quiet(int(started["execution_id"]))
    _, shown = await api.ask("GET", f"{EXECUTIONS}/{started['execution_id']}")
    assert (status, shown["status"], started["execution_id"] != execution_id) == (201, "success", True)


async def test_a_rerun_is_shown_with_the_values_and_the_text_that_it_runs_with(api):
    execution_id = await api.run(WAITING)
    mended = text_of(HELLO, "trial").decode()

    _, started = await api.ask(
        "POST", f"{EXECUTIONS}/{execution_id}/rerun", {"text": mended, "at": 3, "set": {"ctx.given": 7}}
    )

    await api.engine.until_quiet(int(started["execution_id"]))
    _, shown = await api.ask("GET", f"{EXECUTIONS}/{started['execution_id']}")
    assert (shown["version"], shown["ctx"]) == (2, {"given": 7, "greeting": "hello"})


# --- what a token is for ---------------------------------------------------------------------------------------------


async def test_a_token_for_a_path_sees_and_does_nothing_outside_of_it(api):
    inside = await api.run(WAITING, "team/a")
    outside = await api.run(WAITING, "teams")
    api.tokens["team"] = await api.token(role="admin", path_prefix="team")
    text = text_of(HELLO, "elsewhere").decode()

    async def asked(method, path, body=None):
        return (await api.ask(method, path, body, role="team"))[0]

    _, listed = await api.ask("GET", EXECUTIONS, role="team")
    _, catalog = await api.ask("GET", "/api/v1/catalog", role="team")
    assert [row["execution_id"] for row in listed["executions"]] == [inside]
    assert [row["path"] for row in catalog["playbooks"]] == ["team/a"]
    assert await asked("GET", f"{EXECUTIONS}/{outside}") == 404
    assert await asked("GET", f"{EXECUTIONS}/{outside}/events/stream") == 404
    assert await asked("POST", f"{EXECUTIONS}/{outside}/cancel", {}) == 404
    assert await asked("POST", EXECUTIONS, {"path": "teams"}) == 404
    assert await asked("POST", EXECUTIONS, {"text": text}) == 403
    assert await asked("POST", "/api/v1/catalog", {"text": text}) == 403
    assert await asked("PUT", "/api/v1/keychain/x", {"kind": "bearer", "fields": {"token": "secret-value"}}) == 403
    assert await asked("POST", f"{EXECUTIONS}/{inside}/cancel", {}) == 200


async def test_pages_of_a_token_that_sees_little_reach_all_that_it_sees(api):
    mine = await api.run(HELLO, "team/a")
    for _ in range(15):
        await api.run(HELLO, "other")
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")

    found, cursor = [], ""
    while cursor is not None:
        _, page = await api.ask("GET", f"{EXECUTIONS}?limit=1{cursor and f'&cursor={cursor}'}", role="team")
        found += [row["execution_id"] for row in page["executions"]]
        cursor = page["next"]

    assert found == [mine]
