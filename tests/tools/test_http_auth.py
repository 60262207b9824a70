"""Kind http signing in, and what is never seen of it."""

import asyncio
import base64
import json
from contextlib import asynccontextmanager

import pytest

from noetl.engine.output import envelope
from noetl.testing.hands import CredentialsOfKeychain, call, hands, run
from noetl.testing.http_server import Answer, running_api
from noetl.tools import http
from tests.keychain.parts import declared, keychain
from tests.tools.http_parts import http_tool, raw_server, response

PLANTED = "planted-s3cret/+"


@pytest.fixture
def api():
    with running_api() as running:
        yield running


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.spec("KC-03")
@pytest.mark.parametrize(
    ("entry", "header", "value"),
    [
        ({"token": PLANTED}, "authorization", f"Bearer {PLANTED}"),
        ({"kind": "bearer", "token": PLANTED}, "authorization", f"Bearer {PLANTED}"),
        ({"value": PLANTED}, "authorization", f"Bearer {PLANTED}"),
        ({"key": PLANTED, "header": "X-My-Key"}, "x-my-key", PLANTED),
        ({"kind": "api_key", "key": PLANTED}, "x-api-key", PLANTED),
        ({"username": "me", "password": PLANTED}, "authorization", basic("me", PLANTED)),
        ({"kind": "basic", "username": "me", "password": "ü"}, "authorization", basic("me", "ü")),
    ],
)
@pytest.mark.parametrize("auth", ["api", {"name": "api"}, {"credential": "api"}, {"orders": {"credential": "api"}}])
async def test_a_credential_becomes_a_header(api, entry, header, value, auth):
    async with http_tool(credentials={"api": entry}) as send:
        output = await send(f"{api.url}/echo", auth=auth)

    assert output.data["headers"][header] == value


async def test_auth_can_say_what_the_entry_is_to_be_used_as(api):
    async with http_tool(credentials={"api": {"value": PLANTED, "header": "X-K"}}) as send:
        output = await send(f"{api.url}/echo", auth={"name": "api", "type": "api_key"})

    assert output.data["headers"]["x-k"] == PLANTED


async def test_user_and_password_of_a_url_sign_in_and_are_not_shown(api):
    async with http_tool() as send:
        output = await send(api.url.replace("://", "://me:p%40ss@") + "/echo")

    assert output.data["headers"]["authorization"] == basic("me", "p@ss")
    assert output.helpers["http"]["url"] == f"{api.url}/echo"


@pytest.mark.parametrize(
    "entry", [None, {"dsn": PLANTED}, {"kind": "basic", "username": PLANTED}, {"token": f"a\r\n{PLANTED}"}]
)
async def test_a_credential_that_does_not_serve_is_named_and_never_shown(api, entry):
    async with http_tool(credentials={} if entry is None else {"api": entry}) as send:
        output = await send(f"{api.url}/echo", auth="api")

    assert output.error.kind in ("auth", "client_error")
    assert not output.error.retryable
    assert PLANTED not in json.dumps(envelope(output, {}))
    assert api.requests() == []


@pytest.mark.spec("KC-01")
async def test_a_credential_that_is_not_there_is_an_auth_error_that_names_it(api):
    async with http_tool() as send:
        output = await send(f"{api.url}/echo", auth="orders_api")

    assert output.error.kind == "auth"
    assert '"orders_api" could not be resolved' in output.error.message


def oauth2(api, **fields):
    entry = {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": PLANTED, **fields}
    return {"NOETL_SECRET_API": json.dumps(entry)}


@asynccontextmanager
async def signing_tool(home, environment, kind="oauth2", **settings):
    """A function that sends a request signed with the entry "api" of a real keychain; and the keychain."""
    tool = http.make(hands())
    async with keychain(home, environment, **settings) as chain:
        credentials = CredentialsOfKeychain(chain, declared("api", kind, **PROVIDED if settings else {}))

        async def send(url, **values):
            return await run(tool, call(http.KIND, url=url, auth="api", credentials=credentials, **values))

        try:
            yield send, chain
        finally:
            await tool.close()


PROVIDED = {"provider": "env", "variable": "APP_TOKEN"}


@pytest.mark.spec("KC-03", "KC-04")
async def test_an_oauth2_entry_signs_with_the_token_that_the_keychain_has(api, tmp_path):
    api.script("/token", Answer(json={"access_token": "token-1"}))

    async with signing_tool(tmp_path, oauth2(api)) as (send, _):
        outputs = [await send(f"{api.url}/echo") for _ in range(3)]

    assert [output.data["headers"]["authorization"] for output in outputs] == ["Bearer token-1"] * 3
    assert len(api.requests("/token")) == 1


@pytest.mark.spec("KC-06")
async def test_a_refused_token_is_renewed_once(api, tmp_path):
    api.script("/token", *(Answer(json={"access_token": f"token-{number}"}) for number in (1, 2, 3)))
    api.script("/orders", Answer(status=401), Answer(json="in"), Answer(status=401))

    async with signing_tool(tmp_path, oauth2(api)) as (send, _):
        renewed = await send(f"{api.url}/orders")
        refused = await send(f"{api.url}/orders")

    assert renewed.data == "in"
    assert (refused.error.kind, refused.error.retryable) == ("auth", False)
    assert len(api.requests("/token")) == 3
    assert [seen.headers["authorization"][-1] for seen in api.requests("/orders")] == ["1", "2", "2", "3"]


async def refusing_first_token(reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    refusal = b"HTTP/1.1 401 Who\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    writer.write(refusal if b"token-1" in head else response(b'"in"', Content_Type="application/json"))


async def test_many_tasks_refused_with_one_token_renew_it_once(api, tmp_path):
    api.script("/token", *(Answer(json={"access_token": f"token-{number}"}) for number in (1, 2, 3)))

    async with raw_server(refusing_first_token) as orders, signing_tool(tmp_path, oauth2(api)) as (send, _):
        outputs = await asyncio.gather(*(send(orders.url) for _ in range(20)))

    assert [output.data for output in outputs] == ["in"] * 20
    assert len(api.requests("/token")) == 2


async def test_a_token_that_was_refused_and_has_changed_at_its_provider_is_tried_again(api, tmp_path):
    api.script("/orders", Answer(status=401), Answer(json="in"), Answer(status=401))
    environment = {"APP_TOKEN": "before-rotation"}

    async with signing_tool(tmp_path, environment, "bearer", keychain_env_allow=("APP_*",)) as (send, chain):
        await chain.resolve(declared("api", "bearer", **PROVIDED))
        environment["APP_TOKEN"] = "after-rotation"
        rotated = await send(f"{api.url}/orders")
        refused = await send(f"{api.url}/orders")

    used = [seen.headers["authorization"] for seen in api.requests("/orders")]
    assert rotated.data == "in"
    assert refused.error.kind == "auth"
    assert used == ["Bearer before-rotation", "Bearer after-rotation", "Bearer after-rotation"]


async def test_a_bearer_token_that_is_refused_is_not_tried_again(api):
    async with http_tool(credentials={"api": {"token": PLANTED}}) as send:
        output = await send(f"{api.url}/status/401", auth="api")

    assert output.error.kind == "auth"
    assert len(api.requests()) == 1


@pytest.mark.parametrize(("status", "is_retryable"), [(400, False), (503, True)])
async def test_a_token_that_cannot_be_had_is_an_auth_error(api, tmp_path, status, is_retryable):
    api.script("/token", Answer(status=status, json={"error": PLANTED}))

    async with signing_tool(tmp_path, oauth2(api)) as (send, _):
        output = await send(f"{api.url}/echo")

    assert (output.error.kind, output.error.retryable) == ("auth", is_retryable)
    assert '"api"' in output.error.message
    assert PLANTED not in json.dumps(envelope(output, {}))
    assert api.requests("/echo") == []


async def test_the_token_endpoint_is_guarded_too(api, tmp_path):
    async with signing_tool(tmp_path, oauth2(api, token_url="http://169.254.169.254/token")) as (send, _):
        output = await send(f"{api.url}/echo")

    assert output.error.kind == "auth"
    assert "169.254.169.254 is not asked" in output.error.message
    assert api.requests() == []


@pytest.mark.spec("KC-03")
@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("bearer", {"token": PLANTED}),
        ("api_key", {"key": PLANTED, "header": "X-Key"}),
        ("basic", {"username": "me", "password": PLANTED}),
        ("oauth2", {"client_id": "me", "client_secret": "other-s3cret", "token_url": "/token"}),
    ],
)
async def test_a_server_that_echoes_a_secret_does_not_get_it_into_what_is_recorded(api, tmp_path, kind, entry):
    if "token_url" in entry:
        entry = {**entry, "token_url": f"{api.url}/token"}
        api.script("/token", Answer(json={"access_token": PLANTED}))
    async with signing_tool(tmp_path, {"NOETL_SECRET_API": json.dumps(entry)}, kind) as (send, chain):
        output = await send(f"{api.url}/echo", method="POST", json={})

        cleaned = json.dumps(envelope(chain.redactor().clean(output), {}))

    sent = json.dumps(output.data["headers"])
    coded = basic("me", PLANTED).removeprefix("Basic ")
    assert PLANTED in sent or coded in sent
    assert PLANTED not in cleaned
    assert coded not in cleaned


async def test_an_api_key_may_be_a_query_parameter():
    credentials = {"shop": {"key": "planted s3cret&", "param": "api_key"}}

    with running_api() as api:
        async with http_tool(credentials=credentials) as send:
            output = await send(f"{api.url}/echo?page=1", auth="shop")

    assert output.data["query"] == {"page": ["1"], "api_key": ["planted s3cret&"]}
