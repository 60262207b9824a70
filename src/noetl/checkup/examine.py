"""All that is looked at, in order, each for a bounded time. A look that fails is a finding; the rest goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from noetl.checkup import machine
from noetl.checkup.findings import Finding, Findings, fail
from noetl.checkup.queue import QUEUE, queue
from noetl.checkup.servers import SERVERS, local_servers, remote_server
from noetl.checkup.sqlite_store import STORE, sqlite
from noetl.checkup.work import WORK, work
from noetl.config import Settings
from noetl.errors import NoetlError

LOOK_SECONDS_MAX = 30.0
Looks = tuple[tuple[str, Callable[[Settings], Findings]], ...]


def looks_of(settings: Settings) -> Looks:
    here: Looks = ((machine.HOME, machine.home), (machine.SYSTEM, machine.system), (machine.SYSTEM, machine.addresses))
    if settings.server_url:  # store, queue and work are that server's, and it is asked about them
        return (*here, (SERVERS, remote_server))
    from noetl.checkup.postgres_store import postgres

    store = postgres if settings.is_shared else sqlite
    return (*here, (STORE, store), (QUEUE, queue), (WORK, work), (SERVERS, local_servers))


async def examine(settings: Settings, *, look_seconds_max: float = LOOK_SECONDS_MAX) -> list[Finding]:
    found: list[Finding] = []
    for area, look in looks_of(settings):
        try:
            async with asyncio.timeout(look_seconds_max):
                async for finding in look(settings):
                    found.append(finding)
        except TimeoutError:
            found.append(fail(area, "answer", f"none within {look_seconds_max:g} s", "see whether it hangs"))
        except NoetlError as error:
            found.append(fail(area, "answer", str(error), "mend that first: the rest of it was not looked at"))
    return found
