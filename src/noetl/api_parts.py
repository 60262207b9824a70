"""The parts that the API is given, from those of a process. Wires, and decides nothing.

`embedded_parts` is for one process over a SQLite file; a server of a cluster puts the same struct together from its
own. `HomeVault` is the keychain of the home, as the API asks for it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any

import msgspec

from noetl import __version__, proving
from noetl.api.parts import Check, MetricsPage, Parts, Pool, SeenWorker
from noetl.clock import Clock
from noetl.config import Settings
from noetl.control.intake import Observer as Committed
from noetl.control.metrics import NOTHING, Meters
from noetl.control.requests import Nobody
from noetl.control.unserved import Unserved, unserved_of
from noetl.control.watching import Watching
from noetl.embedded import Embedded
from noetl.engine.events import Event
from noetl.errors import NoetlError, RequestError
from noetl.identity.tokens import Tokens
from noetl.keychain.kinds import kind_named, shortfall, unknown_fields
from noetl.keychain.local import stored_credentials
from noetl.keychain.stored import Credential, StoredCredentials
from noetl.keychain.strongbox import Row
from noetl.stores.contract import Store


class Telling(Nobody):
    """Tells the live view what an embedded server commits; the view is there a moment later than the server."""

    watching: Watching | None = None

    def __init__(self) -> None:
        self.also: list[Committed] = []  # who else is told

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        if self.watching is not None:
            self.watching.committed(execution_id, first_seq, events)
        for told in self.also:
            told(execution_id, first_seq, events)


class HomeVault:
    """The stored credentials of a home, or those that several servers share."""

    def __init__(self, settings: Settings, clock: Clock, stored: StoredCredentials | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._stored = stored or stored_credentials(settings, os.environ, clock)

    async def rows(self) -> Sequence[Row]:
        return await self._stored.rows()

    async def keep(self, name: str, kind: str, fields: dict[str, Any]) -> Row:
        known = kind_named(kind)
        if known is None:
            raise RequestError("there is no such kind of credential; docs/keychain.md lists them")
        fields = {known.spellings.get(field, field): value for field, value in fields.items()}
        if unknown := unknown_fields(known, fields):
            raise RequestError(f"a {known.name} has no field {', '.join(word[:80] for word in unknown)}")
        if why := shortfall(known, fields):
            raise RequestError(why)
        (row,) = await self._stored.set_all([Credential(name=name, kind=known.name, fields=fields)])
        return row

    async def remove(self, name: str) -> bool:
        return await self._stored.remove(name)

    async def prove(self, name: str, kind: str | None, *, is_connecting: bool) -> dict[str, Any]:
        proof = await proving.proved(self._settings, name, kind, is_connecting, self._clock, self._stored)
        return dict(msgspec.structs.asdict(proof))


class OwnWorkforce:
    """The one worker of an embedded server, which takes jobs of every pool; none with `--no-workers`."""

    def __init__(self, embedded: Embedded) -> None:
        self._embedded = embedded

    async def pools(self) -> list[Pool]:
        states = self._embedded.queue.pools(self._embedded.clock.monotonic())
        return [Pool(**state._asdict(), workers=int(self._is_working)) for state in states]

    @property
    def _is_working(self) -> bool:
        return self._embedded.settings.server_workers

    async def unserved(self, execution_id: int) -> list[Unserved]:
        return [] if self._is_working else unserved_of(self._embedded.queue.ready_in(execution_id), {})

    async def workers(self) -> list[SeenWorker]:
        if not self._is_working:
            return []
        worker, settings = self._embedded.worker, self._embedded.settings
        return [
            SeenWorker(
                worker=worker.name,
                pool=settings.pool,
                slots=settings.slots,
                host=socket.gethostname(),
                pid=os.getpid(),
                version=__version__,
                jobs=worker.jobs,
                seen_at=self._embedded.clock.now(),
            )
        ]


async def store_check(store: Store, clock: Clock) -> Check:
    """Whether the store answers, and how fast."""
    began = clock.monotonic()
    try:
        await store.executions(1)
    except NoetlError as error:
        return Check(name="store", is_ok=False, detail=str(error), seconds=clock.monotonic() - began)
    return Check(name="store", is_ok=True, detail=store.name, seconds=clock.monotonic() - began)


def embedded_parts(
    embedded: Embedded,
    telling: Telling,
    tokens: Tokens,
    *,
    meters: Meters = NOTHING,
    metrics: MetricsPage | None = None,
) -> Parts:
    """The parts of the API over an embedded server.

    `telling` is the observer that it was made with; `metrics` makes the page of numbers (`control.prometheus`).
    """

    async def health() -> list[Check]:
        return [await store_check(embedded.store, embedded.clock)]

    telling.watching = watching = Watching(embedded.store, embedded.clock)
    return Parts(
        settings=embedded.settings,
        clock=embedded.clock,
        store=embedded.store,
        catalog=embedded.catalog,
        desk=embedded.desk,
        authority=tokens,
        watching=watching,
        read_result=embedded.access.read_by,
        health=health,
        vault=HomeVault(embedded.settings, embedded.clock),
        workforce=OwnWorkforce(embedded),
        tokens=tokens,
        meters=meters,
        metrics=metrics,
    )
