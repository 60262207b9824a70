"""An exported execution, kept for good: a finished record in this store, under an id of its own.

Its playbooks are registered, as if their author had done it. Its log is kept as it is, but for what only the store that
it came from knows: the version under which the catalog there had the playbook, who called it, and in which store the
payloads that came along were: they are stored here first, and found by their sha256. One that had not
ended is refused: kept as it stood it would be taken up by the next server, and its tasks, which may still run where it
came from, would run twice. It can be looked at as a viewing. The same file again is the same execution; payloads of it
that have gone since are stored again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noetl.control import brought_payloads
from noetl.control.brought import EVENTS_MAX, Brought, row_in
from noetl.control.brought_payloads import Received
from noetl.control.catalog import Catalog
from noetl.control.reading import listed_row
from noetl.engine.apply import replay
from noetl.engine.events import Event, ExecutionForked, PlaybookExecutionRequested
from noetl.errors import RequestError
from noetl.stores.contract import LIVE, Append, Batch, Entry, Execution, Store

STILL_LIVE = (
    "this execution had not ended when it was exported ({status}), and one that has not ended goes on by itself: its "
    "tasks would run here while they may still run where it came from. Export it again when it has ended, or look at "
    "it on the web pages, which take exported executions as they stand"
)


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    row: Execution
    is_new: bool  # False: the same file was imported before
    received: Received  # what became of its payloads


async def imported(
    store: Store,
    catalog: Catalog,
    found: Brought,
    new_id: Callable[[], Awaitable[int]],
    receive: Callable[[], Awaitable[Received]],
) -> Imported:
    """Keep an exported execution. Raises RequestError, InvalidPlaybook.

    `receive`: stores the payloads that came along, before the log that refers to them is committed.
    """
    if found.row.status in LIVE:
        raise RequestError(STILL_LIVE.format(status=found.row.status))
    key = f"import:{hashlib.sha256(found.body).hexdigest()}"
    known = await store.execution_by_request(key)
    if known is not None:
        return Imported(row=known, is_new=False, received=await receive())
    entries = {one.sha: await catalog.register(one.as_text) for one in found.header.playbooks}
    if found.row.sha not in entries:
        raise RequestError("the file does not bring the playbook that the execution ran; export it once more")
    received = await receive()
    batch = batch_of(found, entries, await new_id(), key, received.shas)
    await store.commit(batch)
    return Imported(row=batch.executions[0], is_new=True, received=received)


def batch_of(
    found: Brought, entries: dict[str, Entry], execution_id: int, key: str, shas: dict[str, None]
) -> Batch:  # fmt: skip
    """The log as this store has it, in one piece: it stands whole or not at all."""
    events = [brought_payloads.at_home(at_home(event, entries), shas) for _, event in found.events(0, EVENTS_MAX)]
    ended = row_in(replay(execution_id, events), execution_id)
    entry = entries[ended.sha]
    row = Execution(
        id=execution_id,
        sha=ended.sha,
        path=entry.path,
        version=entry.version,
        request_key=key,
        created_at=ended.created_at,
    )
    append = Append(
        execution_id=execution_id,
        first_seq=1,
        events=events,
        status=ended.status,
        ended_at=ended.ended_at,
        digest=ended.digest,
    )
    return Batch(executions=[row], appends=[append])


def at_home(event: Event, entries: dict[str, Entry]) -> Event:
    """An event without what is true of another store only."""
    if isinstance(event, PlaybookExecutionRequested):
        version = entries[event.sha].version if event.sha in entries else event.version
        return msgspec.structs.replace(event, version=version, parent_execution_id=None, parent_key=None)
    if isinstance(event, ExecutionForked) and event.sha in entries:
        return msgspec.structs.replace(event, version=entries[event.sha].version)
    return event


def imported_row(made: Imported, row: Execution) -> dict[str, Any]:
    """What is said of an import: the execution, and its payloads with those that the file did not have."""
    received = made.received
    return {
        **listed_row(row),
        "events": row.head,
        "is_new": made.is_new,
        "payloads": len(received.shas),
        "payload_bytes": received.bytes,
        "left_out": [{"sha256": one.left_out, "bytes": one.bytes, "why": one.why} for one in received.left_out],
        "not_looked_for": received.not_looked_for,
    }
