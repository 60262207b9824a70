"""Schedules and triggers over the API: applied, listed, changed, and seen only by who sees their playbook."""

import pytest

from tests.api.site import HELLO
from tests.control.parts import text_of

SCHEDULES, TRIGGERS = "/api/v1/schedules", "/api/v1/triggers"
HEAD = "apiVersion: noetl.io/v2\n"


def schedule(name="nightly", path="trial", when='cron: "30 2 * * *"'):
    return f"{HEAD}kind: Schedule\nmetadata: {{name: {name}}}\nspec:\n  playbook: {{path: {path}}}\n  {when}\n"


def trigger(name="order", path="trial"):
    source = "webhook: {auth: token, credential: hook}"
    return f"{HEAD}kind: Trigger\nmetadata: {{name: {name}}}\nspec:\n  playbook: {{path: {path}}}\n  {source}\n"


async def apply(api, path, text, role="author"):
    return await api.ask("PUT", path, {"text": text}, role=role)


async def register(api, name="trial"):
    await api.ask("POST", "/api/v1/catalog", {"text": text_of(HELLO, name).decode()})


async def test_an_applied_schedule_is_listed_and_shown_with_its_next_due_times(api):
    status, applied = await apply(api, f"{SCHEDULES}/nightly", schedule())
    _, listed = await api.ask("GET", SCHEDULES, role="viewer")
    _, shown = await api.ask("GET", f"{SCHEDULES}/nightly?count=3", role="viewer")

    assert (status, applied["state"], applied["is_changed"]) == (200, "active", True)
    assert "no playbook" in applied["notes"][0]
    assert [row["name"] for row in listed["schedules"]] == ["nightly"]
    assert [due[11:] for due in shown["next"]] == ["02:30:00+00:00"] * 3


async def test_the_same_document_again_changes_nothing_and_another_one_does(api):
    await register(api)
    await apply(api, f"{SCHEDULES}/nightly", schedule())
    _, same = await apply(api, f"{SCHEDULES}/nightly", schedule())
    _, other = await apply(api, f"{SCHEDULES}/nightly", schedule(when="every: 1h"))

    assert (same["is_changed"], same["notes"]) == (False, [])
    assert (other["is_changed"], other["every_seconds"], other["cron"]) == (True, 3600, None)


async def test_a_body_of_yaml_is_as_good(api):
    headers = {"Content-Type": "application/yaml"}
    status, _, _ = await api.raw("PUT", f"{SCHEDULES}/nightly", data=schedule().encode(), headers=headers)

    assert status == 200


async def test_a_schedule_is_paused_resumed_run_and_removed(api):
    await register(api)
    await apply(api, f"{SCHEDULES}/nightly", schedule())
    _, paused = await api.ask("POST", f"{SCHEDULES}/nightly/pause", {}, role="runner")
    _, resumed = await api.ask("POST", f"{SCHEDULES}/nightly/resume", {}, role="runner")
    key = {"Idempotency-Key": "mine"}
    first = await api.ask("POST", f"{SCHEDULES}/nightly/run", {}, role="runner", headers=key)
    again = await api.ask("POST", f"{SCHEDULES}/nightly/run", {}, role="runner", headers=key)
    _, shown = await api.ask("GET", f"{SCHEDULES}/nightly")
    removed = await api.ask("DELETE", f"{SCHEDULES}/nightly", role="author")
    gone = await api.ask("GET", f"{SCHEDULES}/nightly")

    assert (paused["state"], paused["next_at"]) == ("paused", None)
    assert resumed["state"] == "active"
    assert (first[0], again[0], first[1]["is_new"], again[1]["is_new"]) == (201, 200, True, False)
    assert first[1]["execution_id"] == again[1]["execution_id"] == shown["last_execution_id"]
    assert [(one["outcome"], one["why"]) for one in shown["recent"]] == [("started", "by hand")]
    assert (removed[0], gone[0], gone[1]["code"]) == (204, 404, "unknown-document")


async def test_a_removed_schedule_can_be_applied_again_and_begins_anew(api):
    await register(api)
    await apply(api, f"{SCHEDULES}/nightly", schedule())
    await api.ask("POST", f"{SCHEDULES}/nightly/run", {})
    await api.ask("DELETE", f"{SCHEDULES}/nightly")
    status, applied = await apply(api, f"{SCHEDULES}/nightly", schedule())

    assert (status, applied["is_changed"], applied["counts"]["started"]) == (200, True, 0)


@pytest.mark.parametrize(
    ("name", "text", "status", "code"),
    [
        ("nightly", schedule(when='cron: "0 0 30 2 *"'), 422, "NL134"),
        ("nightly", schedule(when="{}"), 422, "NL101"),
        ("another", schedule(), 400, "bad-request"),
        ("nightly", trigger(), 400, "bad-request"),
        ("no%20name", schedule(), 404, "unknown-document"),
    ],
)
async def test_what_is_no_such_schedule_is_refused(api, name, text, status, code):
    found, problem = await apply(api, f"{SCHEDULES}/{name}", text)

    assert (found, problem["code"]) == (status, code)


async def test_pages_go_on_where_the_last_one_ended(api):
    for name in ("c", "a", "b"):
        await apply(api, f"{SCHEDULES}/{name}", schedule(name))
        await apply(api, f"{TRIGGERS}/{name}", trigger(name))
    for path, key in ((SCHEDULES, "schedules"), (TRIGGERS, "triggers")):
        _, first = await api.ask("GET", f"{path}?limit=2")
        _, second = await api.ask("GET", f"{path}?limit=2&cursor={first['next']}")

        assert [row["name"] for row in first[key]] == ["a", "b"]
        assert ([row["name"] for row in second[key]], second["next"]) == (["c"], None)


async def test_a_token_of_one_path_sees_and_changes_only_what_is_below_it(api):
    for kind, text in ((SCHEDULES, schedule), (TRIGGERS, trigger)):
        await apply(api, f"{kind}/theirs", text("theirs", "theirs/a"))
        await apply(api, f"{kind}/ours", text("ours", "ours/a"))
        token = await api.token(role="author", path_prefix="ours")
        mine = {"Authorization": f"Bearer {token}"}
        _, listed = await api.ask("GET", kind, headers=mine)
        shown, _ = await api.ask("GET", f"{kind}/theirs", headers=mine)
        removed, _ = await api.ask("DELETE", f"{kind}/theirs", headers=mine)
        outside, _ = await api.ask("PUT", f"{kind}/new", {"text": text("new", "theirs/b")}, headers=mine)
        taken, _ = await api.ask("PUT", f"{kind}/theirs", {"text": text("theirs", "ours/b")}, headers=mine)

        (rows,) = [rows for key, rows in listed.items() if key != "next"]
        assert [row["name"] for row in rows] == ["ours"]
        assert (shown, removed, outside, taken) == (404, 404, 403, 403)


async def test_a_trigger_is_applied_shown_and_removed(api):
    status, applied = await apply(api, f"{TRIGGERS}/order", trigger())
    _, shown = await api.ask("GET", f"{TRIGGERS}/order", role="viewer")
    removed, _ = await api.ask("DELETE", f"{TRIGGERS}/order", role="author")
    gone, _ = await api.ask("GET", f"{TRIGGERS}/order")

    assert (status, applied["hook"]) == (200, "/api/v1/hooks/order")
    assert (shown["counts"], shown["webhook"]["credential"]) == ({"started": 0, "repeated": 0, "refused": 0}, "hook")
    assert (removed, gone) == (204, 404)
