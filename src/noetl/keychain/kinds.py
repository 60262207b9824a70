"""The kinds of credentials: which fields each needs, which it may have, and which of them are secret.

Data and nothing else: the checker, the command line, Credential documents and the resolving keychain read the same
table. Messages name fields and never show a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec


class CredentialKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind: it needs all fields of one of the sets in `needs`."""

    name: str
    aliases: tuple[str, ...] = ()
    needs: tuple[tuple[str, ...], ...]
    may_have: tuple[str, ...] = ()
    secret: tuple[str, ...]  # the other fields may be read by anyone
    is_open: bool = False  # any fields will do: they are the owner's own, and secret
    alone: str = "value"  # which field a value is, in an entry that does not say
    spellings: dict[str, str] = {}  # other names that its fields go by

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field that has a meaning, once."""
        return tuple(dict.fromkeys((*(field for group in self.needs for field in group), *self.may_have)))

    def is_secret(self, field: str) -> bool:
        return field in self.secret or field not in self.fields


KINDS = (
    CredentialKind(
        name="secret_manager",
        needs=(("value",),),
        secret=("value",),
        is_open=True,
    ),
    CredentialKind(
        name="postgres_credential",
        aliases=("postgres",),
        needs=(("dsn",), ("host", "user", "password", "database")),
        may_have=("port", "sslmode", "sslrootcert", "sslcert", "sslkey", "options"),
        secret=("dsn", "password"),
        alone="dsn",
        spellings={
            **dict.fromkeys(("connection_string", "uri", "url"), "dsn"),
            **dict.fromkeys(("hostname", "db_host"), "host"),
            **dict.fromkeys(("username", "db_user"), "user"),
            **dict.fromkeys(("dbname", "db_name", "db"), "database"),
            "db_password": "password",
            "db_port": "port",
        },
    ),
    CredentialKind(
        name="bearer",
        aliases=("bearer_token", "token"),
        needs=(("token",),),
        secret=("token",),
        alone="token",
        spellings={"access_token": "token"},
    ),
    CredentialKind(
        name="api_key",
        aliases=("apikey", "header"),
        needs=(("key",),),
        may_have=("header", "param"),
        secret=("key",),
        alone="key",
        spellings={"api_key": "key"},
    ),
    CredentialKind(
        name="basic",
        aliases=("basic_auth",),
        needs=(("username", "password"),),
        secret=("password",),
        spellings={"user": "username"},
    ),
    CredentialKind(
        name="oauth2",
        aliases=("oauth2_client_credentials", "client_credentials"),
        needs=(("token_url", "client_id", "client_secret"),),
        may_have=("scope", "audience", "params"),
        secret=("client_secret", "params"),
    ),
    CredentialKind(
        name="nats",
        needs=(("url",),),
        may_have=("token", "user", "password", "nkey", "creds", "ca", "tls"),
        secret=("url", "token", "password", "nkey", "creds"),  # a URL may hold a password
        alone="url",
    ),
    CredentialKind(
        name="s3",
        aliases=("aws",),
        needs=(("access_key_id", "secret_access_key"),),
        may_have=("session_token", "region", "endpoint"),
        secret=("secret_access_key", "session_token"),
    ),
    CredentialKind(
        name="gcs",
        needs=(("service_account_key",),),
        secret=("service_account_key",),
        alone="service_account_key",
    ),
    CredentialKind(
        name="azure",
        needs=(("account", "account_key"),),
        may_have=("endpoint",),
        secret=("account_key",),
    ),
)
NAMES = tuple(kind.name for kind in KINDS)
_BY_NAME = {name: kind for kind in KINDS for name in (kind.name, *kind.aliases)}


def kind_named(name: str) -> CredentialKind | None:
    """The kind of this name or alias."""
    return _BY_NAME.get(name)


def shortfall(kind: CredentialKind, fields: Mapping[str, Any]) -> str:
    """What keeps these fields from being such a credential, in words without a value; empty if nothing does."""
    present = [name for name, value in fields.items() if value is not None and value != ""]
    if kind.is_open and present:
        return ""
    if not any(set(group) <= set(present) for group in kind.needs):
        article = "an" if kind.name[0] in "aeio" else "a"
        return f"{article} {kind.name} needs {wanted(kind)}; it has: {', '.join(sorted(present)) or 'nothing'}"
    return ""


def completed(kind: CredentialKind, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields under the names of their kind, too: a value is the token of a bearer, db_host the host of a database."""
    others = {kind.spellings[name]: value for name, value in fields.items() if name in kind.spellings}
    value = {kind.alone: fields["value"]} if "value" in fields else {}
    return {**value, **others, **fields}


def wanted(kind: CredentialKind) -> str:
    """`dsn, or host, user, password, database`"""
    return ", or ".join(map(", ".join, kind.needs))


def unknown_fields(kind: CredentialKind, fields: Iterable[str]) -> list[str]:
    """The fields that mean nothing to this kind: most likely slips."""
    return [] if kind.is_open else [field for field in fields if field not in kind.fields]
