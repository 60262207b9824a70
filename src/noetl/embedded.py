"""Server and worker in one process, over one SQLite file: the parts, put together.

Wires, and decides nothing. The queue is in memory and rebuilt from the log; work and reports travel by function calls.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from noetl.clock import Clock, SystemClock
from noetl.config import Settings
from noetl.control import credentials, reading
from noetl.control.catalog import Catalog, Loaded, Text
from noetl.control.dispatch import Dispatch
from noetl.control.follow import Following
from noetl.control.inbox import Inbox, Request
from noetl.control.intake import Intake
from noetl.control.live import Executions, Live
from noetl.control.requests import Observer, RunRequest
from noetl.control.showing import Showing
from noetl.control.stored_lists import StoredLists
from noetl.control.timers import Timers
from noetl.control.turn import Follower
from noetl.dsl.kinds import Kind
from noetl.dsl.model import Playbook
from noetl.engine import commands as ops
from noetl.engine.effects import is_needed
from noetl.engine.events import Event, Patch
from noetl.engine.rows import check_signal
from noetl.engine.state import INCIDENT, State
from noetl.errors import PayloadTooLarge, RequestError, WrongState
from noetl.keychain.opening import open_keychain
from noetl.logs import logging_to
from noetl.queues.memory import MemoryQueue
from noetl.references import Reference
from noetl.results.contract import Readable, Results
from noetl.results.stores import NoCredentials, Stores
from noetl.runner.wallet import Wallet
from noetl.stores.contract import LIVE, Entry, Execution
from noetl.stores.sqlite import SqliteStore
from noetl.tools.registry import Declarations, is_installed
from noetl.worker import make_worker

PAYLOAD_BYTES_MAX = 1024 * 1024
NONCE_BITS = 31
TRACE_BYTES = 16
IDS_PER_BLOCK_MAX = 1024


class Kinds(Declarations):
    """All kinds; those that cannot run here say so."""

    def __getitem__(self, name: str) -> Kind:
        if name not in self.loaded:
            kind = super().__getitem__(name)
            self.loaded[name] = msgspec.structs.replace(
                kind, is_missing=not is_installed(kind), is_runnable=self.can_run(name)
            )
        return self.loaded[name]


def kinds_of(settings: Settings) -> Kinds:
    """The kinds that the operator allows. Raises UnusablePlugin at once: not when a playbook is half done."""
    kinds = Kinds(lambda: settings.tools_plugins)
    _ = kinds.plugins
    return kinds


class Embedded:
    """Server and worker in one process."""

    def __init__(self, settings: Settings, store: SqliteStore, observer: Observer, clock: Clock, kinds: Kinds) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.results = Stores(results_folder(settings), settings.results_stores)
        self.keychain = open_keychain(settings, os.environ, clock)
        self.queue = MemoryQueue(secrets.randbits(NONCE_BITS))
        self.catalog = Catalog(store, kinds, clock)
        self.executions = Executions(store, self.catalog, self.results)
        self.showing = Showing(observer, self.executions)
        self.intake = Intake(
            store=store,
            queue=self.queue,
            results=self.results,
            executions=self.executions,
            clock=clock,
            observer=self._committed,
        )
        self.lists = StoredLists(store, self._read_by, self._write_by)
        self.dispatch = Dispatch(intake=self.intake, queue=self.queue, lists=self.lists, clock=clock)
        self.timers = Timers(clock, self.queue, self.intake.post, self.dispatch.ring)
        self.timers.is_needed = self._is_needed
        self.following = Following(
            intake=self.intake,
            catalog=self.catalog,
            store=store,
            lists=self.lists,
            timers=self.timers,
            new_id=self.new_id,
        )
        self.following.ring = self.dispatch.ring
        self.intake.follower = Follower(self.following.within, self.following.after)
        self.worker = make_worker(
            settings,
            name=f"embedded-{os.getpid()}",
            transport=self.dispatch,
            results=self.results,
            keychain=self.keychain,
            playbooks=self._playbook,
            clock=clock,
            kinds=kinds,
            is_embedded=True,
        )
        self.following.revoke = self.worker.revoke
        self._ids: list[int] = []
        self._block = 1
        self._moved = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: BaseException | None = None  # of a part that has died: nothing more will happen by itself
        self._interrupts = 0
        self._ended: dict[int, State] = {}  # executions that were run to their end, as they ended
        self._watched_id = 0

    # --- parts -------------------------------------------------------------------------------------------------------

    async def _playbook(self, sha: str, planned: list[list[Any]]) -> Playbook:
        return (await self.catalog.loaded(sha, planned)).playbook

    async def _read_by(self, execution_id: int, reference: Reference) -> Readable:
        """The store of a reference; a place of a playbook's own is opened as that execution's playbook may."""
        if reference.auth_reference is None:
            return await self.results.for_reading(reference, NoCredentials())
        return await self.results.for_reading(reference, await self._wallet_of(execution_id))

    async def _write_by(self, execution_id: int, chosen: object) -> Results:
        """The store that a task of an execution chose."""
        if chosen is None:
            return await self.results.for_writing(None, NoCredentials())
        return await self.results.for_writing(chosen, await self._wallet_of(execution_id))

    async def _wallet_of(self, execution_id: int) -> Wallet:
        live = await self.executions.get(execution_id)
        return Wallet(self.keychain, live.loaded.playbook, live.state.workload)

    async def new_id(self) -> int:
        """An execution id; blocks grow, so that one run takes one and a thousand children few."""
        if not self._ids:
            first = await self.store.reserve_ids(self._block)
            self._ids = list(range(first, first + self._block))[::-1]
            self._block = min(self._block * 2, IDS_PER_BLOCK_MAX)
        return self._ids.pop()

    def _committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        self.showing.committed(execution_id, first_seq, events)
        live = self.executions.known(execution_id)
        if execution_id == self._watched_id and live is not None and live.state.is_ended:
            self._ended[execution_id] = live.state
        if self._may_be_quiet(live):
            self._moved.set()

    def _may_be_quiet(self, live: Live | None) -> bool:
        """Whether whoever waits for the end has something to look at: not after every commit of a long run."""
        return live is None or live.state.is_ended or live.state.status == INCIDENT or self.queue.is_idle

    # --- doing -------------------------------------------------------------------------------------------------------

    async def register(self, request: RunRequest) -> Entry:
        if request.data is None:
            return await self.catalog.find(request.path or "", request.version)
        text = Text(data=request.data, name=request.name, is_legacy=request.is_legacy, is_upstream=request.is_upstream)
        return await self.catalog.register(text)

    async def start(self, request: RunRequest) -> tuple[int, Loaded]:
        """Register, prove the credentials, and record the start."""
        if request.request_key is not None:
            existing = await self.store.execution_by_request(request.request_key)
            if existing is not None:
                await self._refuse_another(request, existing)
                return existing.id, await self.resume(existing.id)
        size = len(msgspec.json.encode(request.payload))
        if size > PAYLOAD_BYTES_MAX:
            raise PayloadTooLarge("a payload", size, PAYLOAD_BYTES_MAX)
        entry = await self.register(request)
        loaded = await self.catalog.loaded(entry.sha, [])
        await credentials.prove(self.keychain, loaded.playbook, request.payload)
        execution_id = await self.new_id()
        self.showing.announce(execution_id, loaded, entry.path)
        await self.intake.submit(
            ops.Start(
                execution_id=execution_id,
                path=entry.path,
                version=entry.version,
                sha=entry.sha,
                payload=request.payload,
                folder=request.folder,
                request_key=request.request_key,
                trace_id=secrets.token_hex(TRACE_BYTES),
            )
        )
        return execution_id, loaded

    async def _refuse_another(self, request: RunRequest, existing: Execution) -> None:
        """A request key stands for one request: another playbook under it is a mistake of whoever asks."""
        entry = await self.register(request)
        if entry.sha != existing.sha:
            raise RequestError(
                f"the request key {request.request_key} is that of execution {existing.id}, which runs "
                f"{existing.path}@{existing.version}, not this playbook; use another key"
            )

    async def resume(self, execution_id: int) -> Loaded:
        """Take an execution up where its log ends; a child goes on with its caller, one that has ended does not."""
        row = await reading.row_of(self.store, execution_id)
        loaded = (await self.executions.get(execution_id)).loaded
        self.showing.announce(execution_id, loaded, row.path, await reading.progress_of(self.store, execution_id))
        root = await self._root(row)
        if root.status in LIVE:
            await self.executions.get(root.id)
            await self.intake.submit(ops.Recover(execution_id=root.id))
        return loaded

    async def _root(self, row: Execution) -> Execution:
        """The outermost caller that is still under way."""
        while row.parent_id is not None and row.status in LIVE:
            parent = await reading.row_of(self.store, row.parent_id)
            if parent.status not in LIVE:
                break
            row = parent
        return row

    def watched(self, execution_id: int) -> State | None:
        """The state of an execution, as this process knows it."""
        live = self.executions.known(execution_id)
        return live.state if live is not None else self._ended.get(execution_id)

    async def until_quiet(self, execution_id: int) -> bool:
        """Run until the execution has ended, waits or is stopped; True: it was interrupted."""
        self._watched_id = execution_id
        while not self._is_quiet(execution_id):
            self._moved.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), self.showing.observer.tick_seconds)
            self.showing.observer.tick()
            if self._failure is not None:
                raise self._failure
            if self._interrupts:
                await self._stop()
                return True
        return False

    def _is_quiet(self, execution_id: int) -> bool:
        live = self.executions.known(execution_id)
        if live is None or live.state.status == INCIDENT:
            return True
        return self.is_idle

    def _is_needed(self, timer: ops.TimerSet) -> bool:
        live = self.executions.known(timer.execution_id)
        return live is not None and is_needed(live.state, timer)

    def incident_below(self, execution_id: int) -> State | None:
        """The descendant of an execution that is in an incident, if one is."""
        for live in self.executions:
            if live.state.status == INCIDENT and execution_id in self._callers(live.state):
                return live.state  # type: ignore[no-any-return]  # it is one
        return None

    def _callers(self, state: State | None) -> Iterator[int]:
        while state is not None and state.parent_execution_id is not None:
            yield state.parent_execution_id
            live = self.executions.known(state.parent_execution_id)
            state = live.state if live is not None else None

    @property
    def is_idle(self) -> bool:
        """Nothing runs, and nothing will by itself: only a signal can bring work."""
        return (
            self.queue.is_idle
            and self.intake.is_idle
            and self.following.is_idle
            and self.worker.jobs == 0
            and not self._moved.is_set()
            and self.timers.is_idle
        )

    def interrupt(self) -> None:
        """Ctrl-C: once, stop cleanly; twice, stop at once."""
        self._interrupts += 1
        self._moved.set()
        if self._interrupts > 1:
            for task in self._tasks:
                task.cancel()

    async def _stop(self) -> None:
        if self.worker.jobs:
            self.showing.observer.stopping(self.worker.jobs)
        draining = asyncio.ensure_future(self.worker.drain())
        while not draining.done() and self._interrupts == 1:
            self._moved.clear()
            moved = asyncio.ensure_future(self._moved.wait())
            await asyncio.wait(
                {draining, moved}, timeout=self.showing.observer.tick_seconds, return_when="FIRST_COMPLETED"
            )
            moved.cancel()
            self.showing.observer.tick()
        if not draining.done():
            await self.worker.abandon()
            await draining

    async def cancel(self, execution_id: int, reason: str) -> dict[str, Any]:
        await self._refuse_ended(execution_id)
        await self.intake.submit(ops.Cancel(execution_id=execution_id, reason=reason))
        return await self._status(execution_id)

    async def signal(self, execution_id: int, patches: dict[str, Any]) -> dict[str, Any]:
        await self._refuse_ended(execution_id)
        writes = [Patch(path, value) for path, value in patches.items()]
        live = self.executions.known(execution_id) or await self.executions.rebuilt(execution_id, [])
        check_signal(live.state, writes, live.loaded.playbook)
        await self.intake.submit(ops.Signal(execution_id=execution_id, patches=writes))
        return await self._status(execution_id)

    async def _refuse_ended(self, execution_id: int) -> None:
        row = await reading.row_of(self.store, execution_id)
        if row.status not in LIVE:
            raise WrongState(f"execution {execution_id} has ended ({row.status}); nothing can change it any more")

    async def _status(self, execution_id: int) -> dict[str, Any]:
        row = await reading.row_of(self.store, execution_id)
        return {"execution_id": str(execution_id), "status": row.status}

    async def _handle(self, request: Request) -> dict[str, Any]:
        if request.do == "cancel":
            return await self.cancel(request.execution_id, request.reason)
        return await self.signal(request.execution_id, request.patches)

    # --- life --------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Embedded:
        inbox = Inbox(inbox_folder(self.settings), self.clock, self._handle)
        for part in (self.intake.run(), self.timers.run(), inbox.run()):
            self._run_part(part)
        return self

    def _run_part(self, part: Coroutine[Any, Any, None]) -> None:
        """Run a part until the end of this process's work; one that dies ends the run, which would wait for ever."""
        task = asyncio.get_running_loop().create_task(part)
        self._tasks.append(task)
        task.add_done_callback(self._part_ended)

    def _part_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._moved.set()

    def work(self) -> None:
        """Let the worker take jobs."""
        self.worker.on_failure = self._fail
        self.worker.on_idle = self._moved.set
        self._run_part(self.worker.run())
        self._run_part(self.worker.beat())

    async def __aexit__(self, *_: object) -> None:
        await self.worker.abandon()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.worker.kit.invoker.toolbox.close()
        await self.keychain.close()
        await self.results.close()
        await self.store.close()


def results_folder(settings: Settings) -> Path:
    return settings.store_path.with_suffix(".results")


def inbox_folder(settings: Settings) -> Path:
    return settings.store_path.with_suffix(".inbox")


@asynccontextmanager
async def embedded(settings: Settings, observer: Observer, wait_seconds: float = 0.0) -> AsyncIterator[Embedded]:
    """The parts of one process, over the store of the settings."""
    kinds = kinds_of(settings)
    store = await SqliteStore.open(settings.store_path, wait_seconds=wait_seconds)
    with logging_to(settings.store_path.with_suffix(".log")):
        kinds.plugins.log_ignored()
        async with Embedded(settings, store, observer, SystemClock(), kinds) as parts:
            yield parts
