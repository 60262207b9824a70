"""Whether a credential works: found, opened, complete, and accepted by the service that it is for.

A name in, a report out: where the credential came from, what was tried, and why it failed if it did. An oauth2 entry
asks for a token, a postgres_credential connects. Nothing of the credential is in the report; what a service answers
goes through the redactor first.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.clock import Clock, SystemClock
from noetl.config import Settings
from noetl.errors import RequestError
from noetl.keychain.chain import checked, is_oauth2
from noetl.keychain.environment import EnvironmentSource, variable_of
from noetl.keychain.kinds import kind_named
from noetl.keychain.opening import open_keychain
from noetl.keychain.stored import StoredCredentials
from noetl.keychain.stored_source import ANY_KIND, StoredSource
from noetl.safekeeping import opened
from noetl.secret import Declared

POSTGRES = "postgres_credential"
CONNECT_SECONDS_MAX = 10.0


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """How far a credential came."""

    name: str
    kind: str
    origin: str
    tried: list[str]  # what worked, in order
    error: str | None = None
    is_unreachable: bool = False  # the service did not answer, so the credential may still be right


class Refused(Exception):
    """A service said no, or nothing."""

    def __init__(self, message: str, *, is_unreachable: bool = False) -> None:
        super().__init__(message)
        self.is_unreachable = is_unreachable


def prove(settings: Settings, name: str, kind: str | None, *, is_connecting: bool) -> Proof:
    """Try a credential; `kind`: of one in a variable, which does not say."""

    async def tried() -> Proof:
        async with opened(settings) as stored:
            return await proved(settings, name, kind, is_connecting, SystemClock(), stored)

    return asyncio.run(tried())


async def proved(
    settings: Settings,
    name: str,
    kind: str | None,
    is_connecting: bool,
    clock: Clock,
    stored: StoredCredentials,
) -> Proof:
    """The same, for whoever is in an event loop and has the stored credentials at hand."""
    declared, origin = await _declared(settings, name, kind, stored)
    tried: list[str] = []
    proof = Proof(name=name, kind=declared.kind, origin=origin, tried=tried)
    try:
        fields = await _fields(declared, stored)
        tried.append("read and complete")
        if is_connecting:
            tried += await _connected(settings, declared, fields, clock, stored)
    except LookupError as error:
        is_passing = getattr(error, "retryable", False)
        return msgspec.structs.replace(proof, error=str(error), is_unreachable=is_passing)
    except Refused as error:
        return msgspec.structs.replace(proof, error=str(error), is_unreachable=error.is_unreachable)
    return proof


async def _declared(settings: Settings, name: str, kind: str | None, stored: StoredCredentials) -> tuple[Declared, str]:
    """What a playbook would declare, and where it would be found: a variable wins over what is stored."""
    row = next((row for row in await stored.rows() if row.name == name), None)
    variable = variable_of(name)
    if not os.environ.get(variable) and row is None:
        raise RequestError(
            f'there is no credential "{name}": it is not stored in {settings.home}, and {variable} is not set. '
            "noetl keychain list names those there are"
        )
    origin = row.origin if row and not os.environ.get(variable) else variable
    return Declared(name=name, kind=kind or (row.kind if row else ANY_KIND)), origin


async def _fields(declared: Declared, stored: StoredCredentials) -> Mapping[str, Any]:
    source = StoredSource(stored, os.environ)
    entry = await EnvironmentSource(os.environ).entry(declared) or await source.entry(declared)
    return checked(declared, entry or {})


async def _connected(
    settings: Settings, declared: Declared, fields: Mapping[str, Any], clock: Clock, stored: StoredCredentials
) -> list[str]:
    kind = kind_named(declared.kind)
    is_token_wanted, is_database = is_oauth2(declared.kind, fields), kind is not None and kind.name == POSTGRES
    if not is_token_wanted and not is_database:
        return []
    keychain = open_keychain(settings, os.environ, clock, stored=stored)
    try:
        entry = await keychain.resolve(declared)  # its secrets are known from here on
        if is_token_wanted:
            return [f"a token was given, until {entry['expires_at']}"]
        return [await _signed_in(declared.name, entry, clock)]
    except Refused as error:
        message = keychain.redactor().clean(str(error))
        raise Refused(message, is_unreachable=error.is_unreachable) from None
    finally:
        await keychain.close()


async def _signed_in(name: str, entry: Mapping[str, Any], clock: Clock) -> str:
    try:
        from noetl.tools.postgres_database import database_of
        from noetl.tools.postgres_failures import Failed
        from noetl.tools.postgres_pools import Pool
    except ImportError:
        return 'not connected: that needs pip install "noetl[postgres]"'
    try:
        database = database_of(name, entry)
        pool = Pool(database, 1, clock)
        try:
            async with pool.connection(CONNECT_SECONDS_MAX):
                pass
        finally:
            await pool.close()
    except Failed as failed:
        raise Refused(str(failed), is_unreachable=failed.kind in ("connection", "timeout")) from None
    return f"signed in at {database.where}"
