"""Messages that only their reader can open, whoever else hears them: sealed to a key that lives in memory.

A reader makes a key pair for the occasion and tells its public half. A writer makes another, derives the key of this
one message from both (X25519, HKDF-SHA256) and seals with AES-256-GCM. The derivation takes in what the message is
about, so a seal that is replayed for another purpose does not open. Who hears the wire learns sizes and times only.
It does not prove who wrote: that is the business of what is inside, and of whoever lets messages through.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
NONCE_BYTES = 12
PURPOSE = b"noetl sealed message 1"
Entropy = Callable[[int], bytes]  # gives so many bytes that nobody can guess


class SealBroken(ValueError):
    """It was sealed to another key or for another purpose, or it was changed."""


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """What goes over the wire."""

    public_key: bytes  # the writer's, of this one message
    nonce: bytes
    ciphertext: bytes


class Reader:
    """Whoever can open what was sealed to its public key."""

    def __init__(self, entropy: Entropy = os.urandom) -> None:
        self._private_key = X25519PrivateKey.from_private_bytes(entropy(KEY_BYTES))
        self.public_key = self._private_key.public_key().public_bytes_raw()

    def open(self, sealed: Sealed, about: bytes) -> bytes:
        """The plain bytes. Raises SealBroken."""
        try:
            shared = self._private_key.exchange(X25519PublicKey.from_public_bytes(sealed.public_key))
            key = _key_of(shared, sealed.public_key, self.public_key, about)
            return AESGCM(key).decrypt(sealed.nonce, sealed.ciphertext, about)
        except (InvalidTag, ValueError):  # a ValueError: a key or nonce of another length, or a point that is none
            raise SealBroken("the seal does not fit") from None

    def __reduce__(self) -> str:
        raise TypeError("a key that was made for one occasion can be neither pickled nor copied")


def seal(plain: bytes, reader_key: bytes, about: bytes, entropy: Entropy = os.urandom) -> Sealed:
    """Seal a message to a reader. Raises SealBroken for a public key that is none."""
    own = X25519PrivateKey.from_private_bytes(entropy(KEY_BYTES))
    public_key = own.public_key().public_bytes_raw()
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(reader_key))
    except ValueError:
        raise SealBroken("the reader's key is none") from None
    nonce = entropy(NONCE_BYTES)
    key = _key_of(shared, public_key, reader_key, about)
    return Sealed(public_key=public_key, nonce=nonce, ciphertext=AESGCM(key).encrypt(nonce, plain, about))


def _key_of(shared: bytes, writer_key: bytes, reader_key: bytes, about: bytes) -> bytes:
    """Of this message alone: both public keys are in it, as RFC 7748 advises."""
    information = PURPOSE + writer_key + reader_key + about
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=information).derive(shared)
