"""One secret sealed with one key: AES-256-GCM, so that nothing can be read or changed without the key.

In: a text, a key, and what the text belongs to. Out: a nonce and a ciphertext that open only with the same key and for
the same belonging, so that the seal of one credential does not fit another, nor another version of the same one. The
nonce is random, 96 bits, new for each sealing. A key never appears in a message; its id does.
"""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cached_property

KEY_BYTES = 32
NONCE_BYTES = 12
ID_CHARACTERS = 16
HEX_CHARACTERS = 2 * KEY_BYTES


class SealBroken(ValueError):
    """The ciphertext, its nonce or what it belongs to is not what was sealed, or the key is another."""


class Key:
    """A key; its id is a fingerprint, so the same key has the same id wherever it comes from."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, but this has {len(secret)}")
        self._secret = secret

    @classmethod
    def fresh(cls) -> Key:
        return cls(os.urandom(KEY_BYTES))

    @classmethod
    def from_text(cls, text: str) -> Key:
        """Out of base64 (either alphabet, padded or not) or hexadecimal."""
        text = text.strip()
        if len(text) == HEX_CHARACTERS:
            return cls(bytes.fromhex(text))
        standard = text.rstrip("=").replace("-", "+").replace("_", "/")
        return cls(base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True))

    def as_text(self) -> str:
        """For the ring that keeps it, and nowhere else."""
        return base64.b64encode(self._secret).decode("ascii")

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(b"noetl key id" + self._secret).hexdigest()[:ID_CHARACTERS]

    def seal(self, plain: bytes, belonging: bytes) -> tuple[bytes, bytes]:
        """Nonce and ciphertext."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 20 ms that listing names does not need

        nonce = os.urandom(NONCE_BYTES)
        return nonce, AESGCM(self._secret).encrypt(nonce, plain, belonging)

    def unseal(self, nonce: bytes, ciphertext: bytes, belonging: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            return AESGCM(self._secret).decrypt(nonce, ciphertext, belonging)
        except (InvalidTag, ValueError):  # a nonce of another length is a ValueError
            raise SealBroken("the seal does not fit") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other._secret == self._secret

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Key({self.id})"

    def __reduce__(self) -> str:
        raise TypeError("a key is written to its ring and nowhere else: it can be neither pickled nor copied")
