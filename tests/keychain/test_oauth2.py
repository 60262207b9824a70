"""oauth2 client credentials: one request for a token, renewed before its end, given up when it is refused."""

import asyncio
import base64
import json
from urllib.parse import parse_qs

import pytest

from noetl.secret import CredentialUnavailable, Secret, revealed
from noetl.testing.clocks import ClockByHand
from noetl.testing.http_server import Answer, running_api
from tests.keychain.parts import declared, keychain

PLANTED = "planted-s3cret/+"
API = declared(kind="oauth2")


@pytest.fixture
def api():
    with running_api() as running:
        yield running


def tokens(*numbers: int, **fields):
    return [Answer(json={"access_token": f"token-{number}", **fields}) for number in numbers]


def environment(api, **fields):
    entry = {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": PLANTED, **fields}
    return {"NOETL_SECRET_API": json.dumps(entry)}


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.spec("KC-04")
async def test_an_entry_has_a_token_and_its_end(tmp_path, api):
    api.script("/token", *tokens(1, expires_in=3600))
    clock = ClockByHand(1_000_000.0)

    async with keychain(tmp_path, environment(api, scope="read"), clock) as chain:
        entry = await chain.resolve(API)
        known = chain.known_secrets()

    assert entry["token"] == Secret("token-1")
    assert entry["expires_at"] == "1970-01-12T14:46:40+00:00"
    assert entry["scope"] == "read"
    assert {"token-1", PLANTED} <= known


@pytest.mark.spec("KC-04")
async def test_a_token_is_renewed_before_its_end(tmp_path, api):
    api.script("/token", *tokens(1, 2, expires_in=100))
    clock = ClockByHand()
    used = []

    async with keychain(tmp_path, environment(api), clock) as chain:
        for seconds in (0, 40, 36, 20):
            await clock.sleep(seconds)
            used.append(revealed((await chain.resolve(API))["token"]))

    assert used == ["token-1", "token-1", "token-2", "token-2"]
    assert len(api.requests("/token")) == 2


@pytest.mark.spec("KC-04")
async def test_two_hundred_tasks_that_need_a_token_make_one_request(tmp_path, api):
    api.script("/token", Answer(json={"access_token": "token-1"}, delay_seconds=0.05), *tokens(2))

    async with keychain(tmp_path, environment(api)) as chain:
        entries = await asyncio.gather(*(chain.resolve(API) for _ in range(200)))

    assert {revealed(entry["token"]) for entry in entries} == {"token-1"}
    assert len(api.requests("/token")) == 1


@pytest.mark.spec("KC-06")
async def test_a_token_that_was_given_up_is_fetched_anew(tmp_path, api):
    api.script("/token", *tokens(1, 2))

    async with keychain(tmp_path, environment(api)) as chain:
        await chain.resolve(API)
        is_renewed = await chain.renew(API)
        entry = await chain.resolve(API)

    assert is_renewed
    assert revealed(entry["token"]) == "token-2"


async def test_another_secret_gets_another_token(tmp_path, api):
    api.script("/token", *tokens(1, 2))
    variables = environment(api)

    async with keychain(tmp_path, variables) as chain:
        await chain.resolve(API)
        variables.update(environment(api, client_secret="rotated-s3cret"))
        entry = await chain.resolve(API)

    assert revealed(entry["token"]) == "token-2"


async def test_the_client_is_named_in_a_header_first_and_in_the_form_second(tmp_path, api):
    api.script("/token", Answer(status=401), *tokens(1))

    async with keychain(tmp_path, environment(api, scope="read", audience="orders", params={"resource": "r"})) as chain:
        await chain.resolve(API)

    first, second = api.requests("/token")
    wanted = {"grant_type": ["client_credentials"], "scope": ["read"], "audience": ["orders"], "resource": ["r"]}
    assert first.headers["authorization"] == basic("me", "planted-s3cret%2F%2B")
    assert parse_qs(first.body) == wanted
    assert "authorization" not in second.headers
    assert parse_qs(second.body) == {**wanted, "client_id": ["me"], "client_secret": [PLANTED]}


async def test_params_cannot_take_the_place_of_the_client(tmp_path, api):
    api.script("/token", *tokens(1))

    async with keychain(tmp_path, environment(api, params={"grant_type": "password", "client_id": "you"})) as chain:
        await chain.resolve(API)

    assert parse_qs(api.requests("/token")[0].body) == {"grant_type": ["client_credentials"]}


@pytest.mark.spec("KC-01")
@pytest.mark.parametrize(
    ("answer", "is_retryable"),
    [
        (Answer(status=400, json={"error": PLANTED}), False),
        (Answer(status=429), True),
        (Answer(status=503), True),
        (Answer(json={"token": "x"}), False),
        (Answer(json={"access_token": 7}), False),
        (Answer(text=f"no {PLANTED}"), False),
        (Answer(json=[1]), False),
        (Answer(status=302, headers={"Location": "/elsewhere"}), False),
        (Answer(hangs_up=True), True),
    ],
)
async def test_a_token_that_cannot_be_had_says_whether_another_attempt_may_help(tmp_path, api, answer, is_retryable):
    api.script("/token", answer)

    async with keychain(tmp_path, environment(api)) as chain:
        with pytest.raises(CredentialUnavailable) as raised:
            await chain.resolve(API)

    assert raised.value.retryable is is_retryable
    assert 'credential "api"' in str(raised.value)
    assert PLANTED not in str(raised.value)
    assert api.requests("/elsewhere") == []


@pytest.mark.parametrize(
    "token_url", ["http://169.254.169.254/token", "http://10.0.0.1/token", "ftp://example.com", "not a URL"]
)
async def test_the_token_endpoint_is_guarded(tmp_path, api, token_url):
    async with keychain(tmp_path, environment(api, token_url=token_url)) as chain:
        with pytest.raises(CredentialUnavailable) as raised:
            await chain.resolve(API)

    assert not raised.value.retryable
    assert PLANTED not in str(raised.value)


@pytest.mark.parametrize(
    ("expires_in", "uses"),
    [(40, [0, 29]), ("3600", [0, 3500]), (None, [0, 200]), ("soon", [0, 200]), (-1, [0, 200]), (10**400, [0, 200])],
)
async def test_a_token_serves_for_as_long_as_its_maker_says(tmp_path, api, expires_in, uses):
    api.script("/token", *tokens(1, 2, expires_in=expires_in))
    clock = ClockByHand()
    started_at = clock.seconds
    used = []

    async with keychain(tmp_path, environment(api), clock) as chain:
        for seconds in uses:
            clock.seconds = started_at + seconds
            used.append(revealed((await chain.resolve(API))["token"]))

    assert used == ["token-1", "token-1"]


async def test_an_entry_of_a_secret_manager_with_the_fields_of_oauth2_is_one(tmp_path, api):
    api.script("/token", *tokens(1))

    async with keychain(tmp_path, environment(api)) as chain:
        entry = await chain.resolve(declared(kind="secret_manager"))

    assert revealed(entry["token"]) == "token-1"
