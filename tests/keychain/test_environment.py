"""Credentials out of NOETL_SECRET_ variables."""

import copy
import pickle

import msgspec
import pytest

from noetl.expressions.values import MISSING, member
from noetl.keychain.environment import EnvironmentKeychain, variable_of
from noetl.keychain.secret import Secret, revealed

PLANTED = "planted-s3cret"


@pytest.mark.spec("KC-03")
async def test_a_variable_with_a_json_mapping_is_the_entry():
    keychain = EnvironmentKeychain({"NOETL_SECRET_ORDERS_API": '{"token": "planted-s3cret"}'})

    entry = await keychain.resolve("orders-api")

    assert entry == {"token": PLANTED}


@pytest.mark.parametrize("text", [PLANTED, "[1, 2]", '"quoted"', "12345678"])
async def test_any_other_text_is_the_value_of_the_entry(text):
    keychain = EnvironmentKeychain({"NOETL_SECRET_A": text})

    entry = await keychain.resolve("a")

    assert entry == {"value": text}


@pytest.mark.spec("KC-01")
async def test_a_missing_entry_says_which_variable_to_set():
    keychain = EnvironmentKeychain({})

    with pytest.raises(LookupError) as raised:
        await keychain.resolve("my.api")

    assert "NOETL_SECRET_MY_API" in str(raised.value)


async def test_a_broken_mapping_is_refused_without_being_shown():
    keychain = EnvironmentKeychain({"NOETL_SECRET_A": '{"token": planted-s3cret}'})

    with pytest.raises(LookupError) as raised:
        await keychain.resolve("a")

    assert "NOETL_SECRET_A begins as a JSON mapping, but is none" in str(raised.value)
    assert PLANTED not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "variable"),
    [("api", "NOETL_SECRET_API"), ("a.b-c d", "NOETL_SECRET_A_B_C_D"), ("é", "NOETL_SECRET__")],
)
def test_a_name_has_one_variable(name, variable):
    assert variable_of(name) == variable


async def test_what_was_handed_out_is_known_and_public_fields_are_not():
    keychain = EnvironmentKeychain(
        {"NOETL_SECRET_DB": '{"host": "db.example.com", "user": "postgres", "password": "planted-s3cret"}'}
    )

    await keychain.resolve("db")

    assert keychain.known_secrets() == {PLANTED}


async def test_the_password_inside_an_address_is_known_on_its_own():
    keychain = EnvironmentKeychain({"NOETL_SECRET_DB": '{"dsn": "postgresql://me:p%40ssword@db/orders"}'})

    await keychain.resolve("db")

    assert keychain.known_secrets() == {"postgresql://me:p%40ssword@db/orders", "p%40ssword", "p@ssword"}


async def test_nested_and_listed_secrets_are_known():
    keychain = EnvironmentKeychain({"NOETL_SECRET_A": '{"keys": [{"private_key": "planted-s3cret"}, 12345678]}'})

    await keychain.resolve("a")

    assert keychain.known_secrets() == {PLANTED, "12345678"}


async def test_the_redactor_is_made_anew_only_when_another_secret_is_known():
    keychain = EnvironmentKeychain({"NOETL_SECRET_A": PLANTED})
    before = keychain.redactor()
    await keychain.resolve("a")
    after = keychain.redactor()

    await keychain.resolve("a")

    assert before.clean(PLANTED) == PLANTED
    assert after.clean(PLANTED) == "***"
    assert keychain.redactor() is after


def test_a_secret_shows_nothing_and_is_written_nowhere():
    secret = Secret(PLANTED)

    shown = [str(secret), repr(secret), f"{secret}", f"{secret:>3}", f"{[secret]}"]

    assert [text for text in shown if PLANTED in text] == []
    assert not isinstance(secret, str)
    with pytest.raises(TypeError):
        msgspec.json.encode(secret)
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.copy(secret)


@pytest.mark.parametrize("name", ["reveal", "_text", "text"])
def test_a_template_cannot_open_a_secret(name):
    assert member(Secret(PLANTED), name) is MISSING


def test_secrets_in_data_are_opened_for_a_call():
    data = {"headers": {"X-Key": Secret(PLANTED)}, "list": [Secret("other1"), 1]}

    assert revealed(data) == {"headers": {"X-Key": PLANTED}, "list": ["other1", 1]}
