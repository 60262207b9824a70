"""Looking at executions: rows, timelines, envelopes, states at any event. Reads a store, writes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.clock import Clock
from noetl.engine.events import PlaybookProcessed, timestamp
from noetl.errors import UnknownExecution
from noetl.projections.progress import Progress
from noetl.stores.contract import Entry, Execution, Store
from noetl.stores.wanted import ALL, ANY_PATH, Paths, Wanted

if TYPE_CHECKING:  # a list of what is in a file must come at once
    from noetl.control.unserved import Unserved
    from noetl.projections.envelopes import Envelopes
    from noetl.projections.timeline import Timeline

FOLLOW_SECONDS = 0.1
EVENTS_PER_READ = 5_000


async def row_of(store: Store, execution_id: int) -> Execution:
    row = await store.execution(execution_id)
    if row is None:
        raise UnknownExecution(execution_id, store.name)
    return row


async def listed(store: Store, limit: int, wanted: Wanted = ALL) -> list[dict[str, Any]]:
    """The newest executions, newest first."""
    return [listed_row(row) for row in await store.executions(limit, None, wanted)]


async def named(store: Store, digits: str, limit: int, paths: Paths = ANY_PATH) -> list[dict[str, Any]]:
    """The execution of this id; if there is none, some of those whose id begins so."""
    return [listed_row(row) for row in await store.executions_by_id(digits, limit, paths)]


def listed_row(row: Execution) -> dict[str, Any]:
    duration = None if row.ended_at is None else round((row.ended_at - row.created_at) * 1000)
    return {
        "execution_id": str(row.id),
        "path": row.path,
        "version": row.version,
        "status": row.status,
        "created_at": timestamp(row.created_at),
        "duration_ms": duration,
        "parent_execution_id": None if row.parent_id is None else str(row.parent_id),
    }


async def progress_of(store: Store, execution_id: int, timeline: Timeline | None = None) -> Progress:
    """What an execution has come to, from its log."""
    progress, seq = Progress(), 0
    while True:
        rows = await store.events(execution_id, seq, EVENTS_PER_READ)
        for _, event in rows:
            progress.apply(event)
            if timeline:
                timeline.apply(event)
        seq += len(rows)
        if len(rows) < EVENTS_PER_READ:
            return progress


async def summary(store: Store, execution_id: int, step_names: list[str]) -> dict[str, Any]:
    """The document that `run` prints, from the log."""
    from noetl.projections.summary import summary as summarised

    await row_of(store, execution_id)
    return summarised(execution_id, await progress_of(store, execution_id), step_names)


async def show(store: Store, execution_id: int, unserved: Sequence[Unserved] = ()) -> dict[str, Any]:
    """The document that `show` prints; `unserved` is what no log knows: that nobody takes a job."""
    from noetl.projections.timeline import Timeline

    await row_of(store, execution_id)
    timeline = Timeline()
    return shown(execution_id, await progress_of(store, execution_id, timeline), timeline, unserved)


def shown(
    execution_id: int, progress: Progress, timeline: Timeline, unserved: Sequence[Unserved] = ()
) -> dict[str, Any]:
    """The same, of what was folded already."""
    from noetl.projections.timeline import show as folded

    found = folded(execution_id, progress, timeline)
    return {**found, "unserved": [msgspec.to_builtins(one) for one in unserved]}


async def envelopes(store: Store, execution_id: int, after: int) -> AsyncIterator[dict[str, Any]]:
    """The events of an execution as people and machines read them (EV-01), those after `after`."""
    from noetl.projections.envelopes import Envelopes

    await row_of(store, execution_id)
    made, seq = Envelopes(execution_id), 0
    while True:
        rows = await store.events(execution_id, seq, EVENTS_PER_READ)
        for seq, event in rows:
            if seq > after:
                yield made.envelope(seq, event)
            else:
                made.remember(event)
        if len(rows) < EVENTS_PER_READ:
            return


async def envelope_page(store: Store, made: Envelopes, after: int, limit: int) -> list[dict[str, Any]]:
    """Some of them. `made` knows the runs that were under way after `after` (`control.projected`)."""
    rows = await store.events(made.execution_id, after, limit)
    return [made.envelope(seq, event) for seq, event in rows]


async def followed(store: Store, execution_id: int, after: int, clock: Clock) -> AsyncIterator[dict[str, Any]]:
    """As `envelopes`, and on as the log grows, until the execution has ended."""
    from noetl.projections.envelopes import Envelopes

    await row_of(store, execution_id)
    made, seq = Envelopes(execution_id), 0
    while True:
        rows = await store.events(execution_id, seq, EVENTS_PER_READ)
        for seq, event in rows:
            envelope = made.envelope(seq, event)
            if seq > after:
                yield envelope
            if isinstance(event, PlaybookProcessed):
                return
        if not rows:
            await clock.sleep(FOLLOW_SECONDS)


async def catalog_rows(store: Store) -> list[dict[str, Any]]:
    return [catalog_row(entry) for entry in await store.entries()]


def catalog_row(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "version": entry.version,
        "sha": entry.sha,
        "name": entry.name,
        "label": entry.label,
        "is_legacy": entry.is_legacy,
        "is_upstream": entry.is_upstream,
        "created_at": timestamp(entry.created_at),
    }


def catalog_text(entry: Entry) -> dict[str, Any]:
    return {**catalog_row(entry), "text": entry.text.decode("utf-8", "replace")}
