"""kind: transfer at work: a call in, rows moved, one Output out.

    source ─→ pieces of rows ─→ (leave out what was moved before) ─→ chunks, a transaction each ─→ table
                                                                └─→ a stream into the result store

Memory holds one piece. A transfer into a table can be stopped anywhere: the ledger in the target says how far it is,
and the next attempt of the same task run goes on there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import psycopg

from noetl.engine.output import Output, failure
from noetl.errors import ResultError
from noetl.references import LINES, Reference
from noetl.tools.contract import Call, Hands
from noetl.tools.copy_text import NOTHING_SPECIAL, Special
from noetl.tools.postgres_failures import Failed, failure_of
from noetl.tools.refused import Refused
from noetl.tools.row_batches import BadRows
from noetl.tools.transfer_databases import Databases
from noetl.tools.transfer_ledger import Entry, Ledger
from noetl.tools.transfer_load import load
from noetl.tools.transfer_pieces import COPY, CSV, NDJSON, Pieces, writer
from noetl.tools.transfer_plan import Plan, plan_of
from noetl.tools.transfer_sources import SourceFailed, Sources
from noetl.tools.transfer_table import Table

CONTENT_TYPES = {NDJSON: LINES, CSV: "text/csv"}


class TransferTool:
    """Moves the rows of a worker's transfer tasks."""

    times_itself = True  # so that a time-out says that what was moved is kept

    def __init__(self, hands: Hands) -> None:
        self._sources = Sources(hands)
        self._databases = Databases(hands)

    async def run(self, call: Call) -> Output:
        try:
            plan = plan_of(call)
            async with asyncio.timeout(call.total_seconds):
                if plan.target["kind"] == "file":
                    return await self._into_file(call, plan)
                return await self._into_table(call, plan)
        except Exception as fault:
            output = _failure_of(fault, call.total_seconds)
            if output is None:
                raise
            return msgspec.structs.replace(output, helpers=_helper(None))

    async def close(self) -> None:
        await self._sources.close()
        await self._databases.close()

    async def _into_table(self, call: Call, plan: Plan) -> Output:
        key = call.key_abroad.rpartition(".")[0]  # of the task run: all its attempts
        async with self._databases.target(call, plan) as connection:
            table = Table(connection, plan, key)
            await table.prepare()
            ledger = await Ledger.opened(connection, key) if plan.is_restartable else None
            before = ledger.entry if ledger else Entry()
            if before.is_done:
                return _moved(before, skipped=before.rows)
            async with self._source(call, plan, COPY, table.special) as pieces:
                moved = await load(connection, table, ledger, pieces, plan)
            return _moved(moved, skipped=before.rows)

    def _source(
        self, call: Call, plan: Plan, form: str, special: Special = NOTHING_SPECIAL
    ) -> AbstractAsyncContextManager[Pieces]:
        if plan.source["kind"] == "postgres":
            return self._databases.source(call, plan, form)
        return self._sources.opened(call, plan, writer(form, special))

    async def _into_file(self, call: Call, plan: Plan) -> Output:
        form = plan.target.get("format") or NDJSON
        if form not in CONTENT_TYPES:
            raise Refused("type", f"target.format must be one of: {', '.join(CONTENT_TYPES)}")
        async with self._source(call, plan, form) as pieces:
            counted = _Counted(pieces)
            reference = await call.results.store_stream(counted.data(), CONTENT_TYPES[form])
        return _stored(reference, counted.rows)


class _Counted:
    """The bytes of pieces, and how many rows they were."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self.rows = 0

    async def data(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces:
            self.rows += piece.row_count
            yield piece.data


def _helper(entry: Entry | None, skipped: int = 0) -> dict[str, Any]:
    found = {"rows": entry.rows, "chunks": entry.chunks, "skipped": skipped} if entry else None
    return {"transfer": found or {"rows": None, "chunks": None, "skipped": None}}


def _moved(entry: Entry, *, skipped: int) -> Output:
    helper = _helper(entry, skipped)
    return Output(data=helper["transfer"], helpers=helper)


def _stored(reference: Reference, rows: int) -> Output:
    entry = Entry(rows=rows, chunks=1, is_done=True)
    return Output(ref=reference.as_data(), helpers=_helper(entry))


def _failure_of(fault: Exception, total_seconds: float | None) -> Output | None:
    """What a fault is for the task; None: it is one of our own."""
    if isinstance(fault, SourceFailed):
        return fault.output
    if isinstance(fault, Refused):
        return fault.output
    if isinstance(fault, BadRows):
        return failure("type", f"the rows of the source cannot be used: {fault}")
    if isinstance(fault, ResultError):
        return failure(fault.kind, str(fault))
    if isinstance(fault, Failed | psycopg.Error):
        return failure_of(fault, "the database", None, total_seconds)
    if isinstance(fault, TimeoutError) and total_seconds:
        message = f"the transfer took longer than its {total_seconds:g} s (spec.timeout); what it moved is kept"
        return failure("timeout", message, retryable=True, is_definite=False)
    return None
