"""The server's role: what the command line asks of executions, in this process (RO-01).

Reading needs no lock, no event loop and none of what running needs (imported when asked for: a list must come at once);
it works while another process runs. Running and changing are in `running.py`, the parts in `embedded.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control import reading
from noetl.control.requests import Observer, RerunRequest, RunRequest, RunResult
from noetl.engine.events import Event
from noetl.errors import UnknownPlaybook
from noetl.projections.notices import Notice, notices
from noetl.projections.progress import Children, Progress, Step
from noetl.projections.sentences import sentence
from noetl.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from noetl.control.exported import ExportedFile

__all__ = ["Children", "Event", "Notice", "Observer", "Progress", "RunRequest", "RunResult", "Step", "notices"]
__all__ += ["cancel", "catalog_list", "catalog_register", "catalog_show", "events", "export", "follow", "import_file"]
__all__ += ["list_executions", "named", "replay", "resume", "run", "sentence", "show", "signal", "sweep", "verify"]
__all__ += ["RerunRequest", "diff", "evaluate", "rerun", "rerun_all", "why"]
NO_FILTERS: Mapping[str, Any] = {}
Found = TypeVar("Found")


# --- running and changing --------------------------------------------------------------------------------------------


def run(settings: Settings, request: RunRequest, observer: Observer) -> RunResult:
    """Run a playbook to its end."""
    from noetl import running

    return running.run(settings, request, observer)


def resume(settings: Settings, execution_id: int, observer: Observer, wait_seconds: float = 0.0) -> RunResult:
    """Go on with an execution."""
    from noetl import running

    return running.resume(settings, execution_id, observer, wait_seconds)


def rerun(settings: Settings, request: RerunRequest, observer: Observer, wait_seconds: float = 0.0) -> RunResult:
    """Run an execution again, from any point of its log."""
    from noetl import running

    return running.rerun(settings, request, observer, wait_seconds)


def rerun_all(
    settings: Settings,
    requests: Sequence[RerunRequest],
    tell: Callable[[dict[str, Any]], None],
    wait_seconds: float = 0.0,
) -> bool:
    """Run many executions again, each by itself; True: it was interrupted."""
    from noetl import rerunning

    return rerunning.rerun_all(settings, requests, tell, wait_seconds)


def cancel(settings: Settings, execution_id: int, reason: str) -> dict[str, Any]:
    from noetl import running

    return running.cancel(settings, execution_id, reason)


def signal(settings: Settings, execution_id: int, patches: dict[str, Any]) -> dict[str, Any]:
    from noetl import running

    return running.signal(settings, execution_id, patches)


def catalog_register(
    settings: Settings, data: bytes, name: str, folder: str, is_legacy: bool, is_upstream: bool
) -> dict[str, Any]:
    """Keep a playbook in the catalog. The folder it came from does not matter to it."""
    from noetl import running

    request = RunRequest(data=data, name=name, folder=folder, is_legacy=is_legacy, is_upstream=is_upstream)
    return running.register(settings, request)


def import_file(settings: Settings, file: BinaryIO, wait_seconds: float = 0.0) -> dict[str, Any]:
    """Keep an exported execution as a finished record."""
    from noetl import running

    return running.import_file(settings, file, wait_seconds)


def sweep(settings: Settings, keep_days: int | None, *, is_dry_run: bool, is_alone: bool = False) -> dict[str, Any]:
    """Remove stored results that nothing needs any more (RS-08); it works while another process runs."""
    from noetl import running

    return running.sweep(settings, keep_days, is_dry_run=is_dry_run, is_alone=is_alone)


# --- looking ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def reading_store(settings: Settings) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(settings.store_path, is_read_only=True)
    try:
        yield store
    finally:
        await store.close()


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


Drive = Callable[[Coroutine[Any, Any, Any]], Any]


def _iterated(settings: Settings, drive: Drive, make: Callable[[SqliteStore], AsyncIterator[Found]]) -> Iterator[Found]:
    """The items of an asynchronous reading, one at a time."""
    opening = reading_store(settings)
    items = make(drive(opening.__aenter__()))
    try:
        while True:
            try:
                yield drive(anext(items))  # type: ignore[arg-type]  # it is a coroutine
            except StopAsyncIteration:
                return
    finally:
        drive(opening.__aexit__(None, None, None))


def list_executions(settings: Settings, limit: int, filters: Mapping[str, Any] = NO_FILTERS) -> list[dict[str, Any]]:
    """`filters`: by the words of `control.filters`, times in seconds since 1970."""
    from noetl.control.filters import Filters, wanted_of

    wanted = wanted_of(Filters(**filters))
    return _read(settings, lambda store: reading.listed(store, limit, wanted)) if wanted else []


def named(settings: Settings, digits: str, limit: int) -> list[dict[str, Any]]:
    """The execution of this id; if there is none, some of those whose id begins so."""
    return _read(settings, lambda store: reading.named(store, digits, limit))


def show(settings: Settings, execution_id: int) -> dict[str, Any]:
    return _read(settings, lambda store: reading.show(store, execution_id))


def events(settings: Settings, execution_id: int, after: int = 0) -> Iterator[dict[str, Any]]:
    return _iterated(settings, _driven, lambda store: reading.envelopes(store, execution_id, after))


def follow(settings: Settings, execution_id: int, after: int = 0) -> Iterator[dict[str, Any]]:
    """As `events`, and on until the execution has ended."""
    import asyncio

    clock = SystemClock()
    with asyncio.Runner() as runner:
        yield from _iterated(settings, runner.run, lambda store: reading.followed(store, execution_id, after, clock))


def export(settings: Settings, execution_id: int, payload_bytes_max: int | None = None) -> ExportedFile:
    """An execution as one file; `payload_bytes_max`: of all payloads that come along; None: none do."""
    from noetl.control.exported import ExportedFile, exported, file_name

    row = _read(settings, lambda store: reading.row_of(store, execution_id))
    now = SystemClock().now()
    if payload_bytes_max is not None:
        return ExportedFile(file_name(row), _with_payloads(settings, execution_id, now, payload_bytes_max))
    pieces = _iterated(settings, _driven, lambda store: exported(store, execution_id, now))
    return ExportedFile(file_name(row), pieces)


def _with_payloads(settings: Settings, execution_id: int, now: float, bytes_max: int) -> Iterator[bytes]:
    import asyncio

    from noetl.control.exported import exported
    from noetl.control.exported_payloads import Payloads
    from noetl.results.stores import NoCredentials
    from noetl.running import results_of

    results = results_of(settings, is_alone=False)
    payloads = Payloads(execution_id, lambda _, one: results.for_reading(one, NoCredentials()), bytes_max)
    with asyncio.Runner() as runner:
        try:
            yield from _iterated(settings, runner.run, lambda store: exported(store, execution_id, now, payloads))
        finally:
            runner.run(results.close())


def replay(settings: Settings, execution_id: int, at: int | None) -> dict[str, Any]:
    from noetl.control.replaying import state_at

    return _read(settings, lambda store: state_at(store, execution_id, at))


def verify(settings: Settings, execution_id: int) -> dict[str, Any]:
    from noetl.control.verify import verify as verified

    return _read(settings, lambda store: verified(store, execution_id))


def why(settings: Settings, execution_id: int, step: str) -> dict[str, Any]:
    """Why a step ran, or did not."""
    from noetl import reviewing

    return reviewing.why(settings, execution_id, step)


def diff(settings: Settings, before: int, after: int) -> dict[str, Any]:
    """Where two executions part, and what differs."""
    from noetl import reviewing

    return reviewing.diff(settings, before, after)


def evaluate(
    settings: Settings, execution_id: int, expression: str, at: int | None, place: dict[str, Any]
) -> dict[str, Any]:
    """What an expression gives at an event; `place`: step, run, iteration, task, those that are given."""
    from noetl import reviewing

    return reviewing.evaluate(settings, execution_id, expression, at, place)


def catalog_list(settings: Settings) -> list[dict[str, Any]]:
    return _read(settings, reading.catalog_rows)


def catalog_show(settings: Settings, path: str, version: int | None) -> dict[str, Any]:
    async def found(store: SqliteStore) -> dict[str, Any]:
        entry = await store.entry(path, version)
        if entry is None:
            raise UnknownPlaybook(path, version)
        return reading.catalog_text(entry)

    return _read(settings, found)
