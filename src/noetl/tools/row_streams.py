"""Bytes that come in pieces → rows in batches, in bounded memory: JSON lines, a JSON array, CSV.

Rows leave as columns, `Batch(names, columns)`, because whoever writes many of them works by column. A number with a
fraction is a Decimal, so that no digit of an amount is lost on the way. Bad input is a `BadRows`
that says which row; it never shows more of the row than the name of a column.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any

import msgspec

ROW_BYTES_MAX = 16 * 1024 * 1024
BATCH_BYTES = 256 * 1024  # the processor's caches hold it; larger ones are slower
FORMATS = ("ndjson", "json", "csv")
CONTENT_TYPES = {
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/json": "json",
    "text/csv": "csv",
}
TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
GUESSES_MAX = 4
SUFFIXES = {".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "json", ".csv": "csv"}

COLUMNS_MAX = 1_600  # what a table of PostgreSQL can have
FAULT_CHARACTERS_MAX = 200
UNREADABLE_NAME = re.compile(r'["\\\x00-\x1f]')  # the decoder takes no such name for a field of its rows

csv.field_size_limit(ROW_BYTES_MAX)  # for the whole process, there is no other way; it would be 128 KiB


class BadRows(Exception):
    """Rows that cannot be read; the message says which and why."""


class NotWhole(BadRows):
    """Bytes that are not whole rows; there may be more to come."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows, by column."""

    names: tuple[str, ...]
    columns: list[list[Any]]
    has_escapes: bool = True  # False: surely no text in it has a backslash, tab or line break

    @property
    def row_count(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def part(self, start: int, end: int) -> Batch:
        """Some of its rows."""
        return msgspec.structs.replace(self, columns=[column[start:end] for column in self.columns])


async def batches(
    chunks: AsyncIterable[bytes], row_format: str, names: Sequence[str] | None = None
) -> AsyncIterator[Batch]:
    """The rows of a stream. `names`: the columns to take, else those of the first row."""
    readers: dict[str, type[_Lines | _Array | _Table]] = {"ndjson": _Lines, "json": _Array, "csv": _Table}
    reader = readers[row_format](names)
    async for piece in _gathered(chunks):
        for batch in reader.read(piece):
            yield batch
    for batch in reader.finish():
        yield batch


async def _gathered(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Pieces of about BATCH_BYTES: a server may send many small ones, a store few large ones."""
    held: list[bytes] = []
    size = 0
    async for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= BATCH_BYTES:
            whole = b"".join(held)
            held, size = [], 0
            for start in range(0, len(whole), BATCH_BYTES):
                yield whole[start : start + BATCH_BYTES]
    if held:
        yield b"".join(held)


class _Mappings:
    """Rows that are mappings → batches. The first row's keys are the columns, unless they are given.

    A struct is made for the columns: it is decoded in half the time of a mapping, and knows what is missing or too
    much.
    """

    def __init__(self, names: Sequence[str] | None) -> None:
        self.are_given = names is not None
        self.row_count = 0
        self.names: tuple[str, ...] = ()
        if names:
            self._take(names)

    def _take(self, names: Sequence[str]) -> None:
        if len(names) > COLUMNS_MAX:
            raise BadRows(f"a row may have {COLUMNS_MAX} columns, but the first has {len(names)}")
        odd = next(filter(UNREADABLE_NAME.search, names), None)
        if odd is not None:
            raise BadRows(
                f"a column of JSON rows is named {odd[:80]!r}: "
                "rename it at the source; a name with a quote, backslash or control character cannot be read"
            )
        self.names = tuple(names)
        attributes = [f"c{place}" for place in range(len(self.names))]
        row = msgspec.defstruct(
            "Row",
            [(attribute, Any, None) for attribute in attributes],
            rename=dict(zip(attributes, self.names, strict=True)),
            forbid_unknown_fields=not self.are_given,
            gc=False,
        )
        self._getters = [attrgetter(attribute) for attribute in attributes]
        self._one = msgspec.json.Decoder(row, float_hook=Decimal)
        self._several = msgspec.json.Decoder(list[row], float_hook=Decimal)  # type: ignore[valid-type]

    def of_lines(self, lines: bytes) -> Iterator[Batch]:
        """The rows of whole lines."""
        lines = lines.lstrip()
        if not lines:
            return
        if not self.names:
            self._begin(lines.partition(b"\n")[0])
        try:
            rows = self._one.decode_lines(lines)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise BadRows(self._fault(lines)) from None
        yield self._batch(rows, has_escapes=b"\\" in lines)

    def of_elements(self, elements: bytes) -> Iterator[Batch]:
        """The rows of whole elements of an array; NotWhole if they are not."""
        if not elements.strip():
            return
        try:
            if not self.names:
                self._begin(elements[: _first_boundary(elements)])
            rows = self._several.decode(b"[" + elements + b"]")
        except msgspec.ValidationError as fault:
            raise BadRows(f"a row after row {self.row_count} cannot be used: {_words(fault)}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise NotWhole(f"the rows are not a valid JSON array after row {self.row_count}: {_words(fault)}") from None
        if rows:
            yield self._batch(rows, has_escapes=b"\\" in elements)

    def _begin(self, row: bytes) -> None:
        """Take the columns of the first row."""
        try:
            first = msgspec.json.decode(row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise NotWhole(f"row 1 is not valid JSON: {_words(fault)}") from None
        if type(first) is not dict or not first:
            raise BadRows(f"row 1 is no mapping of column to value, but {_kind(first)}")
        self._take(tuple(first))

    def _batch(self, rows: list[Any], *, has_escapes: bool) -> Batch:
        self.row_count += len(rows)
        columns = [list(map(getter, rows)) for getter in self._getters]
        return Batch(names=self.names, columns=columns, has_escapes=has_escapes)

    def _fault(self, lines: bytes) -> str:
        count = self.row_count
        for line in filter(bytes.strip, lines.split(b"\n")):
            count += 1
            try:
                self._one.decode(line)
            except msgspec.ValidationError as fault:
                return f"row {count} cannot be used: {_words(fault)}"
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
                return f"row {count} is not valid JSON: {_words(fault)}"
        return f"a row after row {self.row_count} is not valid JSON"


class _Lines:
    """JSON lines; empty ones are skipped."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self._rows = _Mappings(names)
        self._rest = b""

    def read(self, piece: bytes) -> Iterator[Batch]:
        piece = self._rest + piece if self._rest else piece
        end = piece.rfind(b"\n") + 1
        self._rest = _bounded(piece[end:], self._rows.row_count)
        yield from self._rows.of_lines(piece[:end])

    def finish(self) -> Iterator[Batch]:
        rest, self._rest = self._rest, b""
        yield from self._rows.of_lines(rest)


class _Array:
    """A JSON array of mappings.

    Where the last whole element ends is guessed first: a text that ends with a brace and is a valid array is whole
    elements, whatever is in it. Nested rows may need a walk over their brackets.
    """

    def __init__(self, names: Sequence[str] | None) -> None:
        self._rows = _Mappings(names)
        self._held = b""
        self._try_at = 0
        self._is_begun = False

    def read(self, piece: bytes) -> Iterator[Batch]:
        self._held += piece
        self._begin()
        if self._is_begun and len(self._held) >= self._try_at:
            yield from self._whole()
            _bounded(self._held, self._rows.row_count)
            self._try_at = 2 * len(self._held)

    def finish(self) -> Iterator[Batch]:
        held = self._held.rstrip()
        if not self._is_begun or not held.endswith(b"]"):
            raise BadRows("the rows are no whole JSON array: it does not end, or there is none")
        yield from self._rows.of_elements(self._after_comma(held[:-1]))

    def _begin(self) -> None:
        """Take the opening bracket away, once it is there."""
        text = b"" if self._is_begun else self._held.lstrip()
        if text:
            if not text.startswith(b"["):
                raise BadRows("the rows must be a JSON array of mappings")
            self._held, self._is_begun = text[1:], True

    def _whole(self) -> Iterator[Batch]:
        """The rows that are whole; what is left stays held."""
        end = len(self._held)
        for _ in range(GUESSES_MAX):
            end = self._held.rfind(b"}", 0, end)
            if end < 0:
                return
            try:
                found = list(self._rows.of_elements(self._after_comma(self._held[: end + 1])))
            except NotWhole:
                continue
            self._held = self._held[end + 1 :]
            yield from found
            return
        end = _last_boundary(self._held)
        elements, self._held = self._held[:end], self._held[end:]
        yield from self._rows.of_elements(self._after_comma(elements))

    def _after_comma(self, elements: bytes) -> bytes:
        text = elements.lstrip()
        if not text or not self._rows.row_count:
            return text
        if not text.startswith(b",") or not text[1:].strip():
            raise BadRows(f"the rows are not a valid JSON array: look at the comma after row {self._rows.row_count}")
        return text[1:]


def _first_boundary(elements: bytes) -> int:
    """The end of the first element."""
    return next(_boundaries(elements), len(elements))


def _last_boundary(elements: bytes) -> int:
    """The end of the last element that is whole; 0: none is."""
    end = 0
    for end in _boundaries(elements):  # noqa: B007 - the last one is wanted
        pass
    return end


def _boundaries(elements: bytes) -> Iterator[int]:
    """Where the elements of an array end that are mappings or lists."""
    depth = 0
    for token in TOKENS.finditer(elements):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if depth < 0:
                return
            if depth == 0:
                yield token.end()


class _Table:
    """CSV with a header line."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self._wanted = tuple(names) if names else None
        self._places: list[int] | None = None
        self._header: list[str] = []
        self._row_count = 0
        self._rest = b""

    def read(self, piece: bytes) -> Iterator[Batch]:
        piece = self._rest + piece if self._rest else piece
        end = _line_end(piece)
        self._rest = _bounded(piece[end:], self._row_count)
        yield from self._batch(piece[:end])

    def finish(self) -> Iterator[Batch]:
        rest, self._rest = self._rest, b""
        yield from self._batch(rest)

    def _batch(self, lines: bytes) -> Iterator[Batch]:
        rows = self._parsed(lines)
        if self._places is None and rows:
            self._begin(rows.pop(0))
        if not rows or self._places is None:
            return
        width = len(self._header)
        if set(map(len, rows)) != {width}:
            place = next(place for place, row in enumerate(rows) if len(row) != width)
            raise BadRows(
                f"row {self._row_count + place + 1} has {len(rows[place])} columns, but the header has {width}"
            )
        self._row_count += len(rows)
        columns = [[row[place] or None for row in rows] for place in self._places]
        yield Batch(names=self._wanted or tuple(self._header), columns=columns, has_escapes=True)

    def _parsed(self, lines: bytes) -> list[list[str]]:
        try:
            text = lines.decode("utf-8-sig" if self._places is None else "utf-8")
            return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        except (UnicodeDecodeError, csv.Error) as fault:
            raise BadRows(f"the rows after row {self._row_count} are not valid CSV in UTF-8: {fault}") from None

    def _begin(self, header: list[str]) -> None:
        self._header = header
        missing = [name for name in self._wanted or () if name not in header]
        if missing:
            raise BadRows(f'the header has no column "{missing[0]}"; it has: {", ".join(header)[:200]}')
        self._places = [header.index(name) for name in self._wanted or header]


def _line_end(piece: bytes) -> int:
    """The end of the last line that is whole: one whose quotes are closed. One pass, whatever stands in the piece."""
    end = len(piece)
    parts = piece.split(b'"')
    for place in range(len(parts) - 1, -1, -1):
        found = parts[place].rfind(b"\n") if place % 2 == 0 else -1  # every other part is inside of quotes
        end -= len(parts[place])
        if found >= 0:
            return end + found + 1
        end -= 1
    return 0


def _bounded(rest: Any, row_count: int | None) -> Any:
    if len(rest) > ROW_BYTES_MAX:
        where = "a row" if row_count is None else f"row {row_count + 1}"
        raise BadRows(f"{where} is longer than {ROW_BYTES_MAX} bytes, or no row ends")
    return rest


def _kind(value: object) -> str:
    return {list: "a list", str: "text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


def _words(fault: Exception) -> str:
    """What a decoder says: places and names, never values."""
    return str(fault)[:FAULT_CHARACTERS_MAX]
