"""Rows into a table, with COPY: a plan in, the number of rows out.

A list is taken as it is, a reference is read in pieces: JSON lines and the rows of a JSON array become the text of COPY
(row_streams, copy_text), CSV goes to the server untouched. Nothing that is stored is ever in memory as a whole. A load
is part of the task's transaction, so that a row which does not fit takes all of it back.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from noetl.references import Reference
from noetl.sql import Name
from noetl.tools.contract import Results
from noetl.tools.copy_text import Special, copy_text
from noetl.tools.postgres_copy import Load
from noetl.tools.postgres_failures import Failed
from noetl.tools.postgres_session import Session
from noetl.tools.postgres_wire import Connection, answer_of
from noetl.tools.row_batches import AnyBatch, BadRows, Batch, FlatBatch
from noetl.tools.row_streams import CONTENT_TYPES, batches_to_copy

BATCH_ROWS = 5_000
HEADER_BYTES_MAX = 256 * 1024
COLUMNS_SQL = """
SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""

Types = Mapping[str, str]  # of the columns that can be written, in the table's order


async def load(session: Session, plan: Load, results: Results) -> int:
    """Copy rows into a table; how many they were."""
    types = await _types_of(session.connection, plan.into)
    try:
        if isinstance(plan.rows, list):
            return await _load_batches(session.connection, plan, types, _batches_of(plan.rows, plan, types))
        row_format = _format_of(plan.rows)
        async with aclosing(_pieces(results, plan.rows)) as pieces:
            if row_format == "csv":
                return await _load_csv(session.connection, plan, types, pieces)
            booleans = _of_type(types, "boolean")
            found = batches_to_copy(pieces, row_format, plan.columns or None, booleans)
            return await _load_batches(session.connection, plan, types, found)
    except BadRows as bad:
        raise Failed("type", f"copy.rows: {bad}") from None


async def _types_of(connection: Connection, table: Name) -> Types:
    rows = [row async for chunk in answer_of(connection, COLUMNS_SQL, [table.quoted]) for row in chunk.rows]
    return {row["name"]: row["type"] for row in rows}


def _of_type(types: Types, wanted: str) -> frozenset[str]:
    return frozenset(name for name, type_name in types.items() if type_name == wanted)


def _format_of(reference: Reference) -> str:
    content_type = reference.content_type.partition(";")[0].strip().lower()
    found = CONTENT_TYPES.get(content_type)
    if found is None:
        raise BadRows(f"a reference to {content_type[:80]} has no rows; JSON, JSON lines and CSV have")
    return found


async def _pieces(results: Results, reference: Reference) -> AsyncGenerator[bytes, None]:
    async for piece in results.stream(reference):
        yield piece


async def _load_batches(connection: Connection, plan: Load, types: Types, found: AsyncIterator[AnyBatch]) -> int:
    first = await anext(found, None)
    if first is None:
        return 0
    arrays = frozenset(name for name, type_name in types.items() if type_name.endswith("[]"))
    special = Special(arrays=arrays, booleans=_of_type(types, "boolean"))
    count = first.row_count
    async with connection.cursor().copy(_copy_in(plan.into, _known(first.names, plan, types))) as copy:
        await copy.write(copy_text(_with_bytes(first, types), special))
        async for batch in found:
            await copy.write(copy_text(_with_bytes(batch, types), special))
            count += batch.row_count
    return count


async def _load_csv(connection: Connection, plan: Load, types: Types, pieces: AsyncIterator[bytes]) -> int:
    """CSV goes to the server as it is; of the file only the header is read."""
    head = await _head(pieces)
    if not head:
        return 0
    header = next(csv.reader(io.StringIO(head.decode("utf-8-sig", "replace"))), []) if plan.has_header else []
    names = _known(plan.columns or header or tuple(types), plan, types)
    options = f" (FORMAT csv, HEADER {'true' if plan.has_header else 'false'})"
    cursor = connection.cursor()
    async with cursor.copy(_copy_in(plan.into, names, options)) as copy:
        await copy.write(head)
        async for piece in pieces:
            await copy.write(piece)
    return cursor.rowcount


async def _head(pieces: AsyncIterator[bytes]) -> bytes:
    """The beginning of a file, with its first line whole."""
    head = b""
    async for piece in pieces:
        head += piece
        if b"\n" in head:
            break
        if len(head) > HEADER_BYTES_MAX:
            raise BadRows(f"the first line of the CSV has more than {HEADER_BYTES_MAX} bytes")
    return head


def _copy_in(table: Name, names: Iterable[str], options: str = "") -> bytes:
    columns = ", ".join(Name((name,)).quoted for name in names)
    return f"COPY {table.quoted} ({columns}) FROM STDIN{options}".encode()


def _known(names: Sequence[str], plan: Load, types: Types) -> Sequence[str]:
    """The columns of a load, once it is sure that the table has them."""
    unknown = [name for name in names if name not in types]
    if unknown:
        there = ", ".join(types)[:500]
        raise BadRows(f"table {plan.into.quoted} has no column {', '.join(unknown)[:200]}; it has {there}")
    return names


async def _batches_of(rows: list[Any], plan: Load, types: Types) -> AsyncIterator[Batch]:
    """The rows of a list: mappings, or lists in the order of the columns."""
    of_mappings = isinstance(rows[0], Mapping) if rows else False
    names = plan.columns or (_names_in(rows) if of_mappings else tuple(types))
    for start in range(0, len(rows), BATCH_ROWS):
        part = rows[start : start + BATCH_ROWS]
        columns = _of_mappings(part, names, start) if of_mappings else _of_lists(part, names, start)
        yield Batch(names=names, columns=columns)


def _names_in(rows: list[Any]) -> tuple[str, ...]:
    """Every key of every row, in the order in which they are first seen."""
    return tuple(dict.fromkeys(str(key) for row in rows if isinstance(row, Mapping) for key in row))


def _of_mappings(rows: list[Any], names: Sequence[str], start: int) -> list[list[Any]]:
    for number, row in enumerate(rows, start + 1):
        if not isinstance(row, Mapping):
            raise BadRows(f"row {number} must be a mapping as the first is, but is {_word(row)}")
    return [[row.get(name) for row in rows] for name in names]


def _of_lists(rows: list[Any], names: Sequence[str], start: int) -> list[list[Any]]:
    width = len(names)
    for number, row in enumerate(rows, start + 1):
        if not isinstance(row, list):
            raise BadRows(f"row {number} must be a mapping or a list, but is {_word(row)}")
        if len(row) != width:
            raise BadRows(f"row {number} must have {width} values ({', '.join(names)[:200]}), but has {len(row)}")
    return [list(column) for column in zip(*rows, strict=True)]


def _word(value: object) -> str:
    return "null" if value is None else f"a {type(value).__name__}"


def _with_bytes(batch: AnyBatch, types: Types) -> AnyBatch:
    """{base64: …} for a bytea column as the text that the server reads."""
    if isinstance(batch, FlatBatch) or not any(types[name] == "bytea" for name in batch.names):
        return batch
    columns = [
        list(map(_bytea, values)) if types[name] == "bytea" else values
        for name, values in zip(batch.names, batch.columns, strict=True)
    ]
    return msgspec.structs.replace(batch, columns=columns, has_escapes=True)


def _bytea(value: Any) -> Any:
    if not (isinstance(value, dict) and value.keys() == {"base64"}):
        return value
    try:
        return "\\x" + base64.b64decode(str(value["base64"]), validate=True).hex()
    except binascii.Error:
        raise BadRows("a bytea column takes {base64: …}, but what stands in one row is not base64") from None
