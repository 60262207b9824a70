"""Server and worker in one process, over one SQLite file: the parts, put together.

Wires, and decides nothing. The queue is in memory and rebuilt from the log; work and reports travel by function calls.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from noetl.access import Access
from noetl.chance import SYSTEM, Chance
from noetl.clock import Clock, SystemClock
from noetl.config import Settings
from noetl.control import reading
from noetl.control.catalog import Catalog, Loaded
from noetl.control.desk import Desk
from noetl.control.dispatch import Dispatch
from noetl.control.follow import Following
from noetl.control.inbox import Inbox, Request
from noetl.control.intake import Intake
from noetl.control.live import Executions, Live
from noetl.control.metrics import NOTHING, Meters
from noetl.control.numbering import Numbering
from noetl.control.requests import Observer, RunRequest
from noetl.control.showing import Showing
from noetl.control.sitting import LocalSitting
from noetl.control.stored_lists import StoredLists
from noetl.control.taking_up import take_up_all
from noetl.control.timers import Timers
from noetl.control.turn import Follower
from noetl.dsl.kinds import Kind
from noetl.dsl.model import Playbook
from noetl.engine import commands as ops
from noetl.engine.effects import is_needed
from noetl.engine.events import Event
from noetl.engine.state import INCIDENT, State
from noetl.keychain.contract import Keychain
from noetl.keychain.opening import open_keychain
from noetl.logs import logging_to
from noetl.queues.memory import MemoryQueue
from noetl.results.stores import Stores
from noetl.runner.worker import Worker
from noetl.stores.contract import Store
from noetl.stores.sqlite import SqliteStore
from noetl.tools.registry import Declarations, is_installed
from noetl.worker import make_worker


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

    def __init__(
        self,
        settings: Settings,
        store: Store,
        observer: Observer,
        clock: Clock,
        kinds: Kinds,
        *,
        results: Stores,
        keychain: Keychain,
        chance: Chance = SYSTEM,
        name: str = "embedded",
        inbox_folder: Path | None = None,
        is_lasting: bool = False,
        meters: Meters = NOTHING,
    ) -> None:
        """`inbox_folder`: where other processes leave what they ask of this one, if they may ask anything.
        `is_lasting`: it is a server, which goes on when the disk is full or a job fails by a fault of ours.
        """
        self.settings = settings
        self.store = store
        self.clock = clock
        self.kinds = kinds
        self.results = results
        self.keychain = keychain
        self.chance = chance
        self.name = name
        self.inbox_folder = inbox_folder
        self.queue = MemoryQueue(chance.new_nonce())
        self.catalog = Catalog(store, kinds, clock, is_ours_alone=True)
        self.executions = Executions(store, self.catalog, self.results)
        self.numbering = Numbering(store)
        self.showing = Showing(observer, self.executions)
        self.intake = Intake(
            store=store,
            sitting=LocalSitting(store, self.queue, clock),
            results=self.results,
            executions=self.executions,
            clock=clock,
            observer=self._committed,
            meters=meters,
            is_lasting=is_lasting,
        )
        self.is_lasting = is_lasting
        self.access = Access(self.results, self.keychain, self.executions)
        self.lists = StoredLists(store, self.access.read_by, self.access.write_by)
        self.dispatch = Dispatch(intake=self.intake, queue=self.queue, lists=self.lists, clock=clock)
        self.timers = Timers(clock, self.queue, self.intake.post, self.dispatch.ring)
        self.timers.is_needed = self._is_needed
        self.worker = self._own_worker()
        self.following = self._own_following()
        self.intake.follower = Follower(self.following.within, self.following.after)
        self.desk = self._own_desk()
        self._moved = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: BaseException | None = None  # of a part that has died: nothing more will happen by itself
        self.on_failure: Callable[[BaseException], None] = lambda _error: None
        self._interrupts = 0
        self._ended: dict[int, State] = {}  # executions that were run to their end, as they ended
        self._watched_id = 0

    # --- parts -------------------------------------------------------------------------------------------------------

    def _own_worker(self) -> Worker:
        return make_worker(
            self.settings,
            name=self.name,
            transport=self.dispatch,
            results=self.results,
            keychain=self.keychain,
            playbooks=self._playbook,
            clock=self.clock,
            kinds=self.kinds,
            is_embedded=True,
            chance=self.chance.random,
        )

    def _own_following(self) -> Following:
        following = Following(
            intake=self.intake,
            catalog=self.catalog,
            store=self.store,
            lists=self.lists,
            new_id=self.numbering.new_id,
        )
        following.set_timer = self.timers.set
        following.ring = self.dispatch.ring
        following.revoke = self.worker.revoke
        return following

    def _own_desk(self) -> Desk:
        desk = Desk(
            store=self.store,
            catalog=self.catalog,
            pump=self.intake,
            keychain=self.keychain,
            clock=self.clock,
            new_id=self.numbering.new_id,
            new_trace=self.chance.new_trace,
        )
        desk.announce = self.showing.announce
        desk.is_under_way = self._is_under_way
        return desk

    def _is_under_way(self, execution_id: int) -> bool:
        return self.executions.known(execution_id) is not None

    async def _playbook(self, sha: str, planned: list[list[Any]]) -> Playbook:
        return (await self.catalog.loaded(sha, planned)).playbook

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

    async def start(self, request: RunRequest) -> tuple[int, Loaded]:
        """Record the start of a run; one that was started under the same request key is gone on with."""
        started = await self.desk.start(request)
        if not started.is_new:
            return started.execution_id, await self.resume(started.execution_id)
        return started.execution_id, started.loaded

    async def resume(self, execution_id: int) -> Loaded:
        """Go on with an execution."""
        row = await reading.row_of(self.store, execution_id)
        loaded = (await self.executions.get(execution_id)).loaded
        self.showing.announce(execution_id, loaded, row.path, await reading.progress_of(self.store, execution_id))
        await self.desk.resume(execution_id)
        return loaded

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
        return self.executions.is_going_on(timer.execution_id) if live is None else is_needed(live.state, timer)

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

    async def _handle(self, request: Request) -> dict[str, Any]:
        if request.do == "cancel":
            return await self.desk.cancel(request.execution_id, request.reason)
        return await self.desk.signal(request.execution_id, request.patches)

    # --- life --------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Embedded:
        self._run_part(self.intake.run())
        self._run_part(self.timers.run())
        if self.inbox_folder is not None:
            self._run_part(Inbox(self.inbox_folder, self.clock, self._handle).run())
        return self

    def _run_part(self, part: Coroutine[Any, Any, None]) -> None:
        """Run a part until the end of this process's work; one that dies ends the run, which would wait for ever."""
        task = asyncio.get_running_loop().create_task(part)
        self._tasks.append(task)
        task.add_done_callback(self._part_ended)

    def _part_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    async def take_up_all(self) -> None:
        """Go on with everything that had not ended when the process before this one did, but for incidents."""
        await take_up_all(self.store, self.intake, self._is_under_way)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._moved.set()
        self.on_failure(error)

    def work(self) -> None:
        """Let the worker take jobs."""
        self.worker.on_failure = None if self.is_lasting else self._fail
        self.worker.on_idle = self._moved.set
        self._run_part(self.worker.run())
        self._run_part(self.worker.beat())

    async def __aexit__(self, *_: object) -> None:
        await self.worker.abandon()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.following.close()
        await self.worker.kit.invoker.toolbox.close()
        await self.keychain.close()
        await self.results.close()
        await self.store.close()


def results_folder(settings: Settings) -> Path:
    return settings.store_path.with_suffix(".results")


def inbox_folder(settings: Settings) -> Path:
    return settings.store_path.with_suffix(".inbox")


def made(
    settings: Settings,
    store: Store,
    observer: Observer,
    clock: Clock,
    kinds: Kinds,
    *,
    is_lasting: bool = False,
    meters: Meters = NOTHING,
) -> Embedded:
    """The parts over a store, and beside it what the settings and the environment name."""
    return Embedded(
        settings,
        store,
        observer,
        clock,
        kinds,
        results=Stores(results_folder(settings), settings.results_stores),
        keychain=open_keychain(settings, os.environ, clock),
        name=f"embedded-{os.getpid()}",
        inbox_folder=inbox_folder(settings),
        is_lasting=is_lasting,
        meters=meters,
    )


@asynccontextmanager
async def embedded(
    settings: Settings, observer: Observer, wait_seconds: float = 0.0, kinds: Kinds | None = None
) -> AsyncIterator[Embedded]:
    """The parts of one process, over the store of the settings. `kinds`: others than the settings allow."""
    kinds = kinds or kinds_of(settings)
    store = await SqliteStore.open(settings.store_path, wait_seconds=wait_seconds)
    with logging_to(settings.store_path.with_suffix(".log")):
        kinds.plugins.log_ignored()
        async with made(settings, store, observer, SystemClock(), kinds) as parts:
            yield parts
