"""Kind secrets: proves, refreshes and rotates an entry, and gives nothing of it away."""

import json

import pytest

from noetl.engine.output import envelope
from noetl.testing.clocks import ClockByHand
from noetl.testing.hands import CredentialsOfKeychain, call, hands, run
from noetl.testing.http_server import Answer, running_api
from noetl.tools import secrets
from tests.keychain.parts import PLANTED, declared, keychain

OAUTH2 = declared("api", "oauth2")
VAULT = declared("api", provider="vault", path="app")


@pytest.fixture
def api():
    with running_api() as running:
        running.script("/token", *(token(number) for number in (1, 2, 3)))
        yield running


def token(number: int, seconds: int = 3600) -> Answer:
    return Answer(json={"access_token": f"token-{number}-s3cret", "expires_in": seconds})


def version(number: int) -> Answer:
    return Answer(json={"data": {"data": {"value": f"value-{number}-s3cret"}, "metadata": {"version": number}}})


def environment(api):
    entry = {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": PLANTED}
    return {"NOETL_SECRET_API": json.dumps(entry)}


async def outputs(chain, clock, wanted, *calls):
    """The output of each call, one after the other."""
    tool = secrets.make(hands(clock=clock))
    credentials = CredentialsOfKeychain(chain, wanted)
    return [await run(tool, call(secrets.KIND, auth="api", credentials=credentials, **values)) for values in calls]


@pytest.mark.spec("TL-01", "KC-06")
async def test_get_proves_an_entry_and_shows_what_may_be_known_of_it(tmp_path, api):
    clock = ClockByHand(1_000_000.0)
    async with keychain(tmp_path, environment(api), clock) as chain:
        output, again = await outputs(chain, clock, OAUTH2, {"action": "get"}, {"action": "get"})

    expected = {
        "name": "api",
        "kind": "oauth2",
        "version": None,
        "expires_at": "1970-01-12T14:46:40+00:00",
        "renewed": False,
    }
    assert output.data == again.data == expected
    assert len(api.requests("/token")) == 1


@pytest.mark.spec("KC-06")
@pytest.mark.parametrize(
    ("seconds", "values", "is_renewed"),
    [(0, {}, False), (0, {"force": True}, True), (0, {"action": "rotate"}, True), (3000, {}, False)],
)
async def test_refresh_renews_what_is_near_its_end_or_when_forced(tmp_path, api, seconds, values, is_renewed):
    clock = ClockByHand()
    async with keychain(tmp_path, environment(api), clock) as chain:
        await chain.resolve(OAUTH2)
        await clock.sleep(seconds)
        (output,) = await outputs(chain, clock, OAUTH2, values)

    assert output.data["renewed"] is is_renewed
    assert len(api.requests("/token")) == (2 if is_renewed else 1)


@pytest.mark.spec("KC-06")
async def test_rotate_of_a_manager_reads_the_new_version_and_fails_while_there_is_none(tmp_path, api):
    api.script("/v1/secret/data/app", version(1), version(1), version(2))
    clock = ClockByHand()
    async with keychain(tmp_path, {"NOETL_VAULT_TOKEN": "t0ken-of-vault"}, clock, keychain_vault_url=api.url) as chain:
        waiting, rotated = await outputs(chain, clock, VAULT, {"action": "rotate"}, {"action": "rotate"})

    assert (waiting.error.kind, waiting.error.retryable) == ("auth", True)
    assert "is still the same" in waiting.error.message
    assert (rotated.data["version"], rotated.data["renewed"]) == ("2", True)


async def test_a_fixed_value_cannot_be_rotated_and_refreshing_it_changes_nothing(tmp_path):
    clock = ClockByHand()
    async with keychain(tmp_path, {"NOETL_SECRET_API": PLANTED}, clock) as chain:
        rotated, refreshed = await outputs(chain, clock, declared("api"), {"action": "rotate"}, {"force": True})

    assert (rotated.error.kind, rotated.error.retryable) == ("client_error", False)
    assert "noetl keychain set api" in rotated.error.message
    assert refreshed.data == {
        "name": "api",
        "kind": "secret_manager",
        "version": None,
        "expires_at": None,
        "renewed": False,
    }


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("action", ["get", "refresh", "rotate"])
async def test_the_value_is_in_no_output(tmp_path, api, action):
    clock = ClockByHand()
    async with keychain(tmp_path, environment(api), clock) as chain:
        shown = json.dumps([envelope(output, {}) for output in await outputs(chain, clock, OAUTH2, {"action": action})])

    assert PLANTED not in shown
    assert "s3cret" not in shown


async def test_an_action_that_a_template_made_up_is_refused():
    output = await run(secrets.make(hands()), call(secrets.KIND, auth="api", action="reveal"))

    assert (output.error.kind, output.error.message) == (
        "client_error",
        '"action" must be one of: get, refresh, rotate',
    )


@pytest.mark.parametrize("auth", ["", 7, None, {"other": "api"}, ["api"]])
async def test_auth_must_name_an_entry(auth):
    output = await run(secrets.make(hands()), call(secrets.KIND, auth=auth))

    assert output.error.kind == "client_error"
