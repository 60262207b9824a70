"""Pieces of rows → a table, a transaction for each chunk: the chunk and the ledger's entry commit together."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from noetl.tools.transfer_ledger import Entry, Ledger
from noetl.tools.transfer_pieces import Digest, Piece, Pieces, after
from noetl.tools.transfer_plan import Plan
from noetl.tools.transfer_table import Connection, Table


async def load(connection: Connection, table: Table, ledger: Ledger | None, pieces: Pieces, plan: Plan) -> Entry:
    """Move what has not been moved; what the table then has of this transfer."""
    entry, digest = ledger.entry if ledger else Entry(), Digest()
    rows = after(pieces, entry.rows, digest, entry.digest)
    chunk_rows = plan.chunk_rows if ledger else sys.maxsize
    async with AsyncExitStack() as whole:
        if ledger is None:  # all or nothing
            await whole.enter_async_context(connection.transaction())
        while (first := await anext(rows, None)) is not None:
            async with connection.transaction():
                count = await _copy_chunk(connection, table, first, rows, chunk_rows, is_first=entry.chunks == 0)
                moved = Entry(rows=entry.rows + count, chunks=entry.chunks + 1, digest=str(digest))
                if ledger:
                    await ledger.move(moved)
            entry = moved
            if ledger:
                ledger.moved(entry)
        async with connection.transaction():
            return await _finish(table, ledger, entry)


async def _copy_chunk(
    connection: Connection,
    table: Table,
    first: Piece,
    rows: AsyncIterator[Piece],
    chunk_rows: int,
    *,
    is_first: bool,
) -> int:
    table.take(first.names)
    command = await table.begin_chunk(is_first=is_first)
    count = 0
    async with connection.cursor() as cursor, cursor.copy(command) as copy:
        piece: Piece | None = first
        while piece is not None:
            await copy.write(piece.data)
            count += piece.row_count
            piece = await anext(rows, None) if count < chunk_rows else None
    await table.end_chunk()
    return count


async def _finish(table: Table, ledger: Ledger | None, entry: Entry) -> Entry:
    if entry.chunks:
        await table.finish()
    else:
        await table.finish_empty()
    done = Entry(rows=entry.rows, chunks=entry.chunks, digest=entry.digest, is_done=True)
    if ledger:
        await ledger.move(done)
    return done
