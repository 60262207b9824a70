"""Values on their way to PostgreSQL and back, in its binary form: numbers, texts, whole columns as arrays, JSON as the
bytes that it is.

A batch is written as columns (`unnest`). The driver's own way with lists looks at every value to find a common type;
here the type is said, and a column is one array. It makes a batch of a thousand events seven times faster. A number
always goes as the widest type of its kind, so that a statement is parsed once and not once for each size of number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.pq import Format

BINARY = int(Format.BINARY)
HEADER = struct.Struct("!iiiii")  # dimensions, whether nulls occur, type of the elements, how many, first index
LENGTH = struct.Struct("!i")
NULL = LENGTH.pack(-1)
BOOL, BYTEA, BIGINT, TEXT, JSON, DOUBLE = 16, 17, 20, 25, 114, 701  # PostgreSQL's numbers for its types
UNKNOWN = 0  # the statement says what it must be

Dumped = tuple[int, bytes | None]  # a type and a value of it


def _header(element_oid: int, count: int) -> bytes:
    return HEADER.pack(1, 0, element_oid, count, 1)


def _array(element_oid: int, elements: list[bytes]) -> bytes:
    return _header(element_oid, len(elements)) + b"".join(elements)


class _Numbers(list[Any]):
    """A column of numbers, each of the same length."""

    oid: ClassVar[int]
    element_oid: ClassVar[int]
    code: ClassVar[str]
    size: ClassVar[int]

    def dumped(self) -> Dumped:
        if len(self) == 1 and self[0] is not None:  # as most columns are that have anything in them
            return self.oid, struct.pack(f"!iiiiii{self.code}", 1, 0, self.element_oid, 1, 1, self.size, self[0])
        if None in self:
            pack = struct.Struct(f"!i{self.code}").pack
            elements = [NULL if value is None else pack(self.size, value) for value in self]
            return self.oid, _array(self.element_oid, elements)
        sized = [self.size] * (2 * len(self))
        sized[1::2] = self
        packed = struct.pack(f"!{('i' + self.code) * len(self)}", *sized)
        return self.oid, _header(self.element_oid, len(self)) + packed


class Bigints(_Numbers):
    """64-bit integers, some perhaps missing."""

    oid, element_oid, code, size = 1016, BIGINT, "q", 8


class Integers(_Numbers):
    """32-bit integers."""

    oid, element_oid, code, size = 1007, 23, "i", 4


class Doubles(_Numbers):
    """Floating-point numbers, some perhaps missing."""

    oid, element_oid, code, size = 1022, DOUBLE, "d", 8


class Texts(list[str | None]):
    """A column of texts, some perhaps missing."""

    def dumped(self) -> Dumped:
        encoded = [None if value is None else value.encode() for value in self]
        return 1009, _array(TEXT, [NULL if value is None else LENGTH.pack(len(value)) + value for value in encoded])


class Blobs(list[bytes]):
    """A column of bytes."""

    def dumped(self) -> Dumped:
        return 1001, _array(BYTEA, [LENGTH.pack(len(value)) + value for value in self])


class Documents(list[bytes]):
    """A column of JSON, encoded."""

    def dumped(self) -> Dumped:
        return 199, _array(JSON, [LENGTH.pack(len(value)) + value for value in self])


COLUMNS = (Bigints, Integers, Doubles, Texts, Blobs, Documents)
SCALARS: dict[type, Callable[[Any], Dumped]] = {
    type(None): lambda _: (UNKNOWN, None),
    bool: lambda value: (BOOL, b"\x01" if value else b"\x00"),
    int: lambda value: (BIGINT, value.to_bytes(8, "big", signed=True)),
    float: lambda value: (DOUBLE, struct.pack("!d", value)),
    str: lambda value: (TEXT, value.encode()),
    bytes: lambda value: (BYTEA, value),
}
DUMPERS: dict[type, Callable[[Any], Dumped]] = SCALARS | {column: column.dumped for column in COLUMNS}


def dumped(value: object) -> Dumped:
    """A value for a statement. Raises TypeError for one of another kind, psycopg.DataError for one without end."""
    kind = type(value)
    dump = DUMPERS.get(kind)
    if dump is None:
        raise TypeError(f"a statement takes no {kind.__name__}")
    if kind in NOTHING and not value:
        return NOTHING[kind]
    try:
        return dump(value)
    except (OverflowError, struct.error) as fault:
        raise psycopg.DataError(f"a number is too large for its column: {fault}") from fault


# Most columns of most batches are empty.
NOTHING: dict[type, Dumped] = {column: column().dumped() for column in COLUMNS}


class DocumentLoader(Loader):
    """JSON stays as it was written; whoever reads it decodes it."""

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


class DocumentBinaryLoader(DocumentLoader):
    format = Format.BINARY


def _adapters() -> AdaptersMap:
    made = AdaptersMap(psycopg.adapters)
    made.register_loader("json", DocumentLoader)
    made.register_loader("json", DocumentBinaryLoader)
    return made


ADAPTERS = _adapters()
