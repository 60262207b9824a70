"""One statement on a connection: text and values in, rows in chunks out.

Rows come from the server a chunk at a time, so that an answer that is too large is seen before it is in memory.
psycopg's own `stream` does the same, but only for statements that give rows and without the count of those affected;
here its parts are put together for statements of every sort.

A statement that is all a task has to say takes the cleaning of its connection along: both are sent before either is
answered. Each is a transaction of its own all the same, so a statement that fails is cleaned up after, too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import psycopg
from psycopg import AsyncConnection, abc, generators, pq
from psycopg.adapt import PyFormat, Transformer

from noetl.tools.postgres_failures import Failed

CHUNK_ROWS = 256
COLUMN_NAMES_MAX = 1_700  # more columns than a server gives

RESET = b"DISCARD ALL"  # settings, temporary tables, locks, cursors, prepared statements, channels listened to

Connection = AsyncConnection[Any]

_ROWS = frozenset((pq.ExecStatus.TUPLES_OK, pq.ExecStatus.TUPLES_CHUNK))
_CHANGES = frozenset((b"INSERT", b"UPDATE", b"DELETE", b"MERGE", b"COPY"))
_COPY = frozenset((pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH))


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an answer. `columns` is None for a statement that gives no rows; the last chunk has the count."""

    columns: tuple[str, ...] | None = None
    rows: list[dict[str, Any]] = []
    affected_rows: int = 0


async def answer_of(
    connection: Connection, text: str, values: Sequence[Any], *, is_alone: bool = False
) -> AsyncGenerator[Chunk, None]:
    """Run a statement and give its answer in chunks. To leave early, close the connection.

    `is_alone`: nothing else is to be run before somebody else has the connection (`is_reset`).
    """
    transformer = Transformer(connection)
    _send(connection, transformer, text, values, is_alone=is_alone)
    await connection.wait(generators.send(connection.pgconn))
    columns: tuple[str, ...] | None = None
    while (result := await _next(connection)) is not None:
        if result.status in _ROWS:
            transformer.set_pgresult(result, set_loaders=columns is None)
            columns = columns or _column_names(result)
            rows = transformer.load_rows(0, result.ntuples, _row_maker(columns))
            yield Chunk(columns=columns, rows=rows, affected_rows=_affected_rows(result))
        elif result.status == pq.ExecStatus.COMMAND_OK:
            yield Chunk(affected_rows=_affected_rows(result))
        elif result.status in _COPY:
            raise Failed("type", "COPY … FROM STDIN and TO STDOUT are written as copy: {into: …} and copy: {from: …}")
        elif result.status != pq.ExecStatus.EMPTY_QUERY:
            await _drain(connection)
            raise psycopg.errors.error_from_result(result, connection.info.encoding)


async def command(connection: Connection, text: bytes) -> None:
    """Run a command of our own, without values and without an answer: no cursor is made for it."""
    connection.pgconn.send_query(text)
    await connection.wait(generators.send(connection.pgconn))
    while (result := await _next(connection)) is not None:
        if result.status != pq.ExecStatus.COMMAND_OK:
            await _drain(connection)
            raise psycopg.errors.error_from_result(result, connection.info.encoding)


def has_reset_to_come(connection: Connection) -> bool:
    """Whether the connection is cleaned once its last statement is done, without being told so."""
    return connection.pgconn.pipeline_status != pq.PipelineStatus.OFF


async def is_reset(connection: Connection) -> bool:
    """Read on after a statement that was alone; False: it, or the cleaning, did not end as it should."""
    result = await _next(connection)
    if result is None or result.status != pq.ExecStatus.COMMAND_OK or await _next(connection) is not None:
        return False
    connection.pgconn.exit_pipeline_mode()
    return connection.pgconn.transaction_status == pq.TransactionStatus.IDLE


async def _drain(connection: Connection) -> None:
    """Read on to the end of a failed statement; a server that went away has said why already."""
    with suppress(psycopg.Error):
        while await _next(connection) is not None:
            pass


async def _next(connection: Connection) -> pq.abc.PGresult | None:
    """The next part of an answer; None: there is no more, and what was done is committed.

    Of what was sent together, a statement is over before its transaction is: a deferred constraint is checked at its
    end. So the mark after it is read as well.
    """
    result = await connection.wait(generators.fetch(connection.pgconn))
    if result is None and has_reset_to_come(connection):
        result = await connection.wait(generators.fetch(connection.pgconn))
    return None if result is None or result.status == pq.ExecStatus.PIPELINE_SYNC else result


def _send(
    connection: Connection, transformer: abc.Transformer, text: str, values: Sequence[Any], *, is_alone: bool
) -> None:
    """Hand a statement to libpq, its rows to come in chunks."""
    pgconn, query = connection.pgconn, text.encode()
    dumped = transformer.dump_sequence(values, [PyFormat.TEXT] * len(values))
    if is_alone:
        pgconn.enter_pipeline_mode()
    pgconn.send_query_params(query, dumped, param_types=transformer.types, param_formats=transformer.formats)
    pgconn.set_chunked_rows_mode(CHUNK_ROWS)
    if is_alone:
        _send_reset(connection)


def _send_reset(connection: Connection) -> None:
    """Let the cleaning follow: the first mark ends the statement's transaction, the second its own."""
    connection.pgconn.pipeline_sync()
    connection.pgconn.send_query_params(RESET, None)
    connection.pgconn.pipeline_sync()


def _column_names(result: pq.abc.PGresult) -> tuple[str, ...]:
    """The names of the columns; a name that comes again is kept apart: id, id_2."""
    names: dict[str, None] = {}
    for index in range(min(result.nfields, COLUMN_NAMES_MAX)):
        name = (result.fname(index) or b"").decode()
        names[_new_name(name, names)] = None
    return tuple(names)


def _new_name(name: str, names: dict[str, None]) -> str:
    if name not in names:
        return name
    return next(made for number in range(2, COLUMN_NAMES_MAX) if (made := f"{name}_{number}") not in names)


def _affected_rows(result: pq.abc.PGresult) -> int:
    """How many rows a statement changed; rows that it only gave do not count."""
    tag = (result.command_status or b"").partition(b" ")[0]
    return (result.command_tuples or 0) if tag in _CHANGES else 0


def _row_maker(columns: tuple[str, ...]) -> Any:
    def row(values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(columns, values, strict=True))

    return row
