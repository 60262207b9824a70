"""Kind http signing in, and what is never seen of it."""

import base64
import json
from urllib.parse import parse_qs

import pytest

from noetl.engine.output import envelope
from noetl.keychain.environment import EnvironmentKeychain
from noetl.testing.hands import ResultsInMemory, call, run
from noetl.testing.http_server import Answer, running_api
from noetl.tools import http
from noetl.tools.contract import Hands
from tests.tools.http_parts import http_tool

PLANTED = "planted-s3cret/+"


class ClockByHand:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


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
    return {
        "api": {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": PLANTED, "scope": "read", **fields}
    }


async def test_an_oauth2_token_is_fetched_once_and_used_until_shortly_before_its_end(api):
    tokens = [Answer(json={"access_token": f"token-{number}", "expires_in": 100}) for number in (1, 2)]
    api.script("/token", *tokens)
    clock = ClockByHand()
    environment = {"NOETL_SECRET_API": json.dumps(oauth2(api)["api"])}
    tool = http.make(Hands(clock=clock, results=ResultsInMemory(), credentials=EnvironmentKeychain(environment)))
    used = []

    for seconds in (0, 69, 2):
        await clock.sleep(seconds)
        output = await run(tool, call(http.KIND, url=f"{api.url}/echo", auth="api"))
        used.append(output.data["headers"]["authorization"])
    await tool.close()

    assert used == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]
    asked = api.requests("/token")
    assert [parse_qs(seen.body) for seen in asked] == [{"grant_type": ["client_credentials"], "scope": ["read"]}] * 2
    assert asked[0].headers["authorization"] == basic("me", "planted-s3cret%2F%2B")


async def test_a_token_server_that_wants_the_client_in_the_form_gets_it_there(api):
    api.script("/token", Answer(status=401), Answer(json={"access_token": "token-1"}))

    async with http_tool(credentials=oauth2(api)) as send:
        output = await send(f"{api.url}/echo", auth="api")

    assert output.data["headers"]["authorization"] == "Bearer token-1"
    assert parse_qs(api.requests("/token")[1].body)["client_secret"] == [PLANTED]


async def test_a_refused_token_is_renewed_once(api):
    api.script("/token", *(Answer(json={"access_token": f"token-{number}"}) for number in (1, 2, 3)))
    api.script("/orders", Answer(status=401), Answer(json="in"), Answer(status=401))

    async with http_tool(credentials=oauth2(api)) as send:
        renewed = await send(f"{api.url}/orders", auth="api")
        refused = await send(f"{api.url}/orders", auth="api")

    assert renewed.data == "in"
    assert (refused.error.kind, refused.error.retryable) == ("auth", False)
    assert len(api.requests("/token")) == 3
    assert [seen.headers["authorization"][-1] for seen in api.requests("/orders")] == ["1", "2", "2", "3"]


async def test_a_bearer_token_that_is_refused_is_not_tried_again(api):
    async with http_tool(credentials={"api": {"token": PLANTED}}) as send:
        output = await send(f"{api.url}/status/401", auth="api")

    assert output.error.kind == "auth"
    assert len(api.requests()) == 1


@pytest.mark.parametrize(
    ("answer", "is_retryable"),
    [
        (Answer(status=400, json={"error": PLANTED}), False),
        (Answer(status=503), True),
        (Answer(json={"token": "x"}), False),
        (Answer(text="no"), False),
        (Answer(json=[1]), False),
    ],
)
async def test_a_token_that_cannot_be_had_is_an_auth_error(api, answer, is_retryable):
    api.script("/token", answer)

    async with http_tool(credentials=oauth2(api)) as send:
        output = await send(f"{api.url}/echo", auth="api")

    assert (output.error.kind, output.error.retryable) == ("auth", is_retryable)
    assert 'credential "api"' in output.error.message
    assert PLANTED not in json.dumps(envelope(output, {}))


async def test_the_token_endpoint_is_guarded_too(api):
    async with http_tool(credentials=oauth2(api, token_url="http://169.254.169.254/token")) as send:
        output = await send(f"{api.url}/echo", auth="api")

    assert output.error.kind == "client_error"
    assert api.requests() == []


@pytest.mark.spec("KC-03")
@pytest.mark.parametrize(
    "entry",
    [
        {"token": PLANTED},
        {"key": PLANTED, "header": "X-Key"},
        {"username": "me", "password": PLANTED},
        {"client_id": "me", "client_secret": "other-s3cret", "token_url": "/token"},
    ],
    ids=["bearer", "api_key", "basic", "oauth2"],
)
async def test_a_server_that_echoes_a_secret_does_not_get_it_into_what_is_recorded(api, entry):
    if "token_url" in entry:
        entry = {**entry, "token_url": f"{api.url}/token"}
        api.script("/token", Answer(json={"access_token": PLANTED}))
    keychain = EnvironmentKeychain({"NOETL_SECRET_API": json.dumps(entry)})
    tool = http.make(Hands(clock=ClockByHand(), results=ResultsInMemory(), credentials=keychain))
    output = await run(tool, call(http.KIND, url=f"{api.url}/echo", auth="api", method="POST", json={}))
    await tool.close()

    cleaned = json.dumps(envelope(keychain.redactor().clean(output), {}))

    sent = json.dumps(output.data["headers"])
    coded = basic("me", PLANTED).removeprefix("Basic ")
    assert PLANTED in sent or coded in sent
    assert PLANTED not in cleaned
    assert coded not in cleaned
