"""The server's role: build the parts and run them. Embedded: server and worker in one process, over one SQLite file.

Wires, and decides nothing. The functions at the end are what the command line calls; each enters the event loop, does
one thing and leaves. Reading needs no lock and works while another process runs; writing takes the store's lock, or
hands the request to the process that has it (control/inbox.py).
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal as signals
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from noetl.clock import Clock, SystemClock
from noetl.config import Settings
from noetl.control import reading
from noetl.control.catalog import Catalog, Loaded, Text
from noetl.control.dispatch import Dispatch
from noetl.control.follow import Following
from noetl.control.inbox import Inbox, Request, ask
from noetl.control.intake import Follower, Intake
from noetl.control.live import Executions
from noetl.control.stored_lists import StoredLists
from noetl.control.timers import Timers
from noetl.control.verify import verify as verified
from noetl.dsl.kinds import Kind
from noetl.dsl.model import Playbook
from noetl.engine import commands as ops
from noetl.engine.decide import row_status
from noetl.engine.events import Event, LoopStarted, Patch, PlaybookProcessed, StepScheduled, TaskDone
from noetl.engine.state import INCIDENT, WAITING
from noetl.errors import PayloadTooLarge, RequestError, StoreBusy, UnknownExecution, WrongState
from noetl.keychain.environment import EnvironmentKeychain
from noetl.projections.notices import Notice, notices
from noetl.projections.progress import Children, Progress, Step
from noetl.queues.memory import MemoryQueue
from noetl.results.files import FileResults
from noetl.stores.contract import LIVE, Entry, Execution
from noetl.stores.sqlite import SqliteStore
from noetl.tools.registry import Declarations, can_run, is_installed
from noetl.worker import make_worker

PAYLOAD_BYTES_MAX = 1024 * 1024
NONCE_BITS = 31
IDS_PER_BLOCK_MAX = 1024
SIGNALS = (signals.SIGINT, signals.SIGTERM)

__all__ = ["Children", "Event", "Notice", "Observer", "Progress", "RunRequest", "RunResult", "Step", "notices"]
Found = TypeVar("Found")


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `noetl run` asks for: a text, or a path of the catalog."""

    data: bytes | None = None
    name: str = ""
    folder: str = ""
    path: str | None = None
    version: int | None = None
    payload: dict[str, Any] = {}
    is_legacy: bool = False
    is_upstream: bool = False
    request_key: str | None = None
    wait_seconds: float = 0.0


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, or that it was interrupted."""

    summary: dict[str, Any]
    is_interrupted: bool = False


class Observer(Protocol):
    """Whoever watches a run. Called on the loop's thread, after each commit."""

    tick_seconds: float

    def started(self, execution_id: int, playbook_name: str, file: str, step_names: list[str]) -> None: ...

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None: ...

    def printed(self, execution_id: int, step: str, task: str, line: str) -> None: ...

    def stopping(self, tasks_in_flight: int) -> None: ...

    def tick(self) -> None: ...


class Kinds(Declarations):
    """All kinds; those that cannot run here say so."""

    def __getitem__(self, name: str) -> Kind:
        if name not in self.loaded:
            kind = super().__getitem__(name)
            is_missing = not is_installed(kind) or not can_run(name)
            self.loaded[name] = msgspec.structs.replace(kind, is_missing=is_missing)
        return self.loaded[name]


class Embedded:
    """Server and worker in one process."""

    def __init__(self, settings: Settings, store: SqliteStore, observer: Observer, clock: Clock) -> None:
        self.settings = settings
        self.store = store
        self.observer = observer
        self.clock = clock
        self.results = FileResults(results_folder(settings))
        self.keychain = EnvironmentKeychain(os.environ)
        self.queue = MemoryQueue(secrets.randbits(NONCE_BITS))
        self.catalog = Catalog(store, Kinds(), clock)
        self.executions = Executions(store, self.catalog)
        self.intake = Intake(
            store=store,
            queue=self.queue,
            results=self.results,
            executions=self.executions,
            clock=clock,
            observer=self._committed,
        )
        self.lists = StoredLists(self.results, store)
        self.dispatch = Dispatch(intake=self.intake, queue=self.queue, lists=self.lists, clock=clock)
        self.timers = Timers(clock, self.queue, self.intake.post, self.dispatch.ring)
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
        )
        self._ids: list[int] = []
        self._block = 1
        self._moved = asyncio.Event()
        self._step_names: dict[tuple[int, int], str] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._interrupts = 0

    # --- parts -------------------------------------------------------------------------------------------------------

    async def _playbook(self, sha: str, planned: list[list[Any]]) -> Playbook:
        return (await self.catalog.loaded(sha, planned)).playbook

    async def new_id(self) -> int:
        """An execution id; blocks grow, so that one run takes one and a thousand children few."""
        if not self._ids:
            first = await self.store.reserve_ids(self._block)
            self._ids = list(range(first, first + self._block))[::-1]
            self._block = min(self._block * 2, IDS_PER_BLOCK_MAX)
        return self._ids.pop()

    def _committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        self.observer.committed(execution_id, first_seq, events)
        for event in events:
            if isinstance(event, StepScheduled | LoopStarted):
                self._step_names[execution_id, event.run] = event.step
            elif isinstance(event, TaskDone) and event.logs:
                for line in event.logs:
                    step = self._step_names.get((execution_id, event.run), "")
                    self.observer.printed(execution_id, step, event.task, line)
            elif isinstance(event, PlaybookProcessed):
                ended = [key for key in self._step_names if key[0] == execution_id]
                for key in ended:
                    del self._step_names[key]
        self._moved.set()

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
                return existing.id, await self.catalog.loaded(existing.sha, [])
        size = len(msgspec.json.encode(request.payload))
        if size > PAYLOAD_BYTES_MAX:
            raise PayloadTooLarge("a payload", size, PAYLOAD_BYTES_MAX)
        entry = await self.register(request)
        loaded = await self.catalog.loaded(entry.sha, [])
        await self._prove_credentials(loaded.playbook)
        execution_id = await self.new_id()
        await self.intake.submit(
            ops.Start(
                execution_id=execution_id,
                path=entry.path,
                version=entry.version,
                sha=entry.sha,
                payload=request.payload,
                folder=request.folder,
                request_key=request.request_key,
            )
        )
        return execution_id, loaded

    async def _prove_credentials(self, playbook: Playbook) -> None:
        """KC-01: each entry resolves before any step runs; nothing of it is kept."""
        for name, credential in playbook.credentials.items():
            try:
                await self.keychain.resolve(name)
            except LookupError as error:
                raise RequestError(f"{credential.place}: the credential {name} cannot be resolved: {error}") from error

    async def recover(self, execution_id: int) -> Loaded:
        """Take an execution up where its log ends."""
        live = await self.executions.get(execution_id)
        await self.intake.submit(ops.Recover(execution_id=execution_id))
        return live.loaded

    async def until_quiet(self, execution_id: int) -> bool:
        """Run until the execution has ended, waits or is stopped; True: it was interrupted."""
        while not self._is_quiet(execution_id):
            self._moved.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), self.observer.tick_seconds)
            self.observer.tick()
            if self.intake.failure is not None:
                raise self.intake.failure
            if self.worker.failure is not None:
                raise self.worker.failure
            if self._interrupts:
                await self._stop()
                return True
        return False

    def _is_quiet(self, execution_id: int) -> bool:
        live = self.executions.known(execution_id)
        if live is None or live.state.status == INCIDENT:
            return True
        return self.is_idle

    @property
    def is_idle(self) -> bool:
        """Nothing runs, and nothing will by itself: only a signal can bring work."""
        return (
            self.queue.is_idle
            and self.intake.is_idle
            and self.following.is_idle
            and self.worker.jobs == 0
            and not self._moved.is_set()
        )

    def interrupt(self) -> None:
        """Ctrl-C: once, stop cleanly; twice, stop at once."""
        self._interrupts += 1
        self._moved.set()
        if self._interrupts > 1:
            for task in self._tasks:
                task.cancel()

    async def _stop(self) -> None:
        self.worker.is_stopping = True
        if self.worker.jobs:
            self.observer.stopping(self.worker.jobs)
        draining = asyncio.ensure_future(self.worker.drain())
        while not draining.done() and self._interrupts == 1:
            self._moved.clear()
            moved = asyncio.ensure_future(self._moved.wait())
            await asyncio.wait({draining, moved}, timeout=self.observer.tick_seconds, return_when="FIRST_COMPLETED")
            moved.cancel()
            self.observer.tick()
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
        parts: list[Coroutine[Any, Any, None]] = [self.intake.run(), self.timers.run(), inbox.run()]
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(part) for part in parts]
        return self

    def work(self) -> None:
        """Let the worker take jobs."""
        loop = asyncio.get_running_loop()
        self.worker.on_failure = lambda _error: self._moved.set()
        self._tasks += [loop.create_task(self.worker.run()), loop.create_task(self.worker.beat())]
        self._tasks[0].add_done_callback(lambda _task: self._moved.set())

    async def __aexit__(self, *_: object) -> None:
        await self.worker.abandon()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.worker.kit.invoker.toolbox.close()
        await self.results.close()
        await self.store.close()


def results_folder(settings: Settings) -> Path:
    return settings.store_path.with_suffix(".results")


def inbox_folder(settings: Settings) -> Path:
    return settings.store_path.with_suffix(".inbox")


class Nobody:
    """An observer that does not look."""

    tick_seconds = 1.0

    def started(self, execution_id: int, playbook_name: str, file: str, step_names: list[str]) -> None: ...

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None: ...

    def printed(self, execution_id: int, step: str, task: str, line: str) -> None: ...

    def stopping(self, tasks_in_flight: int) -> None: ...

    def tick(self) -> None: ...


@asynccontextmanager
async def embedded(settings: Settings, observer: Observer, wait_seconds: float = 0.0) -> AsyncIterator[Embedded]:
    """The parts of one process, over the store of the settings."""
    store = await SqliteStore.open(settings.store_path, wait_seconds=wait_seconds)
    async with Embedded(settings, store, observer, SystemClock()) as parts:
        yield parts


@asynccontextmanager
async def reading_store(settings: Settings) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(settings.store_path, is_read_only=True)
    try:
        yield store
    finally:
        await store.close()


# --- what the command line calls -------------------------------------------------------------------------------------


def run(settings: Settings, request: RunRequest, observer: Observer) -> RunResult:
    """Run a playbook to its end."""

    async def begin(parts: Embedded) -> tuple[int, Loaded]:
        return await parts.start(request)

    return asyncio.run(_run(settings, observer, request.wait_seconds, begin))


def resume(settings: Settings, execution_id: int, observer: Observer, wait_seconds: float = 0.0) -> RunResult:
    """Go on with an execution; one that has ended is only summed up."""

    async def begin(parts: Embedded) -> tuple[int, Loaded]:
        row = await reading.row_of(parts.store, execution_id)
        root = await _root(parts.store, row)
        if root.status not in LIVE:
            return execution_id, await parts.catalog.loaded(row.sha, [])
        return execution_id, await parts.recover(root.id)

    return asyncio.run(_run(settings, observer, wait_seconds, begin))


async def _root(store: SqliteStore, row: Execution) -> Execution:
    """The execution that nobody called: a child goes on with its caller."""
    while row.parent_id is not None and row.status in LIVE:
        row = await reading.row_of(store, row.parent_id)
    return row


Begin = Callable[[Embedded], Coroutine[Any, Any, tuple[int, Loaded]]]


async def _run(settings: Settings, observer: Observer, wait_seconds: float, begin: Begin) -> RunResult:
    async with embedded(settings, observer, wait_seconds) as parts:
        with _interrupts(parts.interrupt):
            execution_id, loaded = await begin(parts)
            step_names = list(loaded.playbook.steps)
            row = await reading.row_of(parts.store, execution_id)
            observer.started(execution_id, loaded.playbook.name, row.path, step_names)
            parts.work()
            is_interrupted = await parts.until_quiet(execution_id)
        found = await reading.summary(parts.store, execution_id, step_names)
        live = parts.executions.known(execution_id)
        if live is not None and found["status"] == "running" and not is_interrupted and parts.is_idle:
            found["status"] = WAITING if row_status(live.state) != INCIDENT else INCIDENT
        return RunResult(summary=found, is_interrupted=is_interrupted)


class _interrupts:
    """Ctrl-C and SIGTERM go to a handler, as long as this lasts."""

    def __init__(self, handler: Callable[[], None]) -> None:
        self.handler = handler

    def __enter__(self) -> None:
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self.handler)

    def __exit__(self, *_: object) -> None:
        for number in SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)


def _read(settings: Settings, question: Callable[[SqliteStore], Coroutine[Any, Any, Found]]) -> Found:
    """Ask a store something; the answer needs no waiting, so no event loop is started."""

    async def asked() -> Found:
        async with reading_store(settings) as store:
            return await question(store)

    return _driven(asked())


def _driven(coroutine: Coroutine[Any, Any, Found]) -> Found:
    try:
        coroutine.send(None)
    except StopIteration as ended:
        found: Found = ended.value
        return found
    coroutine.close()
    raise RuntimeError("reading a local store does not wait")


def _iterated(settings: Settings, make: Callable[[SqliteStore], AsyncIterator[Found]]) -> Iterator[Found]:
    """The items of an asynchronous reading, one at a time."""
    with asyncio.Runner() as runner:
        opening = reading_store(settings)
        store = runner.run(opening.__aenter__())
        items = make(store)
        try:
            while True:
                try:
                    yield runner.run(anext(items))  # type: ignore[arg-type]  # it is a coroutine
                except StopAsyncIteration:
                    return
        finally:
            runner.run(opening.__aexit__(None, None, None))


def list_executions(settings: Settings, limit: int, status: str | None = None) -> list[dict[str, Any]]:
    return _read(settings, lambda store: reading.listed(store, limit, status))


def summary(settings: Settings, execution_id: int) -> dict[str, Any]:
    return _read(settings, lambda store: _summed(store, execution_id))


async def _summed(store: SqliteStore, execution_id: int) -> dict[str, Any]:
    row = await reading.row_of(store, execution_id)
    loaded = await Catalog(store, Kinds(), SystemClock()).loaded(row.sha, [])
    return await reading.summary(store, execution_id, list(loaded.playbook.steps))


def show(settings: Settings, execution_id: int) -> dict[str, Any]:
    return _read(settings, lambda store: reading.show(store, execution_id))


def events(settings: Settings, execution_id: int, after: int = 0) -> Iterator[dict[str, Any]]:
    return _iterated(settings, lambda store: reading.envelopes(store, execution_id, after))


def follow(settings: Settings, execution_id: int, after: int = 0) -> Iterator[dict[str, Any]]:
    clock = SystemClock()
    return _iterated(settings, lambda store: reading.followed(store, execution_id, after, clock))


def replay(settings: Settings, execution_id: int, at: int | None) -> dict[str, Any]:
    return _read(settings, lambda store: reading.state_at(store, execution_id, at))


def verify(settings: Settings, execution_id: int) -> dict[str, Any]:
    return _read(settings, lambda store: verified(store, execution_id))


def cancel(settings: Settings, execution_id: int, reason: str) -> dict[str, Any]:
    request = Request(do="cancel", execution_id=execution_id, reason=reason)
    return _change(settings, request, lambda parts: parts.cancel(execution_id, reason))


def signal(settings: Settings, execution_id: int, patches: dict[str, Any]) -> dict[str, Any]:
    request = Request(do="signal", execution_id=execution_id, patches=patches)
    return _change(settings, request, lambda parts: parts.signal(execution_id, patches))


def _change(
    settings: Settings, request: Request, do: Callable[[Embedded], Coroutine[Any, Any, dict[str, Any]]]
) -> dict[str, Any]:
    """Change an execution: here, or in the process that has the store."""
    if not settings.store_path.exists():
        raise UnknownExecution(request.execution_id, settings.store_url)

    async def changed() -> dict[str, Any]:
        async with embedded(settings, Nobody()) as parts:
            return await do(parts)

    try:
        return asyncio.run(changed())
    except StoreBusy as busy:
        return ask(inbox_folder(settings), request, busy.holder)


def catalog_register(
    settings: Settings, data: bytes, name: str, folder: str, is_legacy: bool, is_upstream: bool
) -> dict[str, Any]:
    """Keep a playbook in the catalog. The folder it came from does not matter to it."""
    request = RunRequest(data=data, name=name, folder=folder, is_legacy=is_legacy, is_upstream=is_upstream)

    async def registered() -> dict[str, Any]:
        async with embedded(settings, Nobody()) as parts:
            return reading.catalog_row(await parts.register(request))

    return asyncio.run(registered())


def catalog_list(settings: Settings) -> list[dict[str, Any]]:
    return _read(settings, reading.catalog_rows)


def catalog_show(settings: Settings, path: str, version: int | None) -> dict[str, Any]:
    async def found(store: SqliteStore) -> dict[str, Any]:
        return reading.catalog_text(await Catalog(store, Kinds(), SystemClock()).find(path, version))

    return _read(settings, found)
