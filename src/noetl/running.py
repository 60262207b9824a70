"""Executions run and changed in this process: each function enters the event loop, does one thing and leaves.

What only sweeping, or asking another process, needs is imported there: a run starts without it.
"""

from __future__ import annotations

import asyncio
import math
import signal as signals
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, BinaryIO

from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control import reading, replaying
from noetl.control.catalog import Loaded
from noetl.control.inbox import Request
from noetl.control.requests import Nobody, Observer, RerunRequest, RunRequest, RunResult
from noetl.embedded import Embedded, Kinds, embedded, inbox_folder, results_folder
from noetl.engine.state import INCIDENT, RUNNING, WAITING
from noetl.errors import StoreBusy, UnknownExecution
from noetl.lasting import on_signal
from noetl.results.stores import Stores

if TYPE_CHECKING:
    from noetl.control.retention import Swept
    from noetl.rehearsal.taps import Taps

SIGNALS = (signals.SIGINT, signals.SIGTERM)
WAIT_SECONDS = 5.0
Begin = Callable[[Embedded], Coroutine[Any, Any, tuple[int, Loaded]]]


def run(settings: Settings, request: RunRequest, observer: Observer, taps: Taps | None = None) -> RunResult:
    """Run a playbook to its end; `taps`: who listens to its tools."""

    async def begin(parts: Embedded) -> tuple[int, Loaded]:
        if taps is not None:
            taps.open(parts)
        return await parts.start(request)

    return asyncio.run(_run(settings, observer, request.wait_seconds, begin, taps.kinds if taps else None))


def resume(settings: Settings, execution_id: int, observer: Observer, wait_seconds: float = 0.0) -> RunResult:
    """Go on with an execution; one that has ended is only summed up."""

    async def begin(parts: Embedded) -> tuple[int, Loaded]:
        return execution_id, await parts.resume(execution_id)

    return asyncio.run(_run(settings, observer, wait_seconds, begin))


def rerun(settings: Settings, request: RerunRequest, observer: Observer, wait_seconds: float = 0.0) -> RunResult:
    """Run an execution again, from any point of its log, to its end."""
    from noetl.control.rerun import rerun as forked

    async def begin(parts: Embedded) -> tuple[int, Loaded]:
        started = await forked(parts.desk, parts.access.read_by, request)
        if not started.is_new:
            return started.execution_id, await parts.resume(started.execution_id)
        return started.execution_id, started.loaded

    return asyncio.run(_run(settings, observer, wait_seconds, begin))


async def _run(
    settings: Settings, observer: Observer, wait_seconds: float, begin: Begin, kinds: Kinds | None = None
) -> RunResult:
    async with embedded(settings, observer, wait_seconds, kinds) as parts:
        with interrupts(parts.interrupt):
            execution_id, loaded = await begin(parts)
            step_names = list(loaded.playbook.steps)
            parts.work()
            is_interrupted = await parts.until_quiet(execution_id)
        found = await summed_up(parts, execution_id, step_names)
        if found["status"] == RUNNING and not is_interrupted:
            found |= held_up(parts, execution_id)
        state = parts.watched(execution_id)
        is_undone = state is not None and state.is_compensating
        return RunResult(summary=found, is_interrupted=is_interrupted, is_undone=is_undone)


def held_up(parts: Embedded, execution_id: int) -> dict[str, Any]:
    """Nothing goes on by itself, and it is not its own doing: what its child is held up by."""
    child = parts.incident_below(execution_id)
    if child is None:
        return {"status": WAITING}
    message = f"child execution {child.execution_id} ({child.path}): {child.incident}"
    return {"status": INCIDENT, "error": replaying.error_of({"kind": INCIDENT, "message": message})}


async def summed_up(parts: Embedded, execution_id: int, step_names: list[str]) -> dict[str, Any]:
    state = parts.watched(execution_id)
    if state is not None:
        return replaying.summary_of(state, step_names)
    return await reading.summary(parts.store, execution_id, step_names)


class interrupts:
    """Ctrl-C and SIGTERM go to a handler, as long as this lasts."""

    def __init__(self, handler: Callable[[], None]) -> None:
        self.handler = handler
        self.undoing: list[Callable[[], object]] = []

    def __enter__(self) -> None:
        self.undoing = [on_signal(number, self.handler) for number in SIGNALS]

    def __exit__(self, *_: object) -> None:
        for undo in self.undoing:
            undo()


def cancel(settings: Settings, execution_id: int, reason: str) -> dict[str, Any]:
    request = Request(do="cancel", execution_id=execution_id, reason=reason)
    return _change(settings, request, lambda parts: parts.desk.cancel(execution_id, reason))


def signal(settings: Settings, execution_id: int, patches: dict[str, Any]) -> dict[str, Any]:
    request = Request(do="signal", execution_id=execution_id, patches=patches)
    return _change(settings, request, lambda parts: parts.desk.signal(execution_id, patches))


def _change(
    settings: Settings, request: Request, do: Callable[[Embedded], Coroutine[Any, Any, dict[str, Any]]]
) -> dict[str, Any]:
    """Change an execution: here, or in the process that has the store."""
    if not settings.store_path.exists():
        raise UnknownExecution(request.execution_id, settings.store_url)

    async def changed(wait_seconds: float) -> dict[str, Any]:
        async with embedded(settings, Nobody(), wait_seconds) as parts:
            return await do(parts)

    try:
        return asyncio.run(changed(0.0))
    except StoreBusy as busy:
        from noetl.asking import ask

        answer = ask(inbox_folder(settings), request)
        if answer is not None:
            return {**answer, "runs_in": busy.holder}
    return asyncio.run(changed(WAIT_SECONDS))  # whoever had the store ended before it could answer


def register(settings: Settings, request: RunRequest) -> dict[str, Any]:
    """Keep a playbook in the catalog."""

    async def registered() -> dict[str, Any]:
        async with embedded(settings, Nobody()) as parts:
            return reading.catalog_row(await parts.desk.register(request))

    return asyncio.run(registered())


def import_file(settings: Settings, file: BinaryIO, wait_seconds: float) -> dict[str, Any]:
    """Keep an exported execution as a finished record, with the payloads that came along."""
    from noetl.control.brought import brought, log_part
    from noetl.control.brought_payloads import LINE_BYTES_MAX, Lines, Received, receive
    from noetl.control.importing import imported, imported_row

    part = log_part(file)

    async def kept() -> dict[str, Any]:
        async with embedded(settings, Nobody(), wait_seconds) as parts:
            found = brought(part.body, 0, parts.catalog.kinds, parts.clock.monotonic)

            async def received() -> Received:
                if not part.has_payloads:
                    return Received()
                lines = iter(lambda: file.readline(LINE_BYTES_MAX + 1), b"")
                return await receive(Lines(lines, part.lines + 1), parts.results)

            made = await imported(parts.store, parts.catalog, found, parts.desk.new_id, received)
            return imported_row(made, await reading.row_of(parts.store, made.row.id))

    return asyncio.run(kept())


def sweep(settings: Settings, keep_days: int | None, *, is_dry_run: bool, is_alone: bool) -> dict[str, Any]:
    """Remove stored results that nothing needs any more; `keep_days` instead of what the settings say.

    `is_alone`: nobody else keeps results in stores off this machine, so those are swept too.
    """
    from noetl.control import retention
    from noetl.stores.opening import opened_store

    async def swept() -> Swept:
        results = results_of(settings, is_alone=is_alone)
        rule = retention.Rule(keep_seconds=_seconds(settings.results_keep_days if keep_days is None else keep_days))
        try:
            async with opened_store(settings, is_changing=False) as store:
                return await retention.sweep(store, results, rule, SystemClock().now(), is_dry_run=is_dry_run)
        finally:
            await results.close()

    return {**asyncio.run(swept())._asdict(), "dry_run": is_dry_run}


def results_of(settings: Settings, *, is_alone: bool) -> Stores:
    """Where results are kept: beside the store, or where the servers of a cluster keep them."""
    if not settings.is_shared:
        return Stores(results_folder(settings), settings.results_stores, is_alone=is_alone)
    from noetl.results.choices import results_stores_of

    return Stores(settings.home / "results", results_stores_of(settings), is_alone=is_alone, is_shared=True)


def _seconds(days: int | None) -> float:
    return math.inf if days is None else days * 24 * 3600.0
