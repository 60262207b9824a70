"""Stored credentials as a source: found by name, references looked up at each use, refusals that show nothing."""

import os

import pytest

from noetl.clock import SystemClock
from noetl.config import load
from noetl.keychain.field_references import VALUE_BYTES_MAX, with_absolute_files
from noetl.keychain.local import keys_of, stored_credentials
from noetl.keychain.stored import Credential
from noetl.keychain.stored_source import StoredSource
from noetl.keychain.strongbox import REFERENCES, VALUES
from noetl.secret import Declared

PLANTED = "planted-s3cret"


@pytest.fixture
def stored(tmp_path):
    return stored_credentials(load(home=str(tmp_path), environ={}, folder=tmp_path), {}, SystemClock())


async def keep(stored, fields, kind="bearer", origin=VALUES):
    await stored.set_all([Credential(name="api", kind=kind, fields=fields)], origin)


async def entry(stored, kind="bearer", **environ):
    return await StoredSource(stored, environ).entry(Declared(name="api", kind=kind))


async def refusal(stored, **environ):
    with pytest.raises(LookupError) as raised:
        await entry(stored, **environ)
    return str(raised.value)


@pytest.mark.spec("KC-01")
async def test_a_name_that_is_not_stored_is_somebody_elses(stored, tmp_path):
    assert await entry(stored) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("KC-03", "KC-04")
async def test_an_entry_has_its_plain_fields(stored):
    await keep(stored, {"token": PLANTED})

    assert await entry(stored) == {"token": PLANTED}


@pytest.mark.spec("KC-04")
async def test_an_entry_of_another_kind_than_declared_is_refused(stored):
    await keep(stored, {"token": PLANTED})

    with pytest.raises(LookupError, match='declares the credential "api" as basic, but it is stored as bearer'):
        await entry(stored, kind="basic")
    assert await entry(stored, kind="secret_manager") == {"token": PLANTED}


async def test_what_cannot_be_opened_says_why(stored, tmp_path):
    await keep(stored, {"token": PLANTED})
    (tmp_path / "keychain.keys").chmod(0o644)

    assert "must be readable by its owner only" in await refusal(stored)


@pytest.mark.spec("KC-04", "KC-05")
async def test_references_are_looked_up_at_each_use(stored, tmp_path):
    file = tmp_path / "token"
    await keep(stored, {"username": "robot", "password": {"file": str(file)}}, "basic", REFERENCES)
    file.write_text("first\n")
    before = await entry(stored, "basic")

    file.write_text(f"{PLANTED}\r\n")

    assert before == {"username": "robot", "password": "first"}
    assert await entry(stored, "basic") == {"username": "robot", "password": PLANTED}


@pytest.mark.spec("KC-05")
async def test_only_the_reference_is_kept_and_not_what_it_refers_to(stored, tmp_path):
    await keep(stored, {"token": {"env": "API_TOKEN"}}, origin=REFERENCES)

    assert await entry(stored, API_TOKEN=PLANTED) == {"token": PLANTED}
    assert await stored.read("api")
    _, fields = await stored.read("api")
    assert fields == {"token": {"env": "API_TOKEN"}}


@pytest.mark.parametrize("environ", [{}, {"API_TOKEN": ""}])
async def test_a_variable_that_is_not_set_is_named(stored, environ):
    await keep(stored, {"token": {"env": "API_TOKEN"}}, origin=REFERENCES)

    assert await refusal(stored, **environ) == (
        '"token" of credential "api" is taken from the variable API_TOKEN, which is not set here'
    )


@pytest.mark.spec("KC-05")
async def test_the_keys_of_the_keychain_are_no_credential(stored):
    await keep(stored, {"token": {"env": "NOETL_MASTER_KEY"}}, origin=REFERENCES)

    assert "may not be taken from NOETL_MASTER_KEY" in await refusal(stored, NOETL_MASTER_KEY=PLANTED)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.mkdir(), "it is not a file"),
        (os.mkfifo, "it is not a file"),
        (lambda path: path.write_text("\n"), "is empty"),
        (lambda path: path.write_bytes(b"\xff" + PLANTED.encode()), "is not UTF-8 text"),
        (lambda path: path.write_text(PLANTED * VALUE_BYTES_MAX), f"may have {VALUE_BYTES_MAX} bytes, but has more"),
    ],
    ids=["missing", "folder", "pipe", "empty", "bytes", "large"],
)
async def test_a_file_that_gives_no_value_is_named_and_not_shown(stored, tmp_path, make, words):
    file = tmp_path / "token"
    make(file)
    await keep(stored, {"token": {"file": str(file)}}, origin=REFERENCES)

    said = await refusal(stored)

    assert f'"token" of credential "api" is taken from the file {file}, which' in said
    assert words in said
    assert PLANTED not in said


def test_relative_files_are_relative_to_the_document(tmp_path):
    fields = {
        "a": {"file": "secrets/a"},
        "b": {"file": "/run/b"},
        "c": {"env": "C"},
        "d": "plain",
        "e": {"file": "../e"},
    }

    assert with_absolute_files(fields, tmp_path / "x") == {
        **fields,
        "a": {"file": f"{tmp_path}/x/secrets/a"},
        "e": {"file": f"{tmp_path}/e"},
    }


@pytest.mark.parametrize(
    ("environ", "where"),
    [
        ({}, "keychain.keys"),
        ({"NOETL_KEYCHAIN_KEY": "keyring"}, "password store"),
        ({"NOETL_MASTER_KEY": "x", "NOETL_KEYCHAIN_KEY": "keyring"}, "NOETL_MASTER_KEY"),
    ],
    ids=["file", "service", "variable"],
)
def test_the_settings_say_where_the_keys_are(tmp_path, environ, where):
    settings = load(home=str(tmp_path), environ=environ, folder=tmp_path)

    assert where in keys_of(settings, environ).where
