"""Proof of identity without a password: the server sends a nonce, and a seed that stays here signs it.

In: an nkey seed (`SU…`), or a credentials file's text, which holds a seed and the token that an account signed for it.
Out: what the connection is told, and a way to sign. A seed is Ed25519, wrapped in base32 with a prefix and a checksum.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

USER = 20 << 3  # the letter U
SEED = 18 << 3  # the letter S
SEED_BYTES = 32
BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----\s+(\S+)\s+-+END \1-+")


class UnusableCredential(ValueError):
    """A credential that no server can be reached with, as it stands; the message is for people and shows no secret."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """Who we are, and how we prove it."""

    public_key: str
    token: str  # of a credentials file; empty: the key alone is known to the server
    sign: Callable[[str], bytes]


def proof_of_seed(seed: str, token: str = "") -> Proof:
    """The proof that a seed gives. Raises UnusableCredential, without showing it."""
    key = Ed25519PrivateKey.from_private_bytes(_raw_seed(seed.strip()))

    def sign(nonce: str) -> bytes:
        return base64.b64encode(key.sign(nonce.encode()))

    return Proof(public_key=_wrapped(bytes((USER,)) + key.public_key().public_bytes_raw()), token=token, sign=sign)


def proof_of_credentials(text: str) -> Proof:
    """The proof that the text of a .creds file gives."""
    blocks = dict(BLOCK.findall(text))
    token, seed = blocks.get("NATS USER JWT"), blocks.get("USER NKEY SEED")
    if not token or not seed:
        raise UnusableCredential("creds must be the text of a NATS credentials file: a user JWT and a user NKEY seed")
    return proof_of_seed(seed, token)


def _raw_seed(seed: str) -> bytes:
    try:
        data = base64.b32decode(seed + "=" * (-len(seed) % 8))
    except binascii.Error:
        data = b""
    is_whole = len(data) == 2 + SEED_BYTES + 2 and _checksum(data[:-2]) == data[-2:]
    if not is_whole or data[0] & 0b11111000 != SEED or (data[0] & 7) << 5 | data[1] >> 3 != USER:
        raise UnusableCredential("nkey must be the seed of a user, which begins with SU and has 58 characters")
    return data[2:-2]


def _wrapped(data: bytes) -> str:
    return base64.b32encode(data + _checksum(data)).decode("ascii").rstrip("=")


def _checksum(data: bytes) -> bytes:
    """CRC-16/XMODEM, the low byte first."""
    return binascii.crc_hqx(data, 0).to_bytes(2, "little")
