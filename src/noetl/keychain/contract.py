"""What a keychain does, whatever it keeps its entries in.

A worker resolves a name when a task needs it (KC-01), hands the entry to the tool (KC-03), and cleans everything that
it records with the redactor. A keychain is never written to by a playbook (KC-06).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from noetl.keychain.redaction import Redactor
from noetl.secret import Declared


class Keychain(Protocol):
    async def resolve(self, declared: Declared) -> Mapping[str, Any]:
        """The fields of an entry, those that are secret as `Secret`.

        Raises LookupError with a message for people, which never shows a secret.
        """
        ...

    async def renew(self, declared: Declared) -> bool:
        """Give up what was made from an entry and then refused, such as a token; False: there is nothing to renew."""
        ...

    def remember(self, secret: str) -> None:
        """Redact this from now on too: a secret made from one of ours, such as a token that was fetched with it."""
        ...

    def known_secrets(self) -> frozenset[str]:
        """Every secret that was handed out or remembered."""
        ...

    @property
    def has_secrets(self) -> bool:
        """Whether any secret is known."""
        ...

    def redactor(self) -> Redactor:
        """Takes the known secrets out of data; the same object until another secret is known."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
