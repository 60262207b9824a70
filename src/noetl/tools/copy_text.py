"""Batches of rows → the text that PostgreSQL's COPY reads: tabs between values, \\N for null, a line per row.

By column, since most columns hold one type and need no look at each value. Lists and mappings are written as JSON; a
list for an array column as PostgreSQL writes arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec

from noetl.tools.row_batches import AnyBatch, FlatBatch
from noetl.tools.row_mappings import Number

NULL = "\\N"
BOOLEANS = {True: "true", False: "false"}
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
ARRAY_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})
NUMBERS, TEXT, BOOLEAN = ({int}, {Number}, {int, Number}), {str}, {bool}

encode = msgspec.json.Encoder(decimal_format="number", enc_hook=Decimal).encode


class Special(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a table that take values in a form of their own."""

    arrays: frozenset[str] = frozenset()
    booleans: frozenset[str] = frozenset()


NOTHING_SPECIAL = Special()


def copy_text(batch: AnyBatch, special: Special = NOTHING_SPECIAL) -> bytes:
    """The rows of a batch as COPY reads them; the same text, whichever sort of batch they come in."""
    if isinstance(batch, FlatBatch):
        line = "\t".join(["%s"] * len(batch.names)) + "\n"
        return "".join(map(line.__mod__, map(batch.values_of, batch.rows))).encode()
    columns = [
        _column(name, values, special, has_escapes=batch.has_escapes)
        for name, values in zip(batch.names, batch.columns, strict=True)
    ]
    return ("\n".join(map("\t".join, zip(*columns, strict=True))) + "\n").encode()


def _column(name: str, values: list[Any], special: Special, *, has_escapes: bool) -> Iterable[str]:
    if name in special.arrays:
        return map(_array_value, values)
    if name in special.booleans:
        return map(_boolean_value, values)
    kinds = set(map(type, values))
    if kinds in NUMBERS:
        return map(str, values)
    if kinds == BOOLEAN:
        return map(BOOLEANS.__getitem__, values)
    if kinds == TEXT:
        return [value.translate(ESCAPES) for value in values] if has_escapes else values
    return map(_value, values)


def _value(value: Any) -> str:
    return NULL if value is None else _plain(value).translate(ESCAPES)


def _boolean_value(value: Any) -> str:
    """True and False, as rows without a look at each value have them; PostgreSQL takes them in any case."""
    return str(value) if isinstance(value, bool) else _value(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return BOOLEANS[value]
    if isinstance(value, str):
        return value
    if isinstance(value, int | float | Decimal):
        return str(value)
    return encode(value).decode()


def _array_value(value: Any) -> str:
    return _value(array_literal(value)) if isinstance(value, list) else _value(value)


def array_literal(values: list[Any]) -> str:
    """A list as PostgreSQL writes an array: {1,2,{3}}; every element in quotes, so that none can end it."""
    return "{" + ",".join(map(_array_element, values)) + "}"


def _array_element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return array_literal(value)
    return '"' + _plain(value).translate(ARRAY_ESCAPES) + '"'
