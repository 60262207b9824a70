"""The key ring in the system's own store of passwords: Keychain, Credential Locker, Secret Service.

Needs the extra `keyring`, and the setting `keychain.key = keyring`. One ring for each home, found by the home's path.
The library is imported when the ring is needed: a run without stored credentials does without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from noetl.errors import KeychainUnusable, MissingLibrary
from noetl.keychain.ring import Ring, ring_as_json, ring_of_json

SERVICE = "noetl keychain"


class KeyService:
    """See `noetl.keychain.ring.Keys`."""

    is_given = False

    def __init__(self, home: Path, of: str = "") -> None:
        """`of`: which of several rings of that home."""
        self._account = f"{home} {of}".rstrip()
        self.where = f"the system's password store ({SERVICE}, {self._account})"

    def load(self) -> Ring | None:
        text = self._asked("get_password", SERVICE, self._account)
        return None if text is None else ring_of_json(text, self.where)

    def save(self, ring: Ring) -> None:
        self._asked("set_password", SERVICE, self._account, ring_as_json(ring).decode())

    def _asked(self, what: str, *words: str) -> Any:
        try:
            import keyring
        except ImportError:
            raise MissingLibrary('keychain.key = keyring needs: pip install "noetl[keyring]"') from None
        try:
            return getattr(keyring, what)(*words)
        except keyring.errors.KeyringError as fault:  # its message may hold what it was given
            raise KeychainUnusable(
                f"the key ring in {self.where} cannot be used ({type(fault).__name__}). Unlock that store, or set "
                "keychain.key = file"
            ) from None
