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
from noetl.control.changes import Changes
from noetl.control.desk import Desk
from noetl.control.explaining import Explainer
from noetl.control.log_lines import LogLines
from noetl.control.metrics import NOTHING, Meters
from noetl.control.projected import Projected
from noetl.control.tallies import Tallies
from noetl.control.unserved import Unserved
from noetl.control.usage import Usage
from noetl.control.viewings import Viewings
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


class WantedJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs a list has. All that is given must hold."""

    pool: str = ""
    worker: str = ""  # only those that it holds
    state: str = ""  # ready, leased or parked
    path_prefix: str = ""  # of playbooks at this path and below it


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job, as it stands now."""

    execution_id: str
    path: str
    step: str | None  # None: it ended meanwhile
    run: int
    iteration: int | None
    pool: str
    priority: int
    state: str
    worker: str | None
    age_seconds: float  # since it was last ready
    due_in_seconds: float | None  # of one that waits for a time
    lease_age_seconds: float | None  # since its worker was last heard of it
    lease_left_seconds: float | None
    deliveries: int


class Workforce(Protocol):
    """Pools, the jobs in them and the workers."""

    async def jobs(self, limit: int, wanted: WantedJobs) -> list[Job]:
        """Leased ones first, then ready ones, then parked ones."""
        ...

    async def pools(self) -> list[Pool]: ...

    async def workers(self) -> list[SeenWorker]: ...

    async def present(self) -> int:
        """How many workers are there now."""
        ...

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
    changes: Changes
    tallies: Tallies
    usage: Usage
    read_result: ReadResult
    health: CheckHealth
    vault: Vault
    workforce: Workforce
    tokens: Tokens
    explainer: Explainer
    projected: Projected
    lines: LogLines
    viewings: Viewings
    meters: Meters = NOTHING
    schedules: Schedules | None = None
    triggers: Triggers | None = None
    hooks: Hooks | None = None
    metrics: MetricsPage | None = None
