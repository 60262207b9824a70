"""Keys and seals: what opens, what does not, and that a key shows nothing of itself."""

import base64
import copy
import pickle

import pytest

from noetl.keychain.sealing import Key, SealBroken

SECRET = bytes(range(32))


@pytest.mark.spec("KC-05")
def test_a_seal_opens_with_its_key_for_what_it_belongs_to():
    key = Key.fresh()

    nonce, ciphertext = key.seal(b"planted-s3cret", b"a, version 1")

    assert b"planted" not in ciphertext
    assert key.unseal(nonce, ciphertext, b"a, version 1") == b"planted-s3cret"


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize("harm", ["belonging", "key", "nonce", "ciphertext", "tag", "short nonce", "nothing left"])
def test_a_seal_does_not_open_when_anything_is_different(harm):
    key = Key(SECRET)
    nonce, ciphertext = key.seal(b"planted-s3cret", b"a, version 1")
    flipped = bytes([ciphertext[0] ^ 1]) + ciphertext[1:]
    attempts = {
        "belonging": (key, nonce, ciphertext, b"a, version 2"),
        "key": (Key.fresh(), nonce, ciphertext, b"a, version 1"),
        "nonce": (key, bytes(12), ciphertext, b"a, version 1"),
        "ciphertext": (key, nonce, flipped, b"a, version 1"),
        "tag": (key, nonce, ciphertext[:-1], b"a, version 1"),
        "short nonce": (key, nonce[:4], ciphertext, b"a, version 1"),
        "nothing left": (key, nonce, b"", b"a, version 1"),
    }

    used, *arguments = attempts[harm]
    with pytest.raises(SealBroken):
        used.unseal(*arguments)


def test_the_same_text_is_sealed_differently_each_time():
    key = Key(SECRET)

    seals = {key.seal(b"same", b"") for _ in range(50)}

    assert len({nonce for nonce, _ in seals}) == 50
    assert len({ciphertext for _, ciphertext in seals}) == 50


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(SECRET).decode(),
        base64.urlsafe_b64encode(SECRET).decode().rstrip("="),
        SECRET.hex(),
        f"  {SECRET.hex().upper()}\n",
    ],
    ids=["base64", "url-safe, unpadded", "hex", "hex with space around"],
)
def test_a_key_is_read_in_every_usual_spelling_and_has_one_id(text):
    assert Key.from_text(text) == Key(SECRET)
    assert Key.from_text(text).id == Key(SECRET).id


@pytest.mark.parametrize("text", ["", "hunter2", "a" * 31, "z" * 64, base64.b64encode(bytes(33)).decode(), "é" * 43])
def test_what_is_no_key_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - whoever reads it says what and where
        Key.from_text(text)


@pytest.mark.spec("KC-05")
def test_a_key_shows_its_id_and_cannot_be_copied():
    key = Key(SECRET)

    assert repr(key) == str(key) == f"{key:}" == f"Key({key.id})"
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            take(key)
