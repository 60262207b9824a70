"""What handlers are given: the parts of a server, put together by the role that serves. Embedded and cluster both fit.

A part that a server does not have is None, and its operations say so (503). Nothing here is made or started here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from noetl.clock import Clock
from noetl.config import Settings
from noetl.control.catalog import Catalog
from noetl.control.desk import Desk
from noetl.control.metrics import NOTHING, Meters
from noetl.control.unserved import Unserved
from noetl.control.watching import Watching
from noetl.identity.roles import Authority
from noetl.identity.tokens import Tokens
from noetl.references import Reference
from noetl.results.contract import Readable
from noetl.starting.hooks import Hooks
from noetl.starting.schedules import Schedules
from noetl.starting.triggers import Triggers
from noetl.stores.contract import Store


class KeptCredential(Protocol):
    """What may be known of a stored credential without a key (`keychain.strongbox.Row`)."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def origin(self) -> str: ...

    @property
    def fields(self) -> tuple[str, ...]: ...

    @property
    def created_at(self) -> float: ...

    @property
    def updated_at(self) -> float: ...


class Vault(Protocol):
    """Stored credentials: values go in, and never come out (security 14)."""

    async def rows(self) -> Sequence[KeptCredential]: ...

    async def keep(self, name: str, kind: str, fields: dict[str, Any]) -> KeptCredential:
        """Store a credential, encrypted, in place of the one with its name."""
        ...

    async def remove(self, name: str) -> bool:
        """False: there was none."""
        ...

    async def prove(self, name: str, kind: str | None, *, is_connecting: bool) -> dict[str, Any]:
        """Try a credential: {name, kind, origin, tried, error, is_unreachable}, with nothing of it inside."""
        ...


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """What waits and runs in one pool, and who is there to do it."""

    pool: str
    ready: int
    leased: int
    parked: int
    oldest_wait_seconds: float
    workers: int


class SeenWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker, as it last said of itself."""

    worker: str
    pool: str
    slots: int
    host: str
    pid: int
    version: str
    kinds: tuple[str, ...] = ()
    jobs: int = 0
    seen_at: float = 0.0  # seconds since 1970


class Workforce(Protocol):
    """Pools and the workers in them."""

    async def pools(self) -> list[Pool]: ...

    async def workers(self) -> list[SeenWorker]: ...

    async def unserved(self, execution_id: int) -> list[Unserved]:
        """Jobs of an execution that are ready where no worker is."""
        ...


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one part of a server works: store, queue, …"""

    name: str
    is_ok: bool
    detail: str = ""  # never with a password
    seconds: float = 0.0


class MetricsPage(Protocol):
    """The numbers of a server (`control.prometheus.Prometheus`)."""

    async def page(self) -> bytes: ...


ReadResult = Callable[[int, Reference], Awaitable[Readable]]  # the store of a reference, as that execution may open it
CheckHealth = Callable[[], Awaitable[list[Check]]]


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """See above."""

    settings: Settings
    clock: Clock
    store: Store
    catalog: Catalog
    desk: Desk
    authority: Authority
    watching: Watching
    read_result: ReadResult
    health: CheckHealth
    vault: Vault
    workforce: Workforce
    tokens: Tokens
    meters: Meters = NOTHING
    schedules: Schedules | None = None
    triggers: Triggers | None = None
    hooks: Hooks | None = None
    metrics: MetricsPage | None = None
