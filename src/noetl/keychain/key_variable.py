"""The key ring in NOETL_MASTER_KEY: for machines whose keys somebody else keeps and hands over.

One key or several with commas between them, each 32 bytes as base64 or hexadecimal; the first seals, all of them open.
To rotate, the operator puts a new key first, and takes the old ones away when nothing needs them any more.
"""

from __future__ import annotations

from noetl.errors import KeychainUnusable
from noetl.keychain.ring import KEYS_MAX, Ring
from noetl.keychain.sealing import KEY_BYTES, Key

VARIABLE = "NOETL_MASTER_KEY"


class KeyVariable:
    """See `noetl.keychain.ring.Keys`."""

    is_given = True
    where = VARIABLE

    def __init__(self, text: str) -> None:
        self._text = text

    def load(self) -> Ring | None:
        texts = [text for text in self._text.split(",") if text.strip()]
        if not 0 < len(texts) <= KEYS_MAX:
            raise KeychainUnusable(f"{VARIABLE} may hold 1 to {KEYS_MAX} keys with commas between them")
        return Ring(_key(number, text) for number, text in enumerate(texts, 1))

    def save(self, ring: Ring) -> None:
        raise KeychainUnusable(f"the keys are those of {VARIABLE}, which only whoever set it can change")


def _key(number: int, text: str) -> Key:
    try:
        return Key.from_text(text)
    except ValueError:  # the message of what refused it would show a part of it
        raise KeychainUnusable(
            f"key {number} of {VARIABLE} must be {KEY_BYTES} random bytes as base64 or hexadecimal, and is not. "
            "Make one with: openssl rand -base64 32"
        ) from None
