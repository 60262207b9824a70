"""The parts that the API is given, from those of a process. Wires, and decides nothing.

`embedded_parts` is for one process over a SQLite file, `cluster_parts` for a server of many. `HomeVault` is the
keychain, as the API asks for it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from noetl import proving
from noetl.api.checks import queue_check, store_check, workers_check
from noetl.api.parts import Check, MetricsPage, Parts
from noetl.clock import Clock
from noetl.config import Settings
from noetl.control.catalog import Catalog
from noetl.control.changes import Changes
from noetl.control.intake import Observer as Committed
from noetl.control.log_heads import Tags
from noetl.control.log_lines import LogLines
from noetl.control.metrics import NOTHING, Meters
from noetl.control.projected import Projected
from noetl.control.requests import Nobody
from noetl.control.tallies import Tallies
from noetl.control.usage import Usage
from noetl.control.viewings import (
    Viewings,
    catalog_with_viewings,
    results_with_viewings,
    store_with_viewings,
)
from noetl.control.watching import Watching
from noetl.embedded import Embedded
from noetl.engine.events import Event
from noetl.errors import RequestError
from noetl.identity.tokens import Tokens
from noetl.keychain.kinds import kind_named, shortfall, unknown_fields
from noetl.keychain.local import stored_credentials
from noetl.keychain.stored import Credential, StoredCredentials
from noetl.keychain.strongbox import Row
from noetl.reviewing import explainer_of
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


def looking(watching: Watching, catalog: Catalog) -> dict[str, Any]:
    """The parts that look on."""
    store, clock = watching.store, watching.clock
    return {
        "watching": watching,
        "changes": Changes(clock, watching.listeners, watching.statuses),
        "tallies": Tallies(store, clock),
        "usage": Usage(store, catalog.kinds, asyncio.to_thread),
    }


def over_time(watching: Watching, viewings: Viewings, tags: Tags | None = None) -> dict[str, Any]:
    """What shows executions over time, exported ones that were brought here included."""
    projected = Projected(watching.store, watching.clock, tags, viewings.ledger)
    return {
        "projected": projected,
        "lines": LogLines(watching.store, projected, watching),
        "viewings": viewings,
    }


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

    workforce = OwnWorkforce(embedded)

    async def health() -> list[Check]:
        clock = embedded.clock
        return [
            await store_check(embedded.store, clock),
            queue_check(is_up=None),
            await workers_check(workforce, clock),
        ]

    viewings = Viewings(embedded.clock)
    store = store_with_viewings(embedded.store, viewings)
    catalog = catalog_with_viewings(embedded.catalog, viewings)
    read_result = results_with_viewings(embedded.access.read_by, viewings)
    telling.watching = watching = Watching(store, embedded.clock)
    return Parts(
        settings=embedded.settings,
        clock=embedded.clock,
        store=store,
        catalog=catalog,
        desk=embedded.desk,
        authority=tokens,
        **looking(watching, catalog),
        **over_time(watching, viewings),
        read_result=read_result,
        health=health,
        vault=HomeVault(embedded.settings, embedded.clock),
        workforce=workforce,
        tokens=tokens,
        explainer=explainer_of(store, catalog, embedded.clock, read_result),
        meters=meters,
        metrics=metrics,
    )


def cluster_parts(
    settings: Settings, server: ClusterServer, telling: Telling, vault: HomeVault, link: Link | None
) -> Parts:
    """The parts of the API over a server of a cluster."""

    workforce = RosterWorkforce(server)

    async def health() -> list[Check]:
        return [
            await store_check(server.store, server.clock),
            queue_check(is_up=None if link is None else link.is_up),
            await workers_check(workforce, server.clock),
        ]

    async def heads(ids: Any) -> dict[int, int]:
        return {head.id: head.head for head in (await server.store.heads(ids)).values()}

    viewings = Viewings(server.clock)
    store = store_with_viewings(server.store, viewings)
    catalog = catalog_with_viewings(server.catalog, viewings)
    read_result = results_with_viewings(server.access.read_by, viewings)
    telling.watching = watching = Watching(store, server.clock, heads)
    return Parts(
        settings=settings,
        clock=server.clock,
        store=store,
        catalog=catalog,
        desk=server.desk,
        authority=server.tokens,
        **looking(watching, catalog),
        **over_time(watching, viewings, server.store),
        read_result=read_result,
        health=health,
        vault=vault,
        workforce=workforce,
        tokens=server.tokens,
        explainer=explainer_of(store, catalog, server.clock, read_result, server.store),
    )
