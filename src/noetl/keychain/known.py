"""The secrets that a keychain has handed out, so that they can be redacted.

An entry has fields that are no secret: a host, a user, a port. Redacting those would blank out half of every log, so
what its kind calls public is left alone, and of fields that its kind does not know those below; any other field is
taken to be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from noetl.keychain.kinds import CredentialKind
from noetl.keychain.redaction import SECRET_CHARACTERS_MIN, Redactor
from noetl.secret import sealed

SECRETS_MAX = 10_000
SECRETS_FORGOTTEN = 1_000  # at once, when there are too many: each time takes a new redactor
ADDRESS_FIELDS = frozenset(("url", "token_url", "endpoint", "base_url"))  # no secret, but for the password in it
PUBLIC_FIELDS = ADDRESS_FIELDS | frozenset(
    "kind type name header host hostname port user username client_id scope audience database dbname schema region "
    "bucket account project sslmode role email tenant_id expires_in expires_at version "
    "sslrootcert".split()
)
TOKEN_SCHEMES = ("nats", "tls", "http", "https", "ws", "wss")  # whose user alone is a token
PRIVATE_KEY = "PRIVATE KEY-----"

_CONNECTION_WORD = r"\bpassword\s*=\s*(?:'((?:[^'\\]|\\.)+)'|([^\s'&]+))"


class KnownSecrets:
    """Grows as entries are resolved; gives one redactor for all of them."""

    def __init__(self) -> None:
        self._secrets: dict[str, None] = {}  # in order of use, so that those unused for longest go first
        self._redactor = Redactor()

    def learn(self, entry: Mapping[str, Any], kind: CredentialKind | None = None) -> None:
        """Take up what is secret in an entry."""
        for secret in secrets_in(entry, kind):
            self.remember(secret)

    def remember(self, secret: str) -> None:
        if len(secret) < SECRET_CHARACTERS_MIN:
            return
        is_new = secret not in self._secrets
        self._secrets.pop(secret, None)
        self._secrets[secret] = None
        if is_new:
            self._redactor = self._redactor.knowing(secret)
        if len(self._secrets) > SECRETS_MAX:  # tokens that have long expired
            self._forget()

    def _forget(self) -> None:
        for secret in list(self._secrets)[:SECRETS_FORGOTTEN]:
            del self._secrets[secret]
        self._redactor = Redactor(self._secrets)

    def all(self) -> frozenset[str]:
        return frozenset(self._secrets)

    @property
    def has_any(self) -> bool:
        return bool(self._secrets)

    def redactor(self) -> Redactor:
        return self._redactor


class Discreet:
    """The half that all keychains share: what one gave away it knows, and takes out of whatever is written."""

    def __init__(self, known: KnownSecrets | None = None) -> None:
        self._known = known if known is not None else KnownSecrets()

    def remember(self, secret: str) -> None:
        self._known.remember(secret)

    def known_secrets(self) -> frozenset[str]:
        return self._known.all()

    @property
    def has_secrets(self) -> bool:
        return self._known.has_any

    def redactor(self) -> Redactor:
        return self._known.redactor()


def sealed_entry(entry: Mapping[str, Any], kind: CredentialKind | None = None) -> dict[str, Any]:
    """An entry whose secret fields are sealed."""
    return {name: value if is_public(name, kind) else sealed(_worded(value)) for name, value in entry.items()}


def _worded(value: Any) -> Any:
    """A secret number as a text: only texts can be sealed, and taken out of what is written."""
    if isinstance(value, Mapping):
        return {name: _worded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_worded(item) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number and len(str(value)) >= SECRET_CHARACTERS_MIN else value


def is_public(field: str, kind: CredentialKind | None) -> bool:
    """Whether anybody may see a field: as its kind says, else by its name."""
    if kind is not None:
        field = kind.spellings.get(field, field)
        if field in kind.fields:
            return not kind.is_secret(field)
    return field in PUBLIC_FIELDS


def secrets_in(entry: Mapping[str, Any], kind: CredentialKind | None = None) -> Iterator[str]:
    """Every text of an entry that must not be seen."""
    for name, value in entry.items():
        if is_public(name, kind):
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
    """What is secret by itself inside a text: the password of an address, the private key in a key file."""
    if not isinstance(value, str):
        return
    for word in re.finditer(_CONNECTION_WORD, value):
        yield from _as_written_and_meant(re.sub(r"\\(.)", r"\1", word[1] or word[2]))
    if "://" in value:
        yield from _of_address(value)
    if PRIVATE_KEY in value and value.lstrip().startswith("{"):
        yield from _of_key_file(value)


def _of_address(value: str) -> Iterator[str]:
    """postgresql://user:password@host/database; nats://token@host has no user."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return
    has_token = parts.password is None and parts.scheme in TOKEN_SCHEMES
    secret = parts.username if has_token else parts.password
    if secret:
        yield from _as_written_and_meant(secret)


def _as_written_and_meant(password: str) -> tuple[str, str]:
    return password, unquote(password)


def _of_key_file(value: str) -> Iterator[str]:
    """A service account as JSON: of its fields the key is secret, which looks otherwise in there."""
    try:
        fields = msgspec.json.decode(value, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return
    yield from (text for text in fields.values() if isinstance(text, str) and PRIVATE_KEY in text)
