"""A credential as a database to connect to: the entry of a keychain in, libpq's keywords out.

An entry is `{dsn}` or `{host, port, user, password, database, sslmode, …}`; the older spellings db_host, db_user … are
read too. Off this machine the server has to prove with its certificate who it is, unless the entry says otherwise in
so many words (security 20). Nothing of an entry but host, port and database is ever put into a message.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from noetl.secret import CredentialUnavailable, revealed
from noetl.tools.contract import Call
from noetl.tools.postgres_failures import Failed

DSN_FIELDS = ("dsn", "url", "uri", "connection_string", "value")
KEYWORDS_BY_FIELD = {
    "db_host": "host",
    "hostname": "host",
    "db_port": "port",
    "db_user": "user",
    "username": "user",
    "db_password": "password",
    "database": "dbname",
    "db_name": "dbname",
    "db": "dbname",
}
KEYWORDS = frozenset(
    "host hostaddr port user password dbname sslmode sslrootcert sslcert sslkey sslpassword sslcrl channel_binding "
    "ssl_min_protocol_version require_auth target_session_attrs load_balance_hosts application_name options "
    "keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout client_encoding".split()
)
DEFAULTS = {"application_name": "noetl", "gssencmode": "disable", "client_encoding": "utf8"}
DATABASES_KEPT_MAX = 64  # as many as there are pools of connections, which know as much
USER_CA_FILE = "~/.postgresql/root.crt"  # where libpq looks by itself


class Database(msgspec.Struct, frozen=True, kw_only=True):
    """Where to connect and as whom; two of the same content share their connections."""

    conninfo: str  # libpq's own form, with the password
    where: str  # for people

    def __repr__(self) -> str:
        return f"Database({self.where})"


async def database_named(call: Call, auth: object) -> Database:
    """The database of the credential that `auth` names; raises Failed."""
    name = credential_name(auth)
    try:
        return _kept_database_of(name, await call.credentials.resolve(name))
    except LookupError as unknown:
        reason = str(unknown.args[0]) if unknown.args else "it is not known"
        is_passing = isinstance(unknown, CredentialUnavailable) and unknown.retryable
        message = f'the credential "{name}" could not be resolved: {reason}'
        raise Failed("auth", message, retryable=is_passing) from None


def _kept_database_of(name: str, entry: Mapping[str, Any]) -> Database:
    """The same for every task with the same credential, so it is made once."""
    try:
        return _database_of_items(name, tuple(entry.items()))
    except TypeError:  # a field that is a list or a mapping
        return database_of(name, entry)


@lru_cache(DATABASES_KEPT_MAX)
def _database_of_items(name: str, items: tuple[tuple[str, Any], ...]) -> Database:
    return database_of(name, dict(items))


def credential_name(auth: object) -> str:
    """The name in `auth: name`, `{name: …}` or `{credential: …}`."""
    found = (auth.get("name") or auth.get("credential")) if isinstance(auth, Mapping) else auth
    if isinstance(found, str) and found:
        return found
    raise Failed(
        "auth",
        "auth must name the keychain entry of the database, such as auth: warehouse with "
        "keychain: [{name: warehouse, kind: postgres_credential}]",
    )


def database_of(name: str, entry: Mapping[str, Any]) -> Database:
    """The database that a credential is for; raises Failed."""
    keywords = _keywords_of(name, revealed(dict(entry)))
    if not (keywords.get("host") or keywords.get("hostaddr")):
        raise Failed("auth", f'the credential "{name}" names no host: it needs {{dsn}} or {{host, port, user, …}}')
    if not _is_local(keywords):
        keywords = _with_proof(keywords)
    where = f"{keywords.get('host') or keywords['hostaddr']}:{keywords.get('port', '5432')}"
    conninfo = make_conninfo("", **dict(sorted((DEFAULTS | keywords).items())))
    return Database(conninfo=conninfo, where=f"{where}/{keywords.get('dbname', '')}")


def _keywords_of(name: str, entry: dict[str, Any]) -> dict[str, str]:
    dsn = next((entry[field] for field in DSN_FIELDS if entry.get(field)), None)
    given = {KEYWORDS_BY_FIELD.get(field, field): value for field, value in entry.items()}
    fields = {field: str(value) for field, value in given.items() if field in KEYWORDS and value not in (None, "")}
    if dsn is None:
        return fields
    try:
        parsed = conninfo_to_dict(str(dsn))
    except psycopg.ProgrammingError:  # its message shows the text
        raise Failed(
            "auth", f'the dsn of credential "{name}" is none: postgresql://user:password@host:5432/database is wanted'
        ) from None
    return fields | {keyword: str(value) for keyword, value in parsed.items() if value is not None}


def _is_local(keywords: Mapping[str, str]) -> bool:
    """Whether every host of the credential is this machine."""
    return all(_is_this_machine(host) for host in (keywords.get("hostaddr") or keywords["host"]).split(","))


def _is_this_machine(host: str) -> bool:
    if host.startswith(("/", "@")) or host == "localhost":  # a socket's folder or abstract name
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _with_proof(keywords: dict[str, str]) -> dict[str, str]:
    if keywords.get("sslmode", "verify-full") not in ("verify-full", "verify-ca"):
        return keywords
    made = {"sslmode": "verify-full"} | keywords
    return made if "sslrootcert" in made else made | {"sslrootcert": _trusted_authorities()}


def _trusted_authorities() -> str:
    """The file of certificates that the user, or else this machine, trusts."""
    of_user = Path(USER_CA_FILE).expanduser()
    if of_user.exists():
        return str(of_user)
    of_machine = ssl.get_default_verify_paths().cafile
    return of_machine if of_machine and Path(of_machine).exists() else "system"
