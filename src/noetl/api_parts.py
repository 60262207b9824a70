"""The parts that the API is given, from those of a process. Wires, and decides nothing.

`embedded_parts` is for one process over a SQLite file, `cluster_parts` for a server of many. `HomeVault` is the
keychain, as the API asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from noetl import proving
from noetl.api.parts import Check, MetricsPage, Parts
from noetl.clock import Clock
from noetl.config import Settings
from noetl.control.intake import Observer as Committed
from noetl.control.metrics import NOTHING, Meters
from noetl.control.requests import Nobody
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
from noetl.workforces import OwnWorkforce, RosterWorkforce

if TYPE_CHECKING:  # a server of one machine does without
    from noetl.cluster import ClusterServer
    from noetl.messaging.link import Link


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


def cluster_parts(
    settings: Settings, server: ClusterServer, telling: Telling, vault: HomeVault, link: Link | None
) -> Parts:
    """The parts of the API over a server of a cluster."""

    async def health() -> list[Check]:
        checks = [await store_check(server.store, server.clock)]
        if link is not None:
            checks.append(Check(name="queue", is_ok=link.is_up, detail="" if link.is_up else "NATS is not reached now"))
        return checks

    async def heads(ids: Any) -> dict[int, int]:
        return {head.id: head.head for head in (await server.store.heads(ids)).values()}

    telling.watching = watching = Watching(server.store, server.clock, heads)
    return Parts(
        settings=settings,
        clock=server.clock,
        store=server.store,
        catalog=server.catalog,
        desk=server.desk,
        authority=server.tokens,
        watching=watching,
        read_result=server.access.read_by,
        health=health,
        vault=vault,
        workforce=RosterWorkforce(server),
        tokens=server.tokens,
    )
