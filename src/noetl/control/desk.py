"""What may be asked of a server, whoever asks: the command line in its process, or the API.

Each request is checked, becomes an operation of the pump, and is answered when that is committed. Nothing here decides
what an execution does; nothing here runs a tool.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from noetl.clock import Clock
from noetl.control import credentials, reading
from noetl.control.catalog import Catalog, Loaded, Text
from noetl.control.live import Executions
from noetl.control.requests import RunRequest
from noetl.engine import commands as ops
from noetl.engine.decide import row_status
from noetl.engine.events import Patch
from noetl.engine.rows import check_signal
from noetl.errors import PayloadTooLarge, RequestError, Unreachable, WrongState
from noetl.keychain.contract import Keychain
from noetl.projections.progress import Progress
from noetl.queues.contract import STALE
from noetl.stores.contract import INCIDENT, LIVE, RUNNING, Entry, Execution, HeadMoved, Store
from noetl.stores.wanted import Wanted

PAYLOAD_BYTES_MAX = 1024 * 1024
REQUEST_KEY_CHARS_MAX = 255
NO_ID = "no id for an execution could be had; ask again in a moment"
CHILDREN_PER_READ = 1000
IDS_TRIED_MAX = 10  # after a failover that lost what it had not heard of yet, ids are given again


class Pump(Protocol):
    """Where operations go (`control.intake`)."""

    executions: Executions

    def submit(self, operation: ops.Operation) -> Awaitable[str]: ...


class Announce(Protocol):
    """Who watches is told whose events come next, and what was done before them."""

    def __call__(self, execution_id: int, loaded: Loaded, path: str, so_far: Progress | None = None, /) -> None: ...


def nobody(_execution_id: int, _loaded: Loaded, _path: str, _so_far: Progress | None = None, /) -> None:
    """Nobody watches."""


class Started(msgspec.Struct, frozen=True):
    execution_id: int
    loaded: Loaded
    is_new: bool  # False: its request key is that of an execution that was there
    path: str = ""  # of a new one, as the version
    version: int = 0
    is_running: bool = False  # it was, a moment ago; else only its row says what it is


class Desk:
    """See above. `new_id` and `new_trace` make what cannot be repeated."""

    def __init__(
        self,
        *,
        store: Store,
        catalog: Catalog,
        pump: Pump,
        keychain: Keychain,
        clock: Clock,
        new_id: Callable[[], Awaitable[int]],
        new_trace: Callable[[], str],
    ) -> None:
        self.store = store
        self.catalog = catalog
        self.pump = pump
        self.executions = pump.executions
        self.keychain = keychain
        self.clock = clock
        self.new_id = new_id
        self.new_trace = new_trace
        self.announce: Announce = nobody
        self.is_under_way: Callable[[int], bool] = lambda _id: True  # in a cluster whatever is live is, somewhere

    async def register(self, request: RunRequest) -> Entry:
        """The playbook that is meant: a text, which is kept, or a path of the catalog."""
        if request.data is None:
            return await self.catalog.find(request.path or "", request.version)
        text = Text(data=request.data, name=request.name, is_legacy=request.is_legacy, is_upstream=request.is_upstream)
        return await self.catalog.register(text)

    async def start(self, request: RunRequest, found: Entry | None = None) -> Started:
        """Register, prove the credentials, and record the start; the same request key again is the same execution.

        `found`: the playbook that is meant, where it was looked up already.
        """
        existing = await self._by_key(request)
        if existing is not None:
            return existing
        size = len(msgspec.json.encode(request.payload))
        if size > PAYLOAD_BYTES_MAX:
            raise PayloadTooLarge("a payload", size, PAYLOAD_BYTES_MAX)
        entry = found or await self.register(request)
        loaded = await self.catalog.loaded(entry.sha, [])
        await credentials.prove(self.keychain, loaded.playbook, request.payload)
        folder = await self.catalog.attach(request.beside) if request.beside else request.folder
        for _ in range(IDS_TRIED_MAX):
            try:
                execution_id = await self._begun(request, entry, loaded, folder)
                is_running = self._is_running(execution_id)
                return Started(execution_id, loaded, True, entry.path, entry.version, is_running)
            except HeadMoved:  # another server was asked under the same key at the same time, or the id was given twice
                existing = await self._by_key(request)
            if existing is not None:
                return existing
        raise Unreachable(NO_ID)

    async def _begun(self, request: RunRequest, entry: Entry, loaded: Loaded, folder: str) -> int:
        """Record a start under a new id. Raises HeadMoved: its key or its id is taken."""
        execution_id = await self.new_id()
        self.announce(execution_id, loaded, entry.path)
        await self.pump.submit(
            ops.Start(
                execution_id=execution_id,
                path=entry.path,
                version=entry.version,
                sha=entry.sha,
                payload=request.payload,
                folder=folder,
                request_key=request.request_key,
                trace_id=request.trace_id or self.new_trace(),
                parent_span_id=request.parent_span_id,
                rerun_of=request.rerun_of,
            )
        )
        return execution_id

    def _is_running(self, execution_id: int) -> bool:
        """Whether memory says so. It may be ahead of the log by what is being committed: an end is read in the log."""
        live = self.executions.known(execution_id)
        return live is not None and row_status(live.state) == RUNNING

    async def _by_key(self, request: RunRequest) -> Started | None:
        if request.request_key is None or await self._row_under(request.request_key) is None:
            return None
        return await self.under_key(request.request_key, (await self.register(request)).sha)

    async def under_key(self, request_key: str | None, sha: str) -> Started | None:
        """The execution of a request key. It stands for one request: another playbook under it is a mistake."""
        existing = await self._row_under(request_key) if request_key is not None else None
        if existing is None:
            return None
        if existing.sha != sha:
            raise RequestError(
                f"the request key {request_key} is that of execution {existing.id}, which runs "
                f"{existing.path}@{existing.version}, not this playbook; use another key"
            )
        return Started(existing.id, await self.catalog.loaded(existing.sha, []), False)

    async def _row_under(self, request_key: str) -> Execution | None:
        if not 0 < len(request_key) <= REQUEST_KEY_CHARS_MAX:
            raise RequestError(f"a request key has 1 to {REQUEST_KEY_CHARS_MAX} characters")
        return await self.store.execution_by_request(request_key)

    async def resume(self, execution_id: int) -> dict[str, Any]:
        """Take an execution up where its log ends; a child goes on with its caller, one that has ended does not.

        With it go those that it called, however far below, if they are in an incident, or if nobody goes on with them
        and nobody waits for them any more, as when both were cancelled and undo their steps.
        """
        root = await self._root(await reading.row_of(self.store, execution_id))
        if root.status in LIVE:
            await self.pump.submit(ops.Recover(execution_id=root.id))
            await self._take_up_below(root.id)
        return await self._status(execution_id)

    async def _take_up_below(self, execution_id: int) -> None:
        for status in LIVE:
            before: int | None = None
            wanted = Wanted(statuses=(status,), parent_id=execution_id)
            while rows := await self.store.executions(CHILDREN_PER_READ, before, wanted):
                for row in rows:
                    if row.status == INCIDENT or not self.is_under_way(row.id):
                        await self.pump.submit(ops.Recover(execution_id=row.id))
                    await self._take_up_below(row.id)
                before = rows[-1].id

    async def _root(self, row: Execution) -> Execution:
        """The outermost caller that is still under way."""
        while row.parent_id is not None and row.status in LIVE:
            parent = await reading.row_of(self.store, row.parent_id)
            if parent.status not in LIVE:
                break
            row = parent
        return row

    async def cancel(self, execution_id: int, reason: str) -> dict[str, Any]:
        await self._refuse_ended(execution_id)
        await self.pump.submit(ops.Cancel(execution_id=execution_id, reason=reason))
        return await self._status(execution_id)

    async def signal(self, execution_id: int, patches: dict[str, Any]) -> dict[str, Any]:
        await self._refuse_ended(execution_id)
        writes = [Patch(path, value) for path, value in patches.items()]
        live = self.executions.known(execution_id) or await self.executions.rebuilt(execution_id, [])
        check_signal(live.state, writes, live.loaded.playbook)
        word = await self.pump.submit(ops.Signal(execution_id=execution_id, patches=writes))
        if word == STALE:  # it ended meanwhile: what is not in the log must not be answered as if it were
            await self._refuse_ended(execution_id)
        return await self._status(execution_id)

    async def _refuse_ended(self, execution_id: int) -> None:
        row = await reading.row_of(self.store, execution_id)
        if row.status not in LIVE:
            raise WrongState(f"execution {execution_id} has ended ({row.status}); nothing can change it any more")

    async def _status(self, execution_id: int) -> dict[str, Any]:
        row = await reading.row_of(self.store, execution_id)
        return {"execution_id": str(execution_id), "status": row.status}
