"""PostgreSQL itself: the URL of a store in, connections with their settings out, faults told apart.

The URL is libpq's. Off this machine the server has to prove with its certificate who it is, unless the URL says
otherwise in so many words: disable, require or verify-ca are taken as said; allow and prefer are refused, because what
they give is up to whoever stands between (security 20). Nothing but user, host, port and database is ever shown.

Every connection commits durably (synchronous_commit), gives up in bounded time, and looks rows up by key: the tables
of the queue are empty one second and full the next, so no plan may come from how large they were (§10).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from noetl.errors import DiskFull, NoetlError, RequestError, StoreUnusable, Unreachable
from noetl.stores.postgres_values import ADAPTERS

Connection = AsyncConnection[tuple[Any, ...]]

CONNECT_SECONDS_MAX = 10.0
STATEMENT_SECONDS_MAX = 30
ANSWER_SECONDS_MAX = STATEMENT_SECONDS_MAX + 5.0  # the server gives up by itself before; later it is not there any more
POSTGRES_MIN = 140000
DEFAULTS = {
    "application_name": "noetl",
    "client_encoding": "utf8",
    "gssencmode": "disable",
    "target_session_attrs": "read-write",  # a replica is never read for a decision
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
SETTINGS = {
    "statement_timeout": f"{STATEMENT_SECONDS_MAX}s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "10s",
    "default_transaction_isolation": "read committed",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
}
SETTLE = (
    "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS setting (name, value) UNION ALL "
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') <> 'remote_apply'"
)
PROVED = ("verify-full", "verify-ca")
SAID_IN_SO_MANY_WORDS = (*PROVED, "require", "disable")
USER_CA_FILE = "~/.postgresql/root.crt"  # where libpq looks by itself

PASSING = (  # SQLSTATE, or the beginning of one: asking again may help
    "08",  # the connection broke
    "25006",  # the server has become a replica
    "25P03",  # this process was stopped for longer than a transaction may idle
    "40",  # another transaction was in the way
    "53",  # out of connections, memory, …
    "55P03",  # a lock was not to be had in time
    "57",  # cancelled, shut down, starting up
    "58",  # the system under it failed
)
FULL = "53100"
NOT_A_CHARACTER = "22021"
MEND = "Mend its URL (sslrootcert names the file of its CA), its role or its grants"
REFUSED = ("28", "3D000", "42501")  # who are you, where to, and may you
# Before there is a connection there is no SQLSTATE either, only words.
REFUSED_WORDS = re.compile(
    r"authentication failed|password supplied|pg_hba\.conf|(role|database) \".*\" (does|is) not |"
    r"certificate|does not support SSL|SSL error: (?!unexpected eof)"
)


class Database(msgspec.Struct, frozen=True, kw_only=True):
    """Where to connect and as whom."""

    conninfo: str  # libpq's own form, perhaps with a password
    name: str  # as people know it

    def __repr__(self) -> str:
        return f"Database({self.name})"


def database_of(url: str) -> Database:
    """Raises StoreUnusable: a URL that cannot be used."""
    try:
        given = {key: str(value) for key, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.ProgrammingError:  # its message shows the text
        raise StoreUnusable(
            "the URL of the store is none of PostgreSQL: postgresql://user:password@host:5432/database is wanted"
        ) from None
    known = _defaults_of_libpq() | given
    name = _name_of(known)
    if not _is_local(known):
        given = _with_proof(given, name)
    return Database(conninfo=make_conninfo("", **(DEFAULTS | given)), name=name)


def _defaults_of_libpq() -> dict[str, str]:
    """What the environment says where the URL is silent: PGHOST and the like."""
    found = {option.keyword.decode(): option.val for option in Conninfo.get_defaults()}
    return {key: value.decode() for key, value in found.items() if value}


def _name_of(known: Mapping[str, str]) -> str:
    user = quote(known.get("user", ""), safe="")
    host, port, database = known.get("host") or known.get("hostaddr", ""), known.get("port", ""), known.get("dbname")
    if host.startswith(("/", "@")):  # a socket: the folder goes where a URL can have it
        return f"postgresql://{user}@/{database or ''}?host={host}"
    place = host if "," in host else f"{f'[{host}]' if ':' in host else host}:{port or 5432}"
    return f"postgresql://{user}@{place}/{database or ''}"


def _is_local(known: Mapping[str, str]) -> bool:
    """Whether every host is this machine; libpq's own default is a socket."""
    return all(_is_this_machine(host) for host in (known.get("hostaddr") or known.get("host", "")).split(","))


def _is_this_machine(host: str) -> bool:
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _with_proof(given: dict[str, str], name: str) -> dict[str, str]:
    mode = given.get("sslmode", "verify-full")
    if mode not in SAID_IN_SO_MANY_WORDS:
        raise StoreUnusable(
            f"the store {name} is not on this machine, and sslmode={mode} leaves it to the network whether anybody can "
            "listen. Leave sslmode away (then the server must prove who it is), or say which it is to be: "
            f"{', '.join(SAID_IN_SO_MANY_WORDS)}"
        )
    made = {"sslmode": mode} | given
    if mode in PROVED and "sslrootcert" not in made:
        made["sslrootcert"] = _trusted_authorities()
    return made


def _trusted_authorities() -> str:
    """The file of certificates that the user, or else this machine, trusts."""
    of_user = Path(USER_CA_FILE).expanduser()
    if of_user.exists():
        return str(of_user)
    of_machine = ssl.get_default_verify_paths().cafile
    return of_machine if of_machine and Path(of_machine).exists() else "system"


async def connected(database: Database) -> Connection:
    """A new connection with its settings. Raises Unreachable; StoreUnusable where asking again does not help."""
    with faults(database.name, is_refusal_final=True):
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            connection = await AsyncConnection.connect(
                database.conninfo, autocommit=True, prepare_threshold=0, context=ADAPTERS
            )
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                _require_version(connection, database.name)
                await connection.execute(SETTLE, (list(SETTINGS), list(SETTINGS.values())))
        except BaseException:
            await connection.close()
            raise
    return connection


async def reconnected(database: Database) -> Connection:
    """As `connected`, for whoever had a connection before: whatever is the matter now may pass. Raises Unreachable."""
    try:
        return await connected(database)
    except StoreUnusable as refused:
        raise Unreachable(str(refused)) from refused


@asynccontextmanager
async def answered(name: str) -> AsyncIterator[None]:
    """What is asked within is answered in bounded time, or not at all. Raises Unreachable, DiskFull, StoreUnusable."""
    with faults(name):
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            yield


class faults:
    """What PostgreSQL and the network refuse, as an error that says what to do; our own mistakes pass unchanged.

    `is_refusal_final`: nobody got in yet, so a wrong password or a missing database is the operator's to mend.
    """

    def __init__(self, name: str, *, is_refusal_final: bool = False) -> None:
        self.name = name
        self.is_refusal_final = is_refusal_final

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, fault: BaseException | None, _traceback: object) -> None:
        if isinstance(fault, TimeoutError):
            raise Unreachable(f"the store {self.name} does not answer") from fault
        known = _known(fault, self.name, self.is_refusal_final) if isinstance(fault, psycopg.Error) else None
        if known is not None:
            raise known from fault


def _known(fault: psycopg.Error, name: str, is_refusal_final: bool) -> NoetlError | None:
    state = fault.sqlstate or ""
    reason = str(fault).strip().partition("\n")[0]
    if state == FULL:
        return DiskFull(name)
    if state.startswith(REFUSED) or (not state and REFUSED_WORDS.search(str(fault))):
        if is_refusal_final or state == "42501":
            return StoreUnusable(f"the store {name} cannot be used: {reason}. {MEND}")
        return Unreachable(f"the store {name} refuses this server now: {reason}")
    if state.startswith(PASSING) or isinstance(fault, psycopg.OperationalError | psycopg.InterfaceError):
        return Unreachable(f"the store {name} cannot be reached: {reason}. Start it, or mend the way to it")
    if isinstance(fault, psycopg.DataError) and state in ("", NOT_A_CHARACTER):
        return RequestError("a name or a key may not have the character U+0000: PostgreSQL keeps no such text")
    if state in ("42P01", "42703", "42883"):  # a table, a column, a function
        return StoreUnusable(f"the store {name} lacks what it should have: {reason}. Bring it back from a backup")
    return None


def _require_version(connection: Connection, name: str) -> None:
    found = connection.info.server_version
    if found < POSTGRES_MIN:
        raise StoreUnusable(
            f"NoETL needs PostgreSQL {POSTGRES_MIN // 10000} or newer, but {name} is {found // 10000}: upgrade it"
        )
