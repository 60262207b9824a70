"""Provider vault: a Vault-style server, KV version 2; and for how long what it gave is kept."""

import asyncio

import pytest

from noetl.secret import CredentialUnavailable, revealed
from noetl.testing.clocks import ClockByHand
from noetl.testing.http_server import Answer, running_api
from tests.keychain.parts import PLANTED, declared, fetched, keychain, refusal, secret_file

TOKEN = "vault-t0ken-1"


@pytest.fixture
def vault():
    with running_api() as running:
        yield running


def kv2(version=1, /, **fields):
    return Answer(json={"data": {"data": fields, "metadata": {"version": version}}})


def of(vault, **more):
    return {"keychain_vault_url": vault.url, **more}


@pytest.mark.spec("KC-04")
async def test_a_secret_of_a_vault_has_its_fields_and_its_version(tmp_path, vault):
    vault.script("/v1/kv/data/app/db", kv2(3, user="app", password=PLANTED))

    entry = await fetched(
        tmp_path,
        {"NOETL_VAULT_TOKEN": TOKEN},
        settings=of(vault),
        provider="vault",
        mount="kv",
        path="app/db",
        version=3,
        namespace="team",
    )

    assert (entry["user"], entry["password"], entry["version"]) == ("app", PLANTED, "3")
    (seen,) = vault.requests("/v1/kv/data/app/db")
    assert (seen.headers["x-vault-token"], seen.headers["x-vault-namespace"]) == (TOKEN, "team")
    assert seen.query == {"version": ["3"]}


async def test_a_field_that_is_called_version_is_the_secrets_own(tmp_path, vault):
    vault.script("/v1/secret/data/db", kv2(3, version="of the owner", password=PLANTED))

    entry = await fetched(tmp_path, {"NOETL_VAULT_TOKEN": TOKEN}, settings=of(vault), provider="vault", path="db")

    assert entry["version"] == "of the owner"


async def test_a_token_that_was_refused_is_read_again_from_its_file(tmp_path, vault):
    vault.script("/v1/secret/data/db", kv2(password="one"), Answer(status=403), kv2(password="two"))
    file = secret_file(tmp_path, "token", TOKEN)
    clock = ClockByHand()

    async with keychain(tmp_path, {}, clock, **of(vault, keychain_vault_token_file=file)) as chain:
        await chain.resolve(declared(provider="vault", path="db"))
        file.write_text("vault-t0ken-2")
        await clock.sleep(31)
        entry = await chain.resolve(declared(provider="vault", path="db"))
        known = chain.known_secrets()

    used = [seen.headers["x-vault-token"] for seen in vault.requests("/v1/secret/data/db")]
    assert revealed(entry["password"]) == "two"
    assert used == [TOKEN, TOKEN, "vault-t0ken-2"]
    assert {TOKEN, "vault-t0ken-2"} <= known


@pytest.mark.spec("KC-01")
@pytest.mark.parametrize(
    ("answer", "is_retryable", "message"),
    [
        (Answer(status=403, json={"errors": [PLANTED]}), False, "HTTP 403 (its token may not read this)"),
        (Answer(status=404), False, "has no such secret"),
        (Answer(status=503), True, "HTTP 503"),
        (Answer(status=302, headers={"Location": "/v1/other"}), False, "HTTP 302"),
        (Answer(json={"data": {"password": PLANTED}}), False, "did not answer as KV version 2 does"),
        (Answer(json={"data": {"data": None, "metadata": {}}}), False, "did not answer as KV version 2 does"),
        (Answer(text=PLANTED), False, "did not answer with a JSON mapping"),
        (Answer(hangs_up=True), True, "no answer of 127.0.0.1"),
    ],
)
async def test_a_vault_that_gives_no_secret_says_why(tmp_path, vault, answer, is_retryable, message):
    vault.script("/v1/secret/data/db", answer)

    with pytest.raises(LookupError) as raised:
        await fetched(tmp_path, {"NOETL_VAULT_TOKEN": TOKEN}, settings=of(vault), provider="vault", path="db")

    assert message in str(raised.value)
    assert (isinstance(raised.value, CredentialUnavailable) and raised.value.retryable) is is_retryable
    assert PLANTED not in str(raised.value)
    assert TOKEN not in str(raised.value)
    assert vault.requests("/v1/other") == []


@pytest.mark.parametrize("path", ["../sys/seal", "a/../../sys", "a//b", ".", "a\nb", ""])
async def test_a_path_of_a_vault_leads_down_and_nowhere_else(tmp_path, vault, path):
    await refusal(tmp_path, {"NOETL_VAULT_TOKEN": TOKEN}, settings=of(vault), provider="vault", path=path)

    assert vault.requests() == []


@pytest.mark.spec("KC-07")
async def test_a_secret_that_the_operator_does_not_let_playbooks_name_is_not_asked_for(tmp_path, vault):
    allow = ("vault:secret/app/*", "aws:*")

    message = await refusal(
        tmp_path,
        {"NOETL_VAULT_TOKEN": TOKEN},
        settings=of(vault, keychain_secrets_allow=allow),
        provider="vault",
        path="admin/root",
    )

    assert '"secret/admin/root" is not allowed by keychain.secrets_allow (vault:secret/app/*, aws:*)' in message
    assert vault.requests() == []


@pytest.mark.parametrize(
    ("environment", "settings", "message"),
    [
        ({"NOETL_VAULT_TOKEN": TOKEN}, {}, "keychain.vault_url"),
        ({}, {"keychain_vault_url": "http://127.0.0.1:1"}, "NOETL_VAULT_TOKEN"),
        ({"NOETL_VAULT_TOKEN": "a\x01b"}, {"keychain_vault_url": "http://127.0.0.1:1"}, "needs a token"),
    ],
)
async def test_a_vault_that_is_not_set_up_says_what_is_missing(tmp_path, environment, settings, message):
    assert message in await refusal(tmp_path, environment, settings=settings, provider="vault", path="db")


async def test_what_a_provider_gave_is_kept_for_seconds_and_asked_for_once_by_many(tmp_path, vault):
    vault.script("/v1/secret/data/db", kv2(1, password="one"), kv2(2, password="two"))
    clock, wanted = ClockByHand(), declared(provider="vault", path="db")
    seen = []

    async with keychain(tmp_path, {"NOETL_VAULT_TOKEN": TOKEN}, clock, **of(vault)) as chain:
        await asyncio.gather(*(chain.resolve(wanted) for _ in range(50)))
        for seconds in (29, 2):
            await clock.sleep(seconds)
            seen.append(revealed((await chain.resolve(wanted))["password"]))

    assert seen == ["one", "two"]
    assert len(vault.requests("/v1/secret/data/db")) == 2


@pytest.mark.spec("KC-06")
async def test_a_renewed_entry_is_asked_for_anew(tmp_path, vault):
    vault.script("/v1/secret/data/db", kv2(1, password="one"), kv2(2, password="two"))
    wanted = declared(provider="vault", path="db")

    async with keychain(tmp_path, {"NOETL_VAULT_TOKEN": TOKEN}, **of(vault)) as chain:
        await chain.resolve(wanted)
        is_renewed = await chain.renew(wanted)
        entry = await chain.resolve(wanted)

    assert is_renewed
    assert entry["version"] == "2"
