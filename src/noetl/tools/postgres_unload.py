"""What a query gives into a reference: a plan in, the reference and the number of rows out.

CSV is made by the server (COPY … TO STDOUT) and stored as it comes; JSON and JSON lines have the values that
`output.data` would have (postgres_values). Rows go from the server to the result store in pieces.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from psycopg.adapt import Transformer

from noetl.references import Reference
from noetl.tools import sql_lexer
from noetl.tools.contract import Results
from noetl.tools.postgres_copy import FORMATS, Unload
from noetl.tools.postgres_failures import Failed
from noetl.tools.postgres_session import Session
from noetl.tools.postgres_wire import Connection, answer_of

PIECE_BYTES = 128 * 1024

_encode = msgspec.json.Encoder().encode


async def unload(session: Session, plan: Unload, results: Results) -> tuple[Reference, int]:
    """Store what a query gives; its reference and how many rows there are."""
    session.statement = plan.statement
    counted = _Counted()
    rows = _csv_pieces if plan.format == "csv" else _json_pieces
    async with aclosing(rows(session, plan, counted)) as pieces:
        reference = await results.store_stream(pieces, FORMATS[plan.format])
    return reference, counted.rows


class _Counted:
    """How many rows went by."""

    rows = 0


async def _csv_pieces(session: Session, plan: Unload, counted: _Counted) -> AsyncGenerator[bytes, None]:
    cursor = session.connection.cursor()
    values = await session.values(plan.statement)
    text = with_literals(session.connection, plan.statement.text, values)
    query = f"COPY ({text}\n) TO STDOUT (FORMAT csv, HEADER true)"  # a comment may end the text
    piece = bytearray()
    async with cursor.copy(query.encode()) as copy:
        async for line in copy:  # one row each
            piece += line
            if len(piece) >= PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
    yield bytes(piece)
    counted.rows = cursor.rowcount


async def _json_pieces(session: Session, plan: Unload, counted: _Counted) -> AsyncGenerator[bytes, None]:
    is_array = plan.format == "json"
    separator, before = (b",", b"[") if is_array else (b"\n", b"")
    values = await session.values(plan.statement)
    async with aclosing(answer_of(session.connection, plan.statement.text, values)) as chunks:
        async for chunk in chunks:
            if chunk.columns is None:
                raise Failed("type", "copy.from must be a statement that gives rows")
            if chunk.rows:
                yield before + separator.join(map(_encode, chunk.rows))
                before = separator
                counted.rows += len(chunk.rows)
    yield (b"[]" if before == b"[" else b"]") if is_array else (b"\n" if counted.rows else b"")


def with_literals(connection: Connection, text: str, values: list[Any]) -> str:
    """A statement with its values in it: COPY is the one command that takes no parameters.

    libpq makes the literals, for this connection's own encoding; only placeholders are replaced, found by the lexer.
    """
    transformer = Transformer(connection)
    literals = [transformer.as_literal(value).decode() for value in values]
    return "".join(
        literals[int(token.text[1:]) - 1] if token.kind == sql_lexer.NUMBERED and literals else token.text
        for token in sql_lexer.tokens_of(text)
    )
