"""JSON objects → batches of rows: bytes of whole rows in, their columns out.

A number with a fraction keeps its text, so that no digit of an amount is lost on the way. Where the reader says which
columns take true and false, rows without null, nesting or escapes leave as a `FlatBatch`: most rows of most sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any

import msgspec

from noetl.tools.row_batches import COLUMNS_MAX, AnyBatch, BadRows, Batch, FlatBatch, words

TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
NOT_FLAT = (b"\\", b"[", b"null")
UNREADABLE_NAME = re.compile(r'["\\\x00-\x1f]')  # the decoder takes no such name for a field of its rows


class NotWhole(BadRows):
    """Bytes that are not whole rows; there may be more to come."""


class Number(Decimal):
    """A number with a fraction, or too large for 64 bits, that is printed as it was written."""

    __slots__ = ("_text",)
    _text: str

    def __new__(cls, text: str) -> Number:
        made = super().__new__(cls, text)
        made._text = text
        return made

    def __str__(self) -> str:
        return self._text


class Mappings:
    """Rows that are mappings → batches. The first row's keys are the columns, unless they are given.

    A struct is made for the columns: it is decoded in half the time of a mapping, and knows what is missing or too
    much.
    """

    def __init__(self, names: Sequence[str] | None, booleans: Collection[str] | None) -> None:
        self.are_given = names is not None
        self._booleans = booleans  # the columns that take true and false; None: no flat rows, please
        self.row_count = 0
        self.names: tuple[str, ...] = ()
        self._flat: _Flat | None = None
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
        attributes = {f"c{place}": name for place, name in enumerate(self.names)}
        self._getters = list(map(attrgetter, attributes))
        row = self._record([(attribute, Any, None) for attribute in attributes], attributes)
        self._one = msgspec.json.Decoder(row, float_hook=Number)
        self._several = msgspec.json.Decoder(list[row], float_hook=Number)  # type: ignore[valid-type]
        if self._booleans is not None and len(attributes) > 1:
            flat = self._record([(attribute, Any) for attribute in attributes], attributes)
            self._flat = _Flat(flat, attributes, self._booleans)

    def _record(self, fields: list[Any], attributes: dict[str, str]) -> type[msgspec.Struct]:
        return msgspec.defstruct("Row", fields, rename=attributes, forbid_unknown_fields=not self.are_given, gc=False)

    def of_lines(self, lines: bytes) -> Iterator[AnyBatch]:
        """The rows of whole lines."""
        lines = lines.lstrip()
        if not lines:
            return
        if not self.names:
            self._begin(lines.partition(b"\n")[0])
        if self._flat and (flat := self._flat.batch(lines, self._flat.one.decode_lines, self.names)):
            self.row_count += flat.row_count
            yield flat
            return
        try:
            rows = self._one.decode_lines(lines)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise BadRows(self._fault(lines)) from None
        yield self._batch(rows, has_escapes=b"\\" in lines)

    def of_elements(self, elements: bytes) -> Iterator[AnyBatch]:
        """The rows of whole elements of an array; NotWhole if they are not."""
        if not elements.strip():
            return
        try:
            if not self.names:
                self._begin(elements[: _first_boundary(elements)])
            if self._flat and (flat := self._flat.batch(elements, self._flat.elements, self.names)):
                self.row_count += flat.row_count
                yield flat
                return
            rows = self._several.decode(b"[" + elements + b"]")
        except msgspec.ValidationError as fault:
            raise BadRows(f"a row after row {self.row_count} cannot be used: {words(fault)}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise NotWhole(f"the rows are not a valid JSON array after row {self.row_count}: {words(fault)}") from None
        if rows:
            yield self._batch(rows, has_escapes=b"\\" in elements)

    def _begin(self, row: bytes) -> None:
        """Take the columns of the first row."""
        try:
            first = msgspec.json.decode(row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise NotWhole(f"row 1 is not valid JSON: {words(fault)}") from None
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
                return f"row {count} cannot be used: {words(fault)}"
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
                return f"row {count} is not valid JSON: {words(fault)}"
        return f"a row after row {self.row_count} is not valid JSON"


class _Flat:
    """Reads rows that hold nothing but text and numbers; whatever is not sure to be so is left to the other way."""

    def __init__(self, record: type[msgspec.Struct], attributes: dict[str, str], booleans: Collection[str]) -> None:
        self.one = msgspec.json.Decoder(record, float_hook=str)
        self._several = msgspec.json.Decoder(list[record], float_hook=str)  # type: ignore[valid-type]
        self._values_of = attrgetter(*attributes)
        self._booleans = [attrgetter(attribute) for attribute, name in attributes.items() if name in booleans]

    def elements(self, elements: bytes) -> list[Any]:
        return self._several.decode(b"[" + elements + b"]")

    def batch(self, text: bytes, decode: Callable[[bytes], list[Any]], names: tuple[str, ...]) -> FlatBatch | None:
        if any(sign in text for sign in NOT_FLAT):
            return None
        try:
            rows = decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if text.count(b"{") != len(rows) or not self._are_booleans_in_place(text, rows):
            return None
        return FlatBatch(names=names, rows=rows, values_of=self._values_of)

    def _are_booleans_in_place(self, text: bytes, rows: list[Any]) -> bool:
        """Whether every true and false of the text is a value of a column that takes them, and no part of a word."""
        found = text.count(b"true") + text.count(b"false")
        for getter in self._booleans if found else ():
            kinds = set(map(type, map(getter, rows)))
            if kinds == {bool}:
                found -= len(rows)
            elif bool in kinds:
                return False
        return found == 0


def _first_boundary(elements: bytes) -> int:
    """The end of the first element."""
    return next(boundaries(elements), len(elements))


def boundaries(elements: bytes) -> Iterator[int]:
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


def _kind(value: object) -> str:
    return {list: "a list", str: "text", bool: "true or false", type(None): "null"}.get(type(value), "a number")
