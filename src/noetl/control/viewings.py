"""Viewings: exported executions that a server holds in memory for an hour, to be looked at like its own.

Comes in: a file, and whose it is. A viewing has an id above every real one, made from the file and its owner, so that
the same file brought again is the same viewing. Only who brought it sees it (`api.sight`), nobody acts on it, and the
references in it open what the file brought along and nothing else: anybody may have written them. The functions at the
end put viewings behind the contracts that all reading goes through. Bounded in number and bytes: the oldest go first.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import msgspec

from noetl.clock import Clock
from noetl.control.brought import Brought, brought
from noetl.control.brought_payloads import BroughtResults, brings
from noetl.control.catalog import Catalog, Loaded
from noetl.control.exported import ExportedPlaybook
from noetl.dsl.kinds import Kinds
from noetl.engine.events import LoopIterationDone
from noetl.errors import NoetlError, ReferenceMissing, ResultError
from noetl.ids import VIEWING_ID_MIN, is_viewing
from noetl.projections.ledger import Ledger
from noetl.references import Reference
from noetl.results.contract import Readable
from noetl.stores.contract import Entry, Execution, Snapshot, Store

VIEWINGS_MAX = 8
VIEWINGS_BYTES_MAX = 256 * 1024 * 1024
VIEWING_SECONDS = 3600.0
EVENTS_PER_READ = 5_000
ReadResult = Callable[[int, Reference], Awaitable[Readable]]


class NotExported(ReferenceMissing):
    """What a reference in a viewing stands for."""

    def __init__(self) -> None:
        ResultError.__init__(self, "this payload is kept outside the log, and the exported file does not have it")


class Viewing(msgspec.Struct, frozen=True, kw_only=True):
    """One exported execution."""

    execution_id: int
    owner: str
    brought: Brought
    expires_at: float

    @property
    def row(self) -> Execution:
        return self.brought.row


def viewing_id(body: bytes, owner: str) -> int:
    found = hashlib.sha256(owner.encode() + b"\0" + body).digest()
    return VIEWING_ID_MIN + int.from_bytes(found[:8], "big") % VIEWING_ID_MIN


def viewing_of(body: bytes, owner: str, kinds: Kinds, clock: Clock) -> Viewing:
    """A file as a viewing; raises Damaged. Blocks for as long as it takes: call it off the event loop."""
    execution_id = viewing_id(body, owner)
    return Viewing(
        execution_id=execution_id,
        owner=owner,
        brought=brought(body, execution_id, kinds, clock.monotonic),
        expires_at=clock.now() + VIEWING_SECONDS,
    )


class Viewings:
    """All that this server holds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[int, Viewing] = {}  # the oldest first

    def hold(self, viewing: Viewing) -> None:
        self._held.pop(viewing.execution_id, None)
        self._held[viewing.execution_id] = viewing
        self._let_go()
        while len(self._held) > VIEWINGS_MAX or (len(self._held) > 1 and self.size_bytes > VIEWINGS_BYTES_MAX):
            del self._held[next(iter(self._held))]

    def find(self, execution_id: int) -> Viewing | None:
        self._let_go()
        return self._held.get(execution_id)

    def is_of(self, execution_id: int, owner: str) -> bool:
        """Whether that is a viewing, and who asks brought it."""
        found = self.find(execution_id)
        return found is not None and found.owner == owner

    def ledger(self, execution_id: int) -> Ledger | None:
        found = self.find(execution_id) if is_viewing(execution_id) else None
        return found.brought.ledger if found else None

    def playbook(self, sha: str) -> Loaded | NoetlError | None:
        held = (one.brought.playbooks for one in self._held.values())
        return next((playbooks[sha] for playbooks in held if sha in playbooks), None)

    def entry(self, sha: str) -> Entry | None:
        """A playbook that came along, as a store gives it."""
        brought_along = (one for viewing in self._held.values() for one in viewing.brought.header.playbooks)
        return next((entry_of(one) for one in brought_along if one.sha == sha), None)

    @property
    def size_bytes(self) -> int:
        return sum(one.brought.size_bytes for one in self._held.values())

    def __len__(self) -> int:
        return len(self._held)

    def _let_go(self) -> None:
        now = self._clock.now()
        self._held = {key: one for key, one in self._held.items() if one.expires_at > now}


def entry_of(given: ExportedPlaybook) -> Entry:
    return Entry(
        path=given.path,
        version=given.version,
        sha=given.sha,
        text=given.as_text.data,
        name=given.name,
        is_legacy=given.is_legacy,
        is_upstream=given.is_upstream,
    )


# --- behind the contracts --------------------------------------------------------------------------------------------


class ViewingStore:
    """A store that answers for viewings itself and passes all the rest on; see `noetl.stores.contract.Store`."""

    def __init__(self, store: Store, viewings: Viewings) -> None:
        self._store = store
        self._viewings = viewings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def execution(self, execution_id: int) -> Execution | None:
        if is_viewing(execution_id):
            found = self._viewings.find(execution_id)
            return found.row if found else None
        return await self._store.execution(execution_id)

    async def children(self, execution_id: int) -> list[Execution]:
        return [] if is_viewing(execution_id) else await self._store.children(execution_id)

    async def events(self, execution_id: int, after: int = 0, limit: int = 1000) -> Any:
        if is_viewing(execution_id):
            found = self._viewings.find(execution_id)
            return found.brought.events(after, limit) if found else []
        return await self._store.events(execution_id, after, limit)

    async def iteration_outputs(self, execution_id: int, run: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        if not is_viewing(execution_id):
            async for pair in self._store.iteration_outputs(execution_id, run):
                yield pair
            return
        for index, seq in sorted(await self._iterations_done(execution_id, run)):
            ((_, event),) = await self.events(execution_id, seq - 1, 1)
            if isinstance(event, LoopIterationDone):
                yield index, event.output

    async def _iterations_done(self, execution_id: int, run: int) -> list[tuple[int, int]]:
        found, after = list[tuple[int, int]](), 0
        while rows := await self.events(execution_id, after, EVENTS_PER_READ):
            after = rows[-1][0]
            found += [(one.iter, seq) for seq, one in rows if isinstance(one, LoopIterationDone) and one.run == run]
        return found

    async def snapshot(self, execution_id: int) -> Snapshot | None:
        return None if is_viewing(execution_id) else await self._store.snapshot(execution_id)

    async def entry_by_sha(self, sha: str) -> Entry | None:
        return await self._store.entry_by_sha(sha) or self._viewings.entry(sha)


class ViewingCatalog:
    """A catalog that knows the playbooks of viewings too, and passes all the rest on."""

    def __init__(self, catalog: Catalog, viewings: Viewings) -> None:
        self._catalog = catalog
        self._viewings = viewings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    async def loaded(self, sha: str, planned: list[list[Any]]) -> Loaded:
        return await self._brought(sha, planned) or await self._catalog.loaded(sha, planned)

    async def known(self, sha: str, planned: list[list[Any]]) -> Loaded:
        return await self._brought(sha, planned) or await self._catalog.known(sha, planned)

    async def _brought(self, sha: str, planned: list[list[Any]]) -> Loaded | None:
        """One that only a viewing has; where the store has it too, the text is the same, for it has the same sha."""
        found = self._viewings.playbook(sha)
        if found is None or await self._catalog.store.entry_by_sha(sha) is not None:
            return None
        if isinstance(found, NoetlError):
            raise found.with_traceback(None)
        return self._catalog.extended(sha, found, planned) if planned else found


def store_with_viewings(store: Store, viewings: Viewings) -> Store:
    return cast("Store", ViewingStore(store, viewings))


def catalog_with_viewings(catalog: Catalog, viewings: Viewings) -> Catalog:
    return cast("Catalog", ViewingCatalog(catalog, viewings))


def results_with_viewings(read: ReadResult, viewings: Viewings) -> ReadResult:
    """Large results; those of a viewing are what its file brought along, and nothing else."""

    async def read_own(execution_id: int, reference: Reference) -> Readable:
        if not is_viewing(execution_id):
            return await read(execution_id, reference)
        found = viewings.find(execution_id)
        if found is None or not brings(found.brought.payloads, reference):
            raise NotExported
        return BroughtResults(found.brought.payloads)

    return read_own
