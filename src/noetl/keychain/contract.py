"""What a keychain does, whatever it keeps its entries in.

A worker resolves a name when a task needs it (KC-01), hands the entry to the tool (KC-03), and cleans everything that
it records with the redactor. A keychain is never written to by a playbook (KC-06).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from noetl.keychain.redaction import Redactor


class Keychain(Protocol):
    async def resolve(self, name: str) -> Mapping[str, Any]:
        """The entry of that name. Raises LookupError with a message for people, which never shows a secret."""
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
