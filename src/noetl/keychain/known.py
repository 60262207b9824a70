"""The secrets that a keychain has handed out, so that they can be redacted.

An entry has fields that are no secret: a host, a user, a port. Redacting those would blank out half of every log, so
the fields below are left alone; any other field is taken to be a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from noetl.keychain.redaction import SECRET_CHARACTERS_MIN, Redactor

SECRETS_MAX = 10_000
ADDRESS_FIELDS = frozenset(("url", "token_url", "endpoint", "base_url"))  # no secret, but for the password in it
PUBLIC_FIELDS = ADDRESS_FIELDS | frozenset(
    "kind type name header host hostname port user username client_id scope audience database dbname schema region "
    "bucket account project sslmode role email tenant_id expires_in expires_at".split()
)


class KnownSecrets:
    """Grows as entries are resolved; gives one redactor for all of them."""

    def __init__(self) -> None:
        self._secrets: dict[str, None] = {}  # in order, so that the oldest goes first
        self._redactor = Redactor(())
        self._is_current = True

    def learn(self, entry: Mapping[str, Any]) -> None:
        """Take up what is secret in an entry."""
        for secret in secrets_in(entry):
            self.remember(secret)

    def remember(self, secret: str) -> None:
        if len(secret) < SECRET_CHARACTERS_MIN or secret in self._secrets:
            return
        if len(self._secrets) >= SECRETS_MAX:  # tokens that have long expired
            del self._secrets[next(iter(self._secrets))]
        self._secrets[secret] = None
        self._is_current = False

    def all(self) -> frozenset[str]:
        return frozenset(self._secrets)

    @property
    def has_any(self) -> bool:
        return bool(self._secrets)

    def redactor(self) -> Redactor:
        if not self._is_current:
            self._redactor = Redactor(self._secrets)
            self._is_current = True
        return self._redactor


def secrets_in(entry: Mapping[str, Any]) -> Iterator[str]:
    """Every text of an entry that must not be seen."""
    for name, value in entry.items():
        if name in PUBLIC_FIELDS:
            yield from _passwords_in(value)
        else:
            yield from _texts_in(value)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from secrets_in(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
        yield from _passwords_in(value)


def _passwords_in(value: Any) -> Iterator[str]:
    """The password of a URL such as postgresql://user:password@host/database, as written and as meant."""
    if not isinstance(value, str) or "://" not in value:
        return
    try:
        password = urlsplit(value).password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)
