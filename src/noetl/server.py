"""The server's role: what the command line asks of executions, in this process (RO-01).

Each function enters the event loop, does one thing and leaves; the parts come from `embedded.py`. Reading needs no
lock and works while another process runs; writing takes the store's lock, or hands the request to the process that has
it (control/inbox.py).
"""

from __future__ import annotations

import asyncio
import signal as signals
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control import reading
from noetl.control.catalog import Catalog, Loaded
from noetl.control.inbox import Request, ask
from noetl.control.verify import verify as verified
from noetl.embedded import Embedded, Kinds, Nobody, Observer, RunRequest, RunResult, embedded, inbox_folder
from noetl.engine.decide import row_status
from noetl.engine.events import Event
from noetl.engine.state import INCIDENT, WAITING
from noetl.errors import StoreBusy, UnknownExecution
from noetl.projections.notices import Notice, notices
from noetl.projections.progress import Children, Progress, Step
from noetl.stores.contract import LIVE, Execution
from noetl.stores.sqlite import SqliteStore

SIGNALS = (signals.SIGINT, signals.SIGTERM)

__all__ = ["Children", "Event", "Notice", "Observer", "Progress", "RunRequest", "RunResult", "Step", "notices"]
Found = TypeVar("Found")


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
