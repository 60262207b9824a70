"""`noetl keychain test`: how far a credential comes, and that a report shows nothing of it."""

import msgspec
import pytest

from noetl.config import load
from noetl.errors import RequestError
from noetl.proving import prove
from noetl.safekeeping import keep
from noetl.testing.http_server import Answer, running_api

PLANTED = "planted-s3cret-value"


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.delenv("NOETL_MASTER_KEY", raising=False)
    return load(home=str(tmp_path / "home"), environ={}, folder=tmp_path)


@pytest.fixture
def api():
    with running_api() as running:
        yield running


def keep_client(settings, api):
    fields = {"token_url": f"{api.url}/token", "client_id": "robot", "client_secret": PLANTED}
    keep(settings, "orders", "oauth2", fields)


def shown(proof):
    return msgspec.json.encode(proof).decode() + repr(proof)


@pytest.mark.spec("KC-04")
def test_an_oauth2_credential_is_proved_by_a_token(settings, api):
    keep_client(settings, api)
    api.script("/token", Answer(json={"access_token": "a-fresh-t0ken", "expires_in": 600}))

    proof = prove(settings, "orders", None, is_connecting=True)

    assert proof.error is None
    assert proof.tried[0] == "read and complete"
    assert proof.tried[1].startswith("a token was given, until 20")
    assert PLANTED not in shown(proof)
    assert "a-fresh-t0ken" not in shown(proof)


@pytest.mark.spec("KC-04", "KC-05")
@pytest.mark.parametrize(("status", "is_unreachable"), [(401, False), (503, True)])
def test_a_refused_client_is_told_from_a_service_that_fails(settings, api, status, is_unreachable):
    keep_client(settings, api)
    api.script("/token", Answer(status=status, json={"error": f"{PLANTED} is wrong"}))

    proof = prove(settings, "orders", None, is_connecting=True)

    assert f"HTTP {status}" in proof.error
    assert proof.is_unreachable is is_unreachable
    assert PLANTED not in shown(proof)


def test_without_connecting_nobody_is_asked(settings, api):
    keep_client(settings, api)

    proof = prove(settings, "orders", None, is_connecting=False)

    assert (proof.error, proof.tried) == (None, ["read and complete"])
    assert api.requests("/token") == []


@pytest.mark.spec("KC-04")
def test_a_variable_wins_and_is_tested_as_the_kind_that_is_said(settings, monkeypatch):
    keep(settings, "mail", "basic", {"username": "a", "password": PLANTED})
    monkeypatch.setenv("NOETL_SECRET_MAIL", '{"username": "a"}')

    as_stored = prove(settings, "mail", None, is_connecting=True)
    as_any = prove(settings, "mail", "secret_manager", is_connecting=True)

    assert (as_stored.origin, "needs username, password; it has: username" in as_stored.error) == (
        "NOETL_SECRET_MAIL",
        True,
    )
    assert as_any.error is None


def test_what_is_nowhere_is_the_callers_mistake(settings):
    with pytest.raises(RequestError, match='there is no credential "nope"'):
        prove(settings, "nope", None, is_connecting=True)
