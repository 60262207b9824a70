"""The keychain of server and worker: sources in order, kinds checked, secrets sealed and known."""

import json

import msgspec
import pytest

from noetl.config import Settings, url_of
from noetl.keychain.kinds import KINDS
from noetl.keychain.known import sealed_entry
from noetl.keychain.local import stored_credentials
from noetl.keychain.sealing import Key
from noetl.keychain.stored import Credential
from noetl.secret import Secret, revealed
from noetl.testing.clocks import ClockByHand
from tests.keychain.parts import PLANTED, declared, keychain


def entry_of(**fields):
    return msgspec.json.encode(fields).decode()


@pytest.mark.spec("KC-01", "KC-04")
@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("bearer", PLANTED, {"token": PLANTED}),
        ("bearer", entry_of(token=PLANTED), {"token": PLANTED}),
        ("api_key", entry_of(key=PLANTED, header="X-Key"), {"key": PLANTED, "header": "X-Key"}),
        ("basic", entry_of(username="me", password=PLANTED), {"username": "me", "password": PLANTED}),
        ("postgres_credential", "postgresql://me:pw@db/orders", {"dsn": "postgresql://me:pw@db/orders"}),
        (
            "postgres_credential",
            entry_of(db_host="db.example.com", db_user="me", db_password=PLANTED, db_name="orders"),
            {"host": "db.example.com", "user": "me", "password": PLANTED, "database": "orders"},
        ),
        ("secret_manager", PLANTED, {"value": PLANTED}),
        ("secret_manager", entry_of(anything=PLANTED), {"anything": PLANTED}),
        ("of_another_server", entry_of(field=PLANTED), {"field": PLANTED}),
    ],
)
async def test_each_kind_resolves_to_its_fields(tmp_path, kind, text, expected):
    async with keychain(tmp_path, {"NOETL_SECRET_API": text}) as chain:
        entry = await chain.resolve(declared(kind=kind))

    assert expected.items() <= revealed(dict(entry)).items()
    assert entry["kind"] == kind


@pytest.mark.spec("KC-01", "KC-04")
@pytest.mark.parametrize(
    ("kind", "fields", "stored_as"),
    [
        ("bearer", '{"token": "…"}', "bearer"),
        ("postgres", '{"dsn": "…"}', "postgres_credential"),
        ("basic", '{"username": "…", "password": "…"}', "basic"),
        ("of_another_server", '{"value": "…"}', "secret_manager"),
    ],
)
async def test_an_entry_that_is_nowhere_says_how_one_of_its_kind_is_given(tmp_path, kind, fields, stored_as):
    async with keychain(tmp_path, {}) as chain:
        with pytest.raises(LookupError) as refused:
            await chain.resolve(declared(kind=kind))

    assert f"set NOETL_SECRET_API to its fields as JSON, such as {fields}" in str(refused.value)
    assert f"noetl keychain set api --kind {stored_as}," in str(refused.value)


@pytest.mark.spec("KC-04")
@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (
            "postgres_credential",
            {"host": PLANTED, "user": "me"},
            "a postgres_credential needs dsn, or host, user, password, database; it has: host, user",
        ),
        ("bearer", {"key": PLANTED}, "a bearer needs token; it has: key"),
        ("bearer", {"token": ""}, "a bearer needs token; it has: nothing"),
        ("basic", {"username": PLANTED}, "a basic needs username, password; it has: username"),
        ("oauth2", {"client_secret": PLANTED}, "an oauth2 needs token_url, client_id, client_secret"),
        ("secret_manager", {"value": None}, "a secret_manager needs value; it has: nothing"),
    ],
)
async def test_an_entry_that_lacks_what_its_kind_needs_is_refused_by_field_names_alone(tmp_path, kind, fields, message):
    async with keychain(tmp_path, {"NOETL_SECRET_API": entry_of(**fields)}) as chain:
        with pytest.raises(LookupError) as raised:
            await chain.resolve(declared(kind=kind))

    assert message in str(raised.value)
    assert '"api"' in str(raised.value)
    assert PLANTED not in str(raised.value)


@pytest.mark.spec("KC-01")
async def test_a_missing_entry_says_what_to_set(tmp_path):
    async with keychain(tmp_path) as chain:
        with pytest.raises(LookupError) as raised:
            await chain.resolve(declared("my.api"))

    assert "NOETL_SECRET_MY_API" in str(raised.value)
    assert "noetl keychain set my.api" in str(raised.value)


async def test_a_variable_comes_before_a_provider(tmp_path):
    environment = {"NOETL_SECRET_API": "of the variable", "APP_TOKEN": "of the provider"}

    async with keychain(tmp_path, environment, keychain_env_allow=("APP_TOKEN",)) as chain:
        first = await chain.resolve(declared(provider="env", variable="APP_TOKEN"))
        second = await chain.resolve(declared("other", provider="env", variable="APP_TOKEN"))

    assert [revealed(entry["value"]) for entry in (first, second)] == ["of the variable", "of the provider"]


async def test_secret_fields_are_sealed_and_public_ones_are_not(tmp_path):
    fields = entry_of(host="db.example.com", user="app", port=5432, password=PLANTED, database="orders")

    async with keychain(tmp_path, {"NOETL_SECRET_DB": fields}) as chain:
        entry = await chain.resolve(declared("db", "postgres_credential"))
        known = chain.known_secrets()

    assert entry["password"] == Secret(PLANTED)
    assert (entry["host"], entry["user"], entry["port"]) == ("db.example.com", "app", 5432)
    assert known == {PLANTED}


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        ("postgresql://me:p%40ssword@db/orders", {"p%40ssword", "p@ssword"}),
        ("host=db user=me password=planted-s3cret", {PLANTED}),
        (r"host=db password = 'it\'s a s3cret' user=me", {"it's a s3cret"}),
        ("postgresql://me@db/orders?password=p%40ssword", {"p%40ssword", "p@ssword"}),
        ("postgresql://only_a_user@db/orders", set()),
    ],
)
async def test_the_password_inside_an_address_is_known_on_its_own(tmp_path, dsn, expected):
    async with keychain(tmp_path, {"NOETL_SECRET_DB": entry_of(dsn=dsn)}) as chain:
        await chain.resolve(declared("db", "postgres_credential"))
        known = chain.known_secrets()

    assert known == {dsn, *expected}


async def test_nested_and_listed_secrets_are_known(tmp_path):
    fields = entry_of(keys=[{"private_key": PLANTED}, 12345678])

    async with keychain(tmp_path, {"NOETL_SECRET_A": fields}) as chain:
        await chain.resolve(declared("a"))
        known = chain.known_secrets()

    assert known == {PLANTED, "12345678"}


async def test_the_redactor_is_made_anew_only_when_another_secret_is_known(tmp_path):
    async with keychain(tmp_path, {"NOETL_SECRET_A": PLANTED}) as chain:
        before = chain.redactor()
        await chain.resolve(declared("a"))
        after = chain.redactor()
        await chain.resolve(declared("a"))
        later = chain.redactor()

    assert before.clean(PLANTED) == PLANTED
    assert after.clean(PLANTED) == "***"
    assert later is after


async def test_a_fixed_value_has_nothing_to_renew(tmp_path):
    async with keychain(tmp_path, {"NOETL_SECRET_A": PLANTED}) as chain:
        is_renewed = await chain.renew(declared("a"))

    assert is_renewed is False


@pytest.mark.parametrize(
    ("declared_kind", "said", "expected"), [("secret_manager", "basic", "basic"), ("bearer", "basic", "bearer")]
)
async def test_an_entry_says_what_it_is_where_its_playbook_leaves_that_open(tmp_path, declared_kind, said, expected):
    fields = entry_of(kind=said, token=PLANTED, username="me", password="pw")

    async with keychain(tmp_path, {"NOETL_SECRET_A": fields}) as chain:
        entry = await chain.resolve(declared("a", declared_kind))

    assert entry["kind"] == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_a_kind_calls_secret_is_sealed_and_nothing_else_of_it(kind):
    fields = {field: f"text of {field}" for field in kind.fields}

    entry = sealed_entry(fields, kind)

    assert {field for field, value in entry.items() if isinstance(value, Secret)} == set(kind.secret)


@pytest.mark.spec("KC-01", "KC-06")
async def test_a_stored_entry_that_was_set_again_is_in_use_a_second_later_or_when_it_was_refused(tmp_path):
    clock = ClockByHand()
    stored = stored_credentials(Settings(home=tmp_path, store_url=url_of(tmp_path / "noetl.db")), {}, clock)
    wanted = declared(kind="bearer")
    seen = []

    async with keychain(tmp_path, clock=clock) as chain:
        for token, seconds in (("first", 0), ("second", 0.5), ("third", 0.6)):
            await stored.set_all([Credential(name="api", kind="bearer", fields={"token": token})])
            await clock.sleep(seconds)
            seen.append(revealed((await chain.resolve(wanted))["token"]))
        await stored.set_all([Credential(name="api", kind="bearer", fields={"token": "fourth"})])
        is_renewed = await chain.renew(wanted)
        seen.append(revealed((await chain.resolve(wanted))["token"]))

    assert seen == ["first", "first", "third", "fourth"]
    assert is_renewed is False


@pytest.mark.spec("KC-05")
async def test_the_token_that_stands_alone_in_an_address_is_known(tmp_path):
    url = "nats://planted-s3cret@127.0.0.1:4222"

    async with keychain(tmp_path, {"NOETL_SECRET_BUS": entry_of(url=url)}) as chain:
        await chain.resolve(declared("bus", "nats"))
        known = chain.known_secrets()

    assert known == {url, PLANTED}


@pytest.mark.spec("KC-05")
async def test_the_private_key_in_a_service_account_is_known_by_itself(tmp_path):
    key = "-----BEGIN PRIVATE KEY-----\nplanted-s3cret-line\n-----END PRIVATE KEY-----\n"
    account = json.dumps({"project_id": "orders-test", "private_key": key})

    async with keychain(tmp_path, {"NOETL_SECRET_BUCKET": entry_of(service_account_key=account)}) as chain:
        await chain.resolve(declared("bucket", "gcs"))
        cleaned = chain.redactor().clean("orders-test: planted-s3cret-line")

    assert cleaned == "orders-test: ***"


@pytest.mark.spec("KC-05")
async def test_a_secret_number_reaches_tools_as_a_sealed_text(tmp_path):
    fields = entry_of(pin=12345678, nested={"pins": [87654321]}, tries=3, is_new=True)

    async with keychain(tmp_path, {"NOETL_SECRET_A": fields}) as chain:
        entry = await chain.resolve(declared("a"))

    assert entry["pin"] == Secret("12345678")
    assert entry["nested"] == {"pins": [Secret("87654321")]}
    assert (entry["tries"], entry["is_new"]) == (3, True)


@pytest.mark.spec("KC-05")
async def test_the_keys_of_the_keychain_itself_are_known(tmp_path):
    keys = [Key.fresh().as_text() for _ in range(2)]
    variables = {"NOETL_MASTER_KEY": ", ".join(keys), "NOETL_SECRET_A": PLANTED}

    async with keychain(tmp_path, variables) as chain:
        await chain.resolve(declared("a"))
        known = chain.known_secrets()

    assert known == {PLANTED, *keys}
