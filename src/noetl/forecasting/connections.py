"""Connections of a playbook, tried for real: at once, each for a bounded time, with nothing changed on the other side.

    credential      read, and signed in with where it can be: postgres_credential, oauth2, nats; else its provider asked
    http            HEAD of the root of the host, as the tasks would reach it (`hosts`); any answer will do
    results         the store is asked for the name of one payload

What was done is said with each. It is a check: `fail` means that a run would fail there now.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, cast

import msgspec

from noetl.checkup.findings import Finding, fail, ok, warn
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.dsl.model import Credential
from noetl.engine.declarations import declared
from noetl.engine.forecast.known import Known
from noetl.engine.forecast.steps import tasks_of
from noetl.engine.values import Fault
from noetl.errors import NoetlError, RequestError, UnknownResultStore
from noetl.forecasting.calls import Foreseen
from noetl.forecasting.hosts import HTTP, hosts_of, try_host, unnamed_tasks
from noetl.keychain.opening import open_keychain
from noetl.results.choices import choice_of
from noetl.results.contract import Kept
from noetl.results.stores import NoCredentials, Stores
from noetl.running import results_of

CREDENTIAL, RESULTS = "credential", "results"
TRY_SECONDS_MAX = 15.0
AT_ONCE_MAX = 8
NATS_KIND = "nats"
Try = tuple[str, str, Callable[[], Awaitable[Finding]]]


def connections(settings: Settings, planned: Sequence[Foreseen]) -> list[dict[str, Any]]:
    """A finding for each connection, in a stable order."""
    return [msgspec.to_builtins(one) for one in asyncio.run(tried(settings, planned))]


async def tried(settings: Settings, planned: Sequence[Foreseen]) -> list[Finding]:
    from noetl.safekeeping import opened

    room = asyncio.Semaphore(AT_ONCE_MAX)
    results = results_of(settings, is_alone=False)
    try:
        async with opened(settings) as stored:
            tries = [*credential_tries(settings, planned, stored), *http_tries(settings, planned, stored)]
            tries += result_tries(results, planned)
            return await asyncio.gather(*(bounded(one, room) for one in tries))
    finally:
        await results.close()


async def bounded(one: Try, room: asyncio.Semaphore) -> Finding:
    """One try, within its time; whatever goes wrong is a finding."""
    area, name, attempt = one
    async with room:
        try:
            async with asyncio.timeout(TRY_SECONDS_MAX):
                return await attempt()
        except TimeoutError:
            return fail(
                area, name, f"no answer within {TRY_SECONDS_MAX:g} s", "see whether it can be reached from here"
            )
        except (NoetlError, LookupError, OSError) as fault:
            return fail(area, name, str(fault), "mend that, or run it where it can be reached")


# --- credentials -----------------------------------------------------------------------------------------------------


def credential_tries(settings: Settings, planned: Sequence[Foreseen], stored: Any) -> list[Try]:
    found: dict[tuple[str, str], Try] = {}
    for one in planned:
        for credential in one.forecast.playbook.credentials.values():
            found[credential.name, credential.kind] = (
                CREDENTIAL,
                credential.name,
                partial(try_credential, settings, credential, one.known, stored),
            )
    return list(found.values())


async def try_credential(settings: Settings, credential: Credential, known: Known, stored: Any) -> Finding:
    from noetl.proving import proved

    if credential.kind == NATS_KIND or credential.settings:
        return await try_resolved(settings, credential, known, stored)
    try:
        proof = await proved(settings, credential.name, credential.kind, True, SystemClock(), stored)
    except RequestError as fault:
        return fail(CREDENTIAL, credential.name, str(fault), setting_of(credential))
    if proof.error:
        return fail(CREDENTIAL, credential.name, proof.error, f"noetl keychain test {credential.name}")
    return ok(CREDENTIAL, credential.name, f"{proof.kind}: {', '.join(proof.tried)}")


def setting_of(credential: Credential) -> str:
    return f"noetl keychain set {credential.name} --kind {credential.kind}"


async def try_resolved(settings: Settings, credential: Credential, known: Known, stored: Any) -> Finding:
    """One that a provider has, or that signs in at NATS: resolved as before a run (KC-01)."""
    clock = SystemClock()
    keychain = open_keychain(settings, os.environ, clock, stored=stored)
    try:
        entry = await keychain.resolve(declared(credential, known.names["workload"]))
        if credential.kind != NATS_KIND:
            return ok(CREDENTIAL, credential.name, f"{credential.kind}: resolved")
        return await try_nats(credential.name, entry)
    except (Fault, LookupError) as fault:
        says = keychain.redactor().clean(str(fault))
        return fail(CREDENTIAL, credential.name, says, setting_of(credential))
    finally:
        await keychain.close()


async def try_nats(name: str, entry: Any) -> Finding:
    try:
        from noetl.messaging.connection import connected
        from noetl.messaging.server import server_of
        from noetl.messaging.signing import UnusableCredential
        from noetl.tools.nats_failures import FAULTS, connect_failure
    except ImportError:
        return warn(CREDENTIAL, name, "read; not connected: its library is missing", 'pip install "noetl[nats]"')
    from noetl.secret import revealed

    fix = f"start it, or correct it: noetl keychain set {name} --kind nats"
    try:
        server = server_of(name, revealed(dict(entry)))
    except UnusableCredential as fault:
        return fail(CREDENTIAL, name, str(fault), fix)
    try:
        connection = await connected(server, TRY_SECONDS_MAX)
    except UnusableCredential as fault:
        return fail(CREDENTIAL, name, str(fault), fix)
    except FAULTS as fault:
        output = connect_failure(fault, server.place, TRY_SECONDS_MAX)
        return fail(CREDENTIAL, name, f"NATS: {output.error.message if output.error else fault}", fix)
    await connection.close()
    return ok(CREDENTIAL, name, f"signed in at NATS {server.host}")


# --- http ------------------------------------------------------------------------------------------------------------


def http_tries(settings: Settings, planned: Sequence[Foreseen], stored: Any) -> list[Try]:
    """One for each host whose name is known, and each way in which tasks sign in there."""
    hosts = {host.way: host for one in planned for host in hosts_of(one)}
    found: list[Try] = [(HTTP, host.origin, partial(try_host, settings, host, stored)) for host in hosts.values()]
    unnamed = dict.fromkeys(row for one in planned for row in unnamed_tasks(one))
    return found + [(HTTP, label, partial(not_tried, label, why)) for label, why in unnamed]


async def not_tried(label: str, why: str) -> Finding:
    fix = "see that host by yourself, or name it in the workload"
    return warn(HTTP, f'of task "{label}"', f"not tried: {why}", fix)


# --- results ---------------------------------------------------------------------------------------------------------


def result_tries(results: Stores, planned: Sequence[Foreseen]) -> list[Try]:
    """The operator's first store, and those of his that tasks choose by name."""
    chosen: dict[str, object] = {"default": None}
    for task in (task for one in planned for task in tasks_of(one.forecast.playbook)):
        written = task.spec.get("result")
        store = written.get("store") if isinstance(written, dict) else None
        if store is None:
            continue
        try:
            choice = choice_of(store)
        except UnknownResultStore:
            continue
        if choice is not None:
            chosen[str(choice.kind if choice.auth is None else f"{choice.spot} ({choice.auth})")] = store
    return [(RESULTS, name, partial(try_store, results, name, store)) for name, store in chosen.items()]


async def try_store(results: Stores, name: str, written: object) -> Finding:
    choice = choice_of(written)
    if choice is not None and choice.auth is not None:
        return warn(RESULTS, name, "not tried: a task opens it with its credential", "see that credential above")
    store = await results.for_writing(written, NoCredentials())
    async with aclosing(cast("AsyncGenerator[Kept]", store.walk())) as kept:
        async for _ in kept:
            break
    return ok(RESULTS, name, "it answers, asked for one of its names")
