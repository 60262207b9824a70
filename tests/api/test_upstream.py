"""What clients of the public NoETL server call (UP-10)."""

from base64 import b64encode

import pytest

from tests.api.site import WAITING
from tests.control.parts import text_of

pytestmark = pytest.mark.spec("UP-10")
PLAYBOOK = text_of("workflow: [{step: start, tool: {kind: noop}}]", "orders").decode()


async def register(api, content: str = PLAYBOOK):
    return await api.ask("POST", "/api/catalog/register", {"content": content, "resource_type": "Playbook"})


@pytest.mark.parametrize("content", [PLAYBOOK, b64encode(PLAYBOOK.encode()).decode()], ids=["text", "base64"])
async def test_a_playbook_is_registered_as_text_and_as_base64(api, content):
    status, found = await register(api, content)

    assert status == 200
    assert (found["status"], found["path"], found["version"]) == ("success", "orders", 1)
    assert found["catalog_id"] == "orders@1"


async def test_playbooks_are_listed_and_shown(api):
    await register(api)

    _, posted = await api.ask("POST", "/api/catalog/list", {"resource_type": "Playbook"})
    _, got = await api.ask("GET", "/api/catalog/list/Playbook")
    _, shown = await api.ask("POST", "/api/catalog/resource", {"path": "orders", "version": "latest"})

    assert [entry["path"] for entry in posted["entries"]] == ["orders"]
    assert got == posted
    assert shown["content"] == PLAYBOOK


@pytest.mark.parametrize(
    "body",
    [
        {"path": "orders", "payload": {}},
        {"path": "orders", "version": 1, "workload": {}},
        {"path": "orders", "version": "latest", "args": {}},
        {"catalog_id": "orders@1", "workload": {}, "resource_kind": "playbook"},
    ],
)
@pytest.mark.parametrize("path", ["/api/execute", "/api/run/playbook"])
async def test_a_playbook_is_executed_and_its_end_is_seen(api, path, body):
    await register(api)

    status, started = await api.ask("POST", path, body)

    execution_id = started["execution_id"]
    await api.engine.until_quiet(int(execution_id))
    _, told = await api.ask("GET", f"/api/executions/{execution_id}/status")
    assert status == 200
    assert told == {
        "execution_id": execution_id,
        "status": "COMPLETED",
        "completed": True,
        "failed": False,
        "current_step": None,
        "completed_steps": ["start"],
        "error": None,
    }


async def test_executions_are_listed_and_shown_with_their_events(api):
    await register(api)
    _, started = await api.ask("POST", "/api/execute", {"path": "orders"})
    execution_id = started["execution_id"]
    await api.engine.until_quiet(int(execution_id))

    _, listed = await api.ask("GET", "/api/executions")
    _, shown = await api.ask("GET", f"/api/executions/{execution_id}")
    _, events = await api.ask("GET", f"/api/executions/{execution_id}/events")

    assert [(row["execution_id"], row["status"]) for row in listed] == [(execution_id, "COMPLETED")]
    assert listed[0].items() <= shown.items()
    assert shown["events"] == events["events"]
    assert events["events"][0]["event_type"] == "playbook.execution.requested"
    assert [event["event_id"] for event in events["events"]] == list(range(1, len(events["events"]) + 1))


async def test_an_execution_is_cancelled(api):
    execution_id = await api.run(WAITING)

    status, found = await api.ask("POST", f"/api/executions/{execution_id}/cancel", {"reason": "x", "cascade": True})

    assert (status, found) == (200, {"execution_id": execution_id, "status": "CANCELLED"})


async def test_a_credential_is_stored_and_its_data_never_comes_back(api):
    body = {"name": "pg", "type": "postgres", "data": {"db_host": "h", "db_user": "u", "db_password": "hunter2hunter2"}}
    body["data"]["db_name"] = "d"

    status, kept = await api.ask("POST", "/api/credentials", body)
    _, listed = await api.ask("GET", "/api/credentials?q=p")
    _, shown = await api.ask("GET", "/api/credentials/pg?include_data=false")
    refused, problem = await api.ask("GET", "/api/credentials/pg?include_data=true")
    removed, _ = await api.ask("DELETE", "/api/credentials/pg")

    assert status == 200, kept
    assert (kept["name"], listed["items"], shown) == ("pg", [kept], kept)
    assert (refused, removed) == (403, 204)
    assert "hunter2" not in str([kept, listed, shown, problem])


async def test_there_is_no_way_round_the_roles(api):
    await register(api)

    asked = [
        await api.ask("POST", "/api/catalog/register", {"content": PLAYBOOK}, role="runner"),
        await api.ask("POST", "/api/execute", {"path": "orders"}, role="viewer"),
        await api.ask(
            "POST", "/api/credentials", {"name": "a", "type": "bearer", "data": {"token": "x"}}, role="author"
        ),
        await api.ask("GET", "/api/credentials", role="runner"),
    ]

    assert [status for status, _ in asked] == [403] * 4
