"""What comes in and what does not: hosts, tokens, paths that look like others, bodies (security 5, 6, 17, 18, 21)."""

import asyncio
import json

import pytest
import pytest_asyncio

from noetl.api import allowance, reading
from noetl.api.operations import Operation
from noetl.api.table import OPERATIONS
from noetl.errors import Unreachable
from tests.api.site import HELLO, NONE, site

PRIVATE = "/api/v1/executions"
EVERYWHERE = "0.0.0.0"  # noqa: S104  # a name in a header


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory):
    """One server for all of these: none of them leaves anything behind."""
    async with site(tmp_path_factory.mktemp("front_door")) as found:
        yield found


# --- paths -----------------------------------------------------------------------------------------------------------

LOOK_ALIKES = """
/healthz/ //healthz /healthz// /healthz;x /healthz%2f /HEALTHZ /Healthz /healthz%00 /healthz.json /./healthz
/x/../healthz /%68ealthz/x /api/docs/ /api/docs/x /API/docs /api//docs /api/docs;x
/api/v1/executions/healthz /api/v1/executions/1/healthz /api/v1/keychain/healthz /api/v1/keychain/docs
/api/v1/catalog/healthz /api/v1/executions;healthz /api/v1/executions?healthz /api/v1/executions/%2e%2e/healthz
/api/v1/executions/..%2f..%2f..%2fhealthz /healthz/../api/v1/executions /api/v1/%65xecutions /api/v1/executions/
/api/v1/keychain/api%2Fdocs /api/v1//executions /api/V1/executions /api/v1/executions%23/healthz
""".split()


async def test_a_path_that_looks_like_a_public_one_opens_nothing(api):
    await api.run(HELLO)

    for path in LOOK_ALIKES:
        status, _, body = await api.raw("GET", path, role=NONE)
        assert status in (401, 404, 405), path
        assert b"execution_id" not in body, path


async def test_a_percent_encoded_letter_is_the_same_word_and_needs_the_same_role(api):
    assert (await api.raw("GET", "/%68ealthz", role=NONE))[0] == 200
    assert (await api.raw("GET", "/api/v1/%65xecutions", role=NONE))[0] == 401
    assert (await api.raw("GET", "/api/v1/%65xecutions", role="viewer"))[0] == 200


async def test_another_method_is_told_which_there_are(api):
    status, headers, _ = await api.raw("DELETE", PRIVATE)

    assert (status, headers["Allow"]) == (405, "GET, POST")


# --- who asks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer wrong", "Bearer noetl_" + "A" * 43, "Bearer " + "x" * 5000],
)
async def test_what_is_no_token_of_ours_is_nobody(api, given):
    status, headers, _ = await api.raw("GET", PRIVATE, role=NONE, headers={"Authorization": given})

    assert status == 401
    assert headers["WWW-Authenticate"].startswith("Bearer")


async def test_a_token_in_the_query_or_in_a_cookie_is_none(api):
    token = api.tokens["admin"]

    in_query = await api.raw("GET", f"{PRIVATE}?token={token}", role=NONE)
    in_cookie = await api.raw("GET", PRIVATE, role=NONE, headers={"Cookie": f"token={token}; session={token}"})

    assert (in_query[0], in_cookie[0]) == (401, 401)


async def test_a_revoked_token_opens_nothing_more(api):
    _, made = await api.ask("POST", "/api/v1/tokens", {"role": "viewer"})
    api.tokens["short"] = made["token"]
    before, _ = await api.ask("GET", PRIVATE, role="short")

    await api.ask("DELETE", f"/api/v1/tokens/{made['id']}")

    assert (before, (await api.ask("GET", PRIVATE, role="short"))[0]) == (200, 401)


# --- browsers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", EVERYWHERE, "[::2]", ""]
)
async def test_a_name_that_somebody_else_made_resolve_to_us_is_refused(api, host):
    status, _, body = await api.raw("GET", "/healthz", role=NONE, headers={"Host": host})

    assert status == 421
    assert b"wrong-host" in body


@pytest.mark.parametrize(
    "media", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "", "text/json"]
)
async def test_what_a_form_of_another_site_can_send_is_refused(api, media):
    headers = {"Content-Type": media, "Origin": "http://evil.example"}

    status, _, _ = await api.raw("POST", PRIVATE, data=b'{"path": "orders"}', headers=headers)

    assert status == 415


async def test_no_other_site_may_read_an_answer(api):
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}

    preflight, _, _ = await api.raw("OPTIONS", PRIVATE, role=NONE, headers=asked)
    _, headers, _ = await api.raw("GET", PRIVATE, headers={"Origin": "http://evil.example"})

    assert preflight == 405
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "Set-Cookie" not in headers
    assert "Server" not in headers


# --- bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b'{"path": 1}',
        b'{"path": "a", "unknown": 1}',
        b'{"path": "a", "payload": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"path": "a", "payload": {"a": ' + b'{"a":' * 20_000,
        b'{"path": "a", "payload": {"n": 123456789012345678901234567890}}',
        b'{"path": "a", "payload": {"n": NaN}}',
        b'{"path": "a", "payload": {"n": 1e999}}',
        b'{"path": "\xff"}',
        b'{"path": "a\\ud800"}',
        b'{"path": "a\\u0000b"}',
        b"\x00" * 100,
    ],
)
async def test_a_body_that_is_not_what_was_declared_is_refused(api, body):
    status, headers, answer = await api.raw("POST", PRIVATE, data=body, headers={"Content-Type": "application/json"})

    assert status == 400, answer
    assert headers["Content-Type"] == "application/problem+json"


async def test_a_compressed_body_is_not_unpacked(api):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    status, _, body = await api.raw("POST", PRIVATE, data=b"\x1f\x8b", headers=headers)

    assert (status, b"compressed" in body) == (415, True)


async def test_a_body_without_an_end_is_cut_at_the_limit(api):
    sent = 0

    async def endless():
        nonlocal sent
        while sent < 100 * 1024 * 1024:
            sent += 64 * 1024
            yield b"x" * 64 * 1024

    headers = api.headers("admin") | {"Content-Type": "application/json"}
    try:
        async with api.session.post(f"{api.url}/api/v1/catalog", data=endless(), headers=headers) as answer:
            assert answer.status == 413
    except OSError:
        pass  # the server had hung up before all was sent

    assert sent < 50 * 1024 * 1024


async def test_a_body_that_trickles_in_is_given_up(api, monkeypatch):
    monkeypatch.setattr(reading, "BODY_SECONDS_MAX", 0.05)
    host, port = api.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))

    token = api.tokens["admin"]
    head = f"POST {PRIVATE} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
    line = await asyncio.wait_for(reader.readline(), 5)

    assert b" 408 " in line
    writer.close()


# --- queries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    ["limit=1&limit=2", "limit=x", "unknown=1", "status=weird", "until=null", "until=1", "path=%ff", "path=%00"],
)
async def test_a_query_that_is_not_what_was_declared_is_refused(api, query):
    status, problem = await api.ask("GET", f"{PRIVATE}?{query}")

    assert (status, problem["code"]) == (400, "bad-query")


# --- faults ----------------------------------------------------------------------------------------------------------


def failing(error: Exception) -> tuple[Operation, ...]:
    """The table, and one more operation, which fails."""

    async def fail(_):
        raise error

    return (
        *OPERATIONS,
        Operation(
            method="GET", path="/api/v1/fail", role="viewer", summary="", handler=fail, tag="test", answers={200: None}
        ),
    )


async def test_a_fault_of_ours_says_nothing_of_itself_and_can_be_found_in_the_log(tmp_path):
    async with site(tmp_path, failing(KeyError("hunter2"))) as api:
        status, _, body = await api.raw("GET", "/api/v1/fail")

    problem = json.loads(body)
    lines = [json.loads(line) for line in (tmp_path / "noetl.log").read_text().splitlines()]
    (logged,) = [line for line in lines if line.get("action") == "request_failed"]
    assert (status, problem["code"]) == (500, "internal")
    assert b"hunter2" not in body
    assert b"Traceback" not in body
    assert logged["trace_id"] == problem["trace_id"]
    assert "KeyError" in logged["traceback"]


async def test_a_service_that_is_away_says_when_to_come_back(tmp_path):
    async with site(tmp_path, failing(Unreachable("cannot reach the store"))) as api:
        status, headers, body = await api.raw("GET", "/api/v1/fail")

    assert (status, headers["Retry-After"], json.loads(body)["detail"]) == (503, "2", "cannot reach the store")


# --- how much --------------------------------------------------------------------------------------------------------


async def test_one_token_cannot_crowd_out_another(tmp_path, monkeypatch):
    monkeypatch.setattr(allowance, "BURST", 5.0)
    monkeypatch.setattr(allowance, "RATE_PER_SECOND", 0.001)

    async with site(tmp_path) as api:
        mine = [(await api.raw("GET", PRIVATE, role="viewer"))[0] for _ in range(8)]
        others = (await api.raw("GET", PRIVATE, role="runner"))[0]

    assert mine == [200] * 5 + [429] * 3
    assert others == 200


async def test_a_line_about_a_request_has_the_executions_number_and_nothing_else_of_the_path(api, caplog):
    caplog.set_level("INFO", logger="noetl.api")
    execution_id = await api.run(HELLO)

    await api.ask("GET", f"/api/v1/executions/{execution_id}/summary")
    await api.ask("GET", "/api/v1/executions/s3cret-canary/summary")

    found, unknown = [record for record in caplog.records if record.message.endswith("/summary")]
    assert (found.message, found.execution_id) == ("GET /api/v1/executions/{execution_id}/summary", execution_id)
    assert "canary" not in str(vars(unknown))
