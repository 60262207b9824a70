"""Where a key ring is kept: a private file, a variable, and what is refused."""

import os
import sys

import pytest

from noetl.errors import KeychainUnusable, MissingLibrary
from noetl.keychain.key_file import KeyFile
from noetl.keychain.key_service import KeyService
from noetl.keychain.key_variable import KeyVariable
from noetl.keychain.ring import Ring
from noetl.keychain.sealing import Key


@pytest.fixture
def keys(tmp_path):
    return KeyFile(tmp_path / "keychain.keys")


def refusal(keys):
    with pytest.raises(KeychainUnusable) as raised:
        keys.load()
    return str(raised.value)


def test_a_file_that_is_not_there_holds_no_ring(keys):
    assert keys.load() is None


@pytest.mark.spec("KC-05")
def test_a_ring_comes_back_from_a_file_that_only_its_owner_may_read(keys, tmp_path):
    old_mask = os.umask(0)
    try:
        ring = Ring([Key.fresh(), Key.fresh()])
        keys.save(ring)
    finally:
        os.umask(old_mask)

    assert keys.load().keys == ring.keys
    assert [path.name for path in tmp_path.iterdir()] == ["keychain.keys"]
    assert (tmp_path / "keychain.keys").stat().st_mode & 0o777 == 0o600


@pytest.mark.spec("KC-05")
@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620])
def test_a_ring_that_others_could_read_or_change_is_refused(keys, tmp_path, mode):
    keys.save(Ring([Key.fresh()]))
    (tmp_path / "keychain.keys").chmod(mode)

    said = refusal(keys)

    assert f"{mode:04o}" in said
    assert f"chmod 600 {tmp_path}/keychain.keys" in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"format": 1, "keys": []}',
        '{"format": 1, "keys": [{"id": "x", "key": "planted-s3cret"}]}',
        "[" * 9,
    ],
)
def test_a_damaged_ring_is_refused_and_nothing_of_it_is_shown(keys, tmp_path, text):
    file = tmp_path / "keychain.keys"
    file.write_text(text)
    file.chmod(0o600)

    said = refusal(keys)

    assert f"the key ring in {file} cannot be used" in said
    assert "planted" not in said


def test_a_ring_of_a_later_format_is_refused(keys, tmp_path):
    keys.save(Ring([Key.fresh()]))
    file = tmp_path / "keychain.keys"
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))

    assert "its format is 2, and this version knows 1" in refusal(keys)


def test_a_ring_whose_ids_do_not_fit_is_refused(keys, tmp_path):
    key = Key.fresh()
    keys.save(Ring([key]))
    file = tmp_path / "keychain.keys"
    file.write_text(file.read_text().replace(key.id, "0" * 16))

    assert "do not fit each other" in refusal(keys)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused_without_waiting(keys, tmp_path, make):
    make(tmp_path / "keychain.keys")

    assert "keychain.keys" in refusal(keys)


def test_the_first_key_of_the_variable_seals_and_all_open():
    first, second = Key.fresh(), Key.fresh()

    ring = KeyVariable(f" {first.as_text()}, {second.as_text()},").load()

    assert ring.newest == first
    assert ring.find(second.id) == second


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("text", ["planted-s3cret", f"{Key(bytes(32)).as_text()},planted-s3cret", ",", "," * 200])
def test_a_variable_that_holds_no_keys_is_refused_and_not_shown(text):
    said = refusal(KeyVariable(text))

    assert "NOETL_MASTER_KEY" in said
    assert "planted" not in said


def test_the_keys_of_a_variable_cannot_be_changed_from_here():
    keys = KeyVariable(Key.fresh().as_text())

    with pytest.raises(KeychainUnusable, match="only whoever set it can change"):
        keys.save(Ring([Key.fresh()]))


def test_without_its_library_the_password_store_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)  # as if it were not installed

    with pytest.raises(MissingLibrary) as raised:
        KeyService(tmp_path).load()

    assert str(raised.value) == 'keychain.key = keyring needs: pip install "noetl[keyring]"'
