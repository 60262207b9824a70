"""Webhooks over a real socket: who may set a trigger off, what a second request comes to, and what people see."""

import base64
import hashlib
import hmac
import time

import msgspec
import pytest

from noetl.starting.hooks import REFUSED_AFTER_SECONDS
from tests.api.site import HELLO, site
from tests.api.test_schedules import HEAD, TRIGGERS, apply, register
from tests.control.parts import state_of

SECRET = "planted-hook-s3cret"
HOOKS = "/api/v1/hooks"
TOKEN = "webhook: {auth: token, credential: hook}"
SIGNED = "webhook: {auth: hmac, credential: hook, headers: [X-Event]}"
BODY = b'{"order": {"id": 7}}'


@pytest.fixture
async def api(tmp_path, monkeypatch):
    monkeypatch.setenv("NOETL_SECRET_HOOK", SECRET)
    async with site(tmp_path) as found:
        await register(found)
        yield found


async def listen(api, spec, name="order", path="trial", more=""):
    text = f"{HEAD}kind: Trigger\nmetadata: {{name: {name}}}\nspec:\n  playbook: {{path: {path}}}\n  {spec}\n{more}"
    status, said = await apply(api, f"{TRIGGERS}/{name}", text)
    assert status == 200, said


async def post(api, body=BODY, name="order", media="application/json", **headers):
    sent = {"Content-Type": media} | {name.replace("_", "-"): value for name, value in headers.items()}
    status, _, data = await api.raw("POST", f"{HOOKS}/{name}", role="none", data=body, headers=sent)
    return status, msgspec.json.decode(data)


def signed(body=BODY, seconds=0, secret=SECRET, algorithm="sha256", form=lambda digest: f"sha256={digest.hex()}"):
    moment = str(int(time.time()) + seconds)
    digest = hmac.digest(secret.encode(), f"{moment}.".encode() + body, algorithm)
    return {"X_NoETL_Timestamp": moment, "X_NoETL_Signature": form(digest)}


async def executions(api):
    return await api.parts.store.executions()


async def event_of(api, answer):
    return (await state_of(api.engine, int(answer["execution_id"]))).workload["event"]


async def test_a_request_with_the_token_starts_the_playbook_with_its_body(api):
    await listen(api, TOKEN)
    status, answer = await post(api, X_NoETL_Token=SECRET)
    event = await event_of(api, answer)

    assert (status, answer["is_new"]) == (202, True)
    assert (event["trigger"], event["body"]) == ("order", {"order": {"id": 7}})
    assert SECRET not in msgspec.json.encode(event).decode()


async def test_a_signed_request_starts_it_and_the_same_one_again_is_the_same_execution(api):
    await listen(api, SIGNED)
    once = signed()
    first = await post(api, X_Event="paid", **once)
    again = await post(api, X_Event="paid", **once)
    event = await event_of(api, first[1])

    assert (first[0], again[0]) == (202, 202)
    assert (first[1]["is_new"], again[1]["is_new"]) == (True, False)
    assert first[1]["execution_id"] == again[1]["execution_id"]
    assert event["headers"] == {"X-Event": "paid"}
    assert len(await executions(api)) == 1


@pytest.mark.parametrize(
    "form",
    [
        lambda digest: digest.hex(),
        lambda digest: digest.hex().upper(),
        lambda digest: base64.b64encode(digest).decode(),
        lambda digest: "sha256=" + base64.b64encode(digest).decode(),
    ],
)
async def test_a_signature_may_be_written_as_senders_write_it(api, form):
    await listen(api, SIGNED)

    assert (await post(api, **signed(form=form)))[0] == 202


@pytest.mark.parametrize(
    "headers",
    [
        {},
        signed(secret="another secret"),
        signed(body=b"{}"),
        signed(algorithm="sha512"),
        signed() | {"X_NoETL_Timestamp": str(int(time.time()) + 1)},
        {"X_NoETL_Signature": signed()["X_NoETL_Signature"]},
        signed(form=lambda _: "sha256="),
        signed(form=lambda _: "="),
        signed(form=lambda _: "é"),
        signed(form=lambda _: "0" * 64),
        signed(form=lambda _: "a" * 4000),
    ],
)
async def test_a_wrong_signature_is_refused_as_if_there_were_no_hook(api, headers):
    await listen(api, SIGNED)
    sent = {name: value.encode().decode("latin-1") for name, value in headers.items()}
    wrong = await post(api, **sent)
    unknown = await post(api, name="nowhere", **sent)

    assert wrong[0] == unknown[0] == 401
    assert wrong[1]["detail"] == unknown[1]["detail"]
    assert await executions(api) == []


@pytest.mark.parametrize("token", ["", "wrong", SECRET + "x", SECRET[:-1], "Bearer wrong"])
async def test_a_wrong_token_is_refused(api, token):
    await listen(api, TOKEN)

    assert (await post(api, X_NoETL_Token=token))[0] == 401


async def test_a_header_that_is_there_twice_is_not_believed(api):
    await listen(api, TOKEN)
    url = f"{api.url}{HOOKS}/order"
    headers = [("Content-Type", "application/json"), ("X-NoETL-Token", SECRET), ("X-NoETL-Token", SECRET)]
    async with api.session.post(url, data=BODY, headers=headers) as answer:
        status = answer.status

    assert status == 401


async def test_unknown_and_wrong_take_the_same_time(api):
    await listen(api, TOKEN)

    async def refused_after(name):
        began = time.perf_counter()
        await post(api, name=name, X_NoETL_Token="wrong")
        return time.perf_counter() - began

    spans = [await refused_after(name) for name in ("order", "nowhere") for _ in range(3)]

    assert min(spans) >= REFUSED_AFTER_SECONDS


async def test_the_bearer_of_the_api_is_no_way_into_a_hook(api):
    await listen(api, TOKEN)
    headers = api.headers("admin") | {"Content-Type": "application/json"}
    status, _, _ = await api.raw("POST", f"{HOOKS}/order", role="none", data=BODY, headers=headers)

    assert status == 401


@pytest.mark.parametrize(("seconds", "status"), [(-200, 202), (200, 202), (-400, 401), (400, 401)])
async def test_a_signature_is_good_for_its_time_only(api, seconds, status):
    await listen(api, SIGNED)

    assert (await post(api, **signed(seconds=seconds)))[0] == status


async def test_a_field_of_the_body_tells_requests_apart(api):
    await listen(api, TOKEN, more="  dedupe: {field: order.id}\n")
    answers = [await post(api, body, X_NoETL_Token=SECRET) for body in (BODY, BODY, b'{"order": {"id": 8}}')]
    without = await post(api, b"{}", X_NoETL_Token=SECRET)

    assert [answer["is_new"] for _, answer in answers] == [True, False, True]
    assert without[0] == 400
    assert "order.id" in without[1]["detail"]


async def test_a_header_tells_requests_apart(api):
    await listen(api, TOKEN, more="  dedupe: {header: X-Delivery}\n")
    answers = [await post(api, X_NoETL_Token=SECRET, X_Delivery=word) for word in ("a", "a", "b")]

    assert [answer["is_new"] for _, answer in answers] == [True, False, True]
    assert (await post(api, X_NoETL_Token=SECRET))[0] == 400


async def test_a_repeated_request_after_a_new_version_of_the_playbook_is_still_the_same(api):
    await listen(api, TOKEN, more="  dedupe: {header: X-Delivery}\n")
    _, first = await post(api, X_NoETL_Token=SECRET, X_Delivery="a")
    text = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: trial}\n" + HELLO.replace("hello", "hi")
    await api.ask("POST", "/api/v1/catalog", {"text": text})
    status, again = await post(api, X_NoETL_Token=SECRET, X_Delivery="a")

    assert (status, again["execution_id"]) == (202, first["execution_id"])


async def test_a_github_signature_needs_no_time_where_the_body_tells_requests_apart(api):
    source = "webhook: {auth: hmac, credential: hook, header: X-Hub-Signature-256, timestamp_header: null}"
    await listen(api, source, more="  dedupe: {field: order.id}\n")
    signature = "sha256=" + hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
    answers = [await post(api, X_Hub_Signature_256=signature) for _ in range(2)]

    assert [(status, answer["is_new"]) for status, answer in answers] == [(202, True), (202, False)]


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[" * 100 + b"]" * 100, "application/json", 400),
        (b"[" * 60_000, "application/json", 400),
        (b'{"n": 99999999999999999999}', "application/json", 400),
        (b'"' + b"x" * 70_000 + b'"', "application/json", 413),
        (b"a=1", "application/x-www-form-urlencoded", 415),
    ],
)
async def test_a_body_that_cannot_be_used_is_refused_with_a_reason(api, body, media, status):
    await listen(api, "webhook: {auth: token, credential: hook, body_bytes_max: 65536}")
    found, problem = await post(api, body, media=media, X_NoETL_Token=SECRET)

    assert found == status, problem
    assert problem["detail"]
    assert await executions(api) == []


async def test_text_is_taken_as_it_is(api):
    await listen(api, "webhook: {auth: token, credential: hook, format: text}")
    _, answer = await post(api, "grüße {{ 7 * 7 }}".encode(), media="text/plain", X_NoETL_Token=SECRET)

    assert (await event_of(api, answer))["body"] == "grüße {{ 7 * 7 }}"


async def test_a_hook_may_be_used_only_so_often(api):
    await listen(api, TOKEN, more="  rate_per_minute: 2\n")
    statuses = [(await post(api, X_NoETL_Token=SECRET))[0] for _ in range(3)]
    wrong = (await post(api, X_NoETL_Token="wrong"))[0]

    assert statuses == [202, 202, 429]
    assert wrong == 401  # who may not use it does not learn that it is used


async def test_people_see_what_came_of_the_requests(api):
    await listen(api, TOKEN, path="nowhere")
    status, problem = await post(api, X_NoETL_Token=SECRET)
    await api.parts.hooks.starts.flush()
    _, broken = await api.ask("GET", f"{TRIGGERS}/order")
    await listen(api, TOKEN)
    _, answer = await post(api, X_NoETL_Token=SECRET)
    await api.parts.hooks.starts.flush()
    _, shown = await api.ask("GET", f"{TRIGGERS}/order")

    assert (status, problem["code"]) == (404, "unknown-playbook")
    assert (broken["counts"]["refused"], "nowhere" in broken["last_error"]) == (1, True)
    assert (shown["counts"]["started"], shown["last_execution_id"]) == (1, answer["execution_id"])


async def test_a_secret_that_is_nowhere_is_said_to_people_and_not_to_the_sender(api):
    await listen(api, "webhook: {auth: token, credential: missing}")
    status, problem = await post(api, X_NoETL_Token=SECRET)
    await api.parts.hooks.starts.flush()
    _, shown = await api.ask("GET", f"{TRIGGERS}/order")

    assert (status, "missing" in problem["detail"]) == (401, False)
    assert '"missing" cannot be had' in shown["last_error"]


async def test_a_paused_trigger_and_one_that_is_no_webhook_start_nothing(api):
    await listen(api, TOKEN, more="  paused: true\n")
    await listen(api, "nats: {subject: orders.new}", name="subject")
    paused = await post(api, X_NoETL_Token=SECRET)
    subject = await post(api, name="subject", X_NoETL_Token=SECRET)

    assert (paused[0], subject[0]) == (409, 401)
    assert await executions(api) == []
